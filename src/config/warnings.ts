import { parameterGroup } from "../greenhouse/device-types.js";
import { contradiction, contradictionRemedy } from "../greenhouse/type-check.js";
import { digitsSent } from "../greenhouse/command/setpoints.js";
import { configuredLoad, requestsPerMinuteNeeded } from "./demand.js";
import { formatDuration } from "./duration.js";
import { isLoopback } from "../runtime/loopback.js";
import { isPasswordHash } from "../runtime/password-hash.js";
import type { Finding } from "./problem.js";
import type { Configuration } from "./schema.js";

/** What works but is probably not wanted. `has` tells whether a key stands in the file. */
export function doubtsAbout(
  configuration: Configuration,
  has: (path: readonly string[]) => boolean,
): Finding[] {
  return [
    ...platformDoubts(configuration),
    ...brokerDoubts(configuration, has),
    ...pollingDoubts(configuration),
    ...reachDoubts(configuration),
    ...roundingDoubts(configuration),
    ...typeDoubts(configuration),
  ];
}

const value = (path: Finding["path"], message: string): Finding => ({ path, on: "value", message });

const advisedControlMs = 30_000;

function platformDoubts({ platform }: Configuration): Finding[] {
  const { control } = platform.timeouts;
  const hasty =
    control < advisedControlMs
      ? [
          value(
            ["platform", "timeouts", "control"],
            `the platform advises to wait at least ${formatDuration(advisedControlMs)} for a control value; giving up earlier leaves open whether it was done`,
          ),
        ]
      : [];
  const open = [platform.business_url, platform.realtime_url].some(
    (url) => url.startsWith("http:") && !isLoopback(new URL(url).hostname),
  );
  return open
    ? [
        value(["platform", "allow_insecure"], "the token travels unencrypted and can be read on the way"),
        ...hasty,
      ]
    : hasty;
}

function brokerDoubts({ mqtt, broker }: Configuration, has: (path: readonly string[]) => boolean): Finding[] {
  const plain = broker.users.flatMap(({ password }, at) =>
    isPasswordHash(password)
      ? []
      : [
          value(
            ["broker", "users", at, "password"],
            "plain password; `greenhouse2mqtt passwd` makes a hash that can stand here instead",
          ),
        ],
  );
  const unused: Finding[] =
    mqtt.url !== undefined && has(["broker"])
      ? [
          {
            path: ["broker"],
            on: "key",
            message: "without effect, because mqtt.url names another broker; the embedded one is not started",
          },
        ]
      : [];
  const unverified = mqtt.tls.reject_unauthorized
    ? []
    : [value(["mqtt", "tls", "reject_unauthorized"], "the broker's certificate is not verified")];
  return [...plain, ...unused, ...unverified];
}

function pollingDoubts(configuration: Configuration): Finding[] {
  const { polling, platform } = configuration;
  const findings: Finding[] = [];
  if (polling.controllers < 300_000)
    findings.push(
      value(["polling", "controllers"], "the platform asks for 5m or more between controller lists"),
    );
  if (polling.stale_after < polling.sensors)
    findings.push(
      value(
        ["polling", "stale_after"],
        `readings would be stale before the next poll (polling.sensors is ${formatDuration(polling.sensors)})`,
      ),
    );
  const needed = Math.ceil(requestsPerMinuteNeeded(polling, configuredLoad(configuration)));
  if (platform.requests_per_minute > 0 && needed > platform.requests_per_minute)
    findings.push(
      value(
        ["platform", "requests_per_minute"],
        `polling the controllers below takes about ${needed} requests a minute; all intervals will be stretched`,
      ),
    );
  return findings;
}

function reachDoubts({ http, mirror, controllers }: Configuration): Finding[] {
  const findings: Finding[] = [];
  if (http !== false && !isLoopback(http.host) && http.token === undefined)
    findings.push(value(["http", "host"], "other machines can reach this address and http.token is not set"));
  if (mirror === "listed" && Object.values(controllers).every(({ ignore }) => ignore))
    findings.push(value(["mirror"], "nothing is mirrored, because no controller is listed below"));
  return findings;
}

/** A kind that the control-parameter type of the same address contradicts; the device's own type is known at the start only. */
function typeDoubts({ controllers }: Configuration): Finding[] {
  return Object.entries(controllers).flatMap(([code, { actuators, ignore }]) =>
    Object.entries(ignore ? {} : actuators).flatMap(([id, { kind, type_id, accept_type }]) => {
      const group = type_id === undefined ? undefined : parameterGroup(type_id);
      const why = contradiction({ kind, group, acceptType: accept_type }, null);
      const path = ["controllers", code, "actuators", id, "type_id"];
      return why === null ? [] : [value(path, `${why}; ${contradictionRemedy}`)];
    }),
  );
}

/** Values that may be set although the platform can only hold another one. */
function roundingDoubts({ controllers }: Configuration): Finding[] {
  return Object.entries(controllers).flatMap(([code, { parameters }]) =>
    Object.entries(parameters).flatMap(([id, { scale, writable }]) => {
      if (writable === undefined) return [];
      const { min, step } = writable;
      const candidates = [["min", min] as const, ["step", min + step] as const];
      const rounded = candidates.find(([, wanted]) => held(wanted, scale) !== exact(wanted));
      if (rounded === undefined) return [];
      const [key, wanted] = rounded;
      const told = `${exact(wanted)} would be sent as ${digitsSent(wanted, scale)} and read back as ${held(wanted, scale)}`;
      const path = ["controllers", code, "parameters", id, "writable", key];
      return [value(path, `${told}; expected a multiple of scale (${scale})`)];
    }),
  );
}

/** Without the noise of binary fractions. */
const exact = (number: number): number => Number(number.toPrecision(12));
const held = (wanted: number, scale: number): number => exact(digitsSent(wanted, scale) * scale);
