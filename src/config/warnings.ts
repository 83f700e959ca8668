import { kindRows } from "../greenhouse/actuator-kinds.js";
import { digitsSent } from "../greenhouse/command/setpoints.js";
import { contradiction, contradictionRemedy, parameterGroup } from "../greenhouse/device-types.js";
import { formatDuration } from "../runtime/duration.js";
import { isPasswordHash } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import { notifyDoubts } from "../notify/check.js";
import { ageDoubts, leadInDoubts, runningDoubts } from "./rules/limit-rules.js";
import { atKey, atValue, type Finding, when } from "../settings/problem.js";
import type { Configuration, ControllerConfiguration } from "./schema.js";

/** What one sweep over the account reads, besides the controller list. */
interface ReadLoad {
  /** The list of videos is asked for. */
  readonly hasVideos: boolean;
  /** Controllers whose averages are read. */
  readonly averages: number;
  readonly controllers: number;
  /** Reads of addresses, each of one address or of one control-parameter type of a controller. */
  readonly addressReads: number;
}

type Intervals = Pick<Configuration["polling"], "controllers" | "sensors" | "running_status" | "actuators">;

const hourMs = 3_600_000;
/** Lists of devices and of videos hardly ever change, so each is asked for once in twelve times. */
const rareList = 1 / 12;
const deviceLists = 2;

/** Calls an hour that polling at these intervals (ms) takes. */
export function callsPerHourNeeded(intervals: Intervals, load: ReadLoad): number {
  return (
    (1 + rareList * (deviceLists + (load.hasVideos ? 1 : 0) + load.averages)) *
      (hourMs / intervals.controllers) +
    load.controllers * callsPerController(intervals) +
    load.addressReads * (hourMs / intervals.actuators)
  );
}

/** Calls an hour for the readings and running statuses of one controller. */
const callsPerController = (intervals: Intervals): number =>
  hourMs / intervals.sensors + hourMs / intervals.running_status;

/**
 * What polling costs by this configuration, in a sentence; an account may hold controllers it does not name. The single-device status
 * of each is asked once after a start, spread over an interval.
 */
export function costSentence(configuration: Configuration): string {
  const { polling, platform, mirror } = configuration;
  const load = configuredLoad(configuration);
  const calls = Math.round(callsPerHourNeeded(polling, load));
  const budget = platform.requests_per_minute * 60;
  const ofBudget = budget === 0 ? "" : ` of the budget of ${budget}`;
  const spread = `spread over ${formatDuration(polling.controllers)}`;
  const statuses = `single-device status${load.controllers === 1 ? "" : "es"}`;
  const start = load.controllers === 0 ? "" : `, and each start ${load.controllers} ${statuses}, ${spread}`;
  const costs = `polling costs ${calls} calls an hour${ofBudget}${start}`;
  if (mirror === "listed") return costs;
  const more = Math.round(callsPerController(polling));
  return `${costs}; each controller that is not named here costs ${more} more, and one at each start (\`greenhouse2mqtt doctor\` says the sum)`;
}

/** Curtains of which nobody has said whether `open` draws them aside: the interface does not, and Home Assistant shows it so. */
export const curtainSentences = (
  { controllers, homeassistant }: Configuration,
  tell: Tell = (text) => text,
): readonly string[] =>
  Object.entries(controllers).flatMap(([code, { actuators, ignore }]) =>
    Object.entries(ignore || !homeassistant.enabled ? {} : actuators).flatMap(
      ([id, { kind, ...actuator }]) => {
        const { as, inverted } = actuator.homeassistant;
        if (kindRows[kind].family !== "curtains" || inverted !== undefined || as === "none") return [];
        return [
          tell(
            `controllers.${code}.actuators.${id}: whether "open" draws this curtain aside or spreads it out is not known; watch one movement, then write homeassistant: { inverted: true } where it spreads out, else false`,
          ),
        ];
      },
    ),
  );

/** Calls an hour for an account with these controllers. */
export function accountCost(configuration: Configuration, codes: readonly string[]): number {
  const { controllers, mirror, polling } = configuration;
  const load = configuredLoad(configuration);
  const unnamed = mirror === "listed" ? [] : codes.filter((code) => !Object.hasOwn(controllers, code));
  return Math.round(callsPerHourNeeded(polling, { ...load, controllers: load.controllers + unnamed.length }));
}

/** Fewest reads for the addresses of a controller: those with a type together, every other one alone. */
function addressReadsOf(controller: ControllerConfiguration): number {
  // A type is a number, and an address a text.
  const reads = new Set<string | number>();
  const add = (type: number | undefined, addresses: readonly string[]) => {
    for (const address of addresses) reads.add(type ?? address);
  };
  for (const actuator of Object.values(controller.actuators)) {
    const {
      type_id: type,
      address,
      mode_address: mode = address,
      position_address: degree = address,
    } = actuator;
    add(type, [mode, degree]);
  }
  for (const parameter of Object.values(controller.parameters)) add(parameter.type_id, [parameter.address]);
  return reads.size;
}

/** The load of the controllers a configuration names; an account may hold more. */
export function configuredLoad(configuration: Configuration): ReadLoad {
  const mirrored = Object.values(configuration.controllers).filter((controller) => !controller.ignore);
  return {
    hasVideos: mirrored.some(({ stream }) => stream),
    averages: mirrored.filter(({ averages }) => averages).length,
    controllers: mirrored.length,
    addressReads: mirrored.reduce((sum, controller) => sum + addressReadsOf(controller), 0),
  };
}

/** What works but is probably not wanted. `hasBroker`: the section stands in the file. */
export const doubtsAbout = (configuration: Configuration, hasBroker: boolean): Finding[] => [
  ...platformDoubts(configuration),
  ...reachDoubts(configuration, hasBroker),
  ...pollingDoubts(configuration),
  ...roundingDoubts(configuration),
  ...typeDoubts(configuration),
  ...ageDoubts(configuration),
  ...runningDoubts(configuration),
  ...leadInDoubts(configuration),
  ...notifyDoubts(configuration.notify),
];

const advisedControlMs = 30_000;
/** With the lease and the start of the next member, a minute: then another takes commands for what one that died was sending to. */
const clusterControlMs = 39_000;

const platformDoubts = ({ platform, cluster }: Configuration): Finding[] => [
  ...when(
    [platform.business_url, platform.realtime_url].some(
      (url) => url.startsWith("http:") && !isLoopback(new URL(url).hostname),
    ),
    ["platform", "allow_insecure"],
    "the token travels unencrypted and can be read on the way",
  ),
  ...when(
    platform.timeouts.control < advisedControlMs,
    ["platform", "timeouts", "control"],
    `the platform advises to wait at least ${formatDuration(advisedControlMs)} for a control value; giving up earlier leaves open whether it was done`,
  ),
  ...when(
    cluster !== undefined && platform.timeouts.control > clusterControlMs,
    ["platform", "timeouts", "control"],
    `with more than ${formatDuration(clusterControlMs)} another member of the cluster takes commands only after more than a minute for an actuator that one which died was sending to`,
  ),
];

export const plainPassword =
  "plain password; `greenhouse2mqtt passwd` makes a hash that can stand here instead";

function reachDoubts(
  { mqtt, broker, http, mirror, controllers }: Configuration,
  hasBroker: boolean,
): Finding[] {
  const users = { broker: broker.users, http: http === false ? [] : http.users };
  const isOpen =
    http !== false && http.token === undefined && http.users.length === 0 && !http.ingress.enabled;
  return [
    ...Object.entries(users).flatMap(([server, some]) =>
      some.flatMap(({ password }, at) =>
        when(!isPasswordHash(password), [server, "users", at, "password"], plainPassword),
      ),
    ),
    ...(mqtt.url !== undefined && hasBroker
      ? [
          atKey(
            ["broker"],
            "without effect, because mqtt.url names another broker; the embedded one is not started",
          ),
        ]
      : []),
    ...when(
      !mqtt.tls.reject_unauthorized,
      ["mqtt", "tls", "reject_unauthorized"],
      "the broker's certificate is not verified",
    ),
    ...when(
      isOpen && !isLoopback(http.host),
      ["http", "host"],
      "other machines can reach this address and neither http.token nor http.users is set",
    ),
    ...when(
      mirror === "listed" && Object.values(controllers).every(({ ignore }) => ignore),
      ["mirror"],
      "nothing is mirrored, because no controller is listed below",
    ),
  ];
}

function pollingDoubts(configuration: Configuration): Finding[] {
  const { polling, platform } = configuration;
  const needed = Math.ceil(callsPerHourNeeded(polling, configuredLoad(configuration)) / 60);
  return [
    ...when(
      polling.controllers < 300_000,
      ["polling", "controllers"],
      "the platform asks for 5m or more between controller lists",
    ),
    ...when(
      polling.stale_after < polling.sensors,
      ["polling", "stale_after"],
      `readings would be stale before the next poll (polling.sensors is ${formatDuration(polling.sensors)})`,
    ),
    ...when(
      platform.requests_per_minute > 0 && needed > platform.requests_per_minute,
      ["platform", "requests_per_minute"],
      `polling the controllers below takes about ${needed} requests a minute; all intervals will be stretched`,
    ),
  ];
}

/** A kind that the control-parameter type of the same address contradicts; the device's own type is known at the start only. */
function typeDoubts({ controllers }: Configuration): Finding[] {
  return Object.entries(controllers).flatMap(([code, { actuators, ignore }]) =>
    Object.entries(ignore ? {} : actuators).flatMap(([id, { kind, type_id, accept_type }]) => {
      const group = type_id === undefined ? undefined : parameterGroup(type_id);
      const why = contradiction({ kind, group, acceptType: accept_type }, null);
      const path = ["controllers", code, "actuators", id, "type_id"];
      return why === null ? [] : [atValue(path, `${why}; ${contradictionRemedy}`)];
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
      const rounded = candidates.find(([, wanted]) => heldValue(wanted, scale) !== exact(wanted));
      if (rounded === undefined) return [];
      const [key, wanted] = rounded;
      const told = `${exact(wanted)} would be sent as ${digitsSent(wanted, scale)} and read back as ${heldValue(wanted, scale)}`;
      const path = ["controllers", code, "parameters", id, "writable", key];
      return [atValue(path, `${told}; expected a multiple of scale (${scale})`)];
    }),
  );
}

/** Without the noise of binary fractions. */
const exact = (number: number): number => Number(number.toPrecision(12));
const heldValue = (wanted: number, scale: number): number => exact(digitsSent(wanted, scale) * scale);

/** A sentence in the language of the person. */
type Tell = (text: string) => string;

/** What the section `sparkplug` means; none where it is off. */
export function sparkplugSentences(
  { sparkplug, mqtt }: Configuration,
  tell: Tell = (text) => text,
): readonly string[] {
  const { enabled, group, node, primary_host: host } = sparkplug;
  if (!enabled) return [];
  const wait = tell(
    host === undefined ? "births wait for no host" : `births wait until ${host} says that it is online`,
  );
  return [
    tell(
      `sparkplug: hosts see the edge node ${group}/${node} with a device for each controller that is online, on a connection of its own (client id ${mqtt.client_id}-sparkplug); ${wait}; commands to spBv1.0/${group}/DCMD/${node}/<controller> are taken as those on MQTT are.`,
    ),
  ];
}
