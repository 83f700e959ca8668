import type { CoreConfiguration } from "../settings/sections/core.js";
import { parameterGroup, statusNumber } from "../greenhouse/device-types.js";
import {
  type Allowance,
  degreesIn,
  type GuardCondition,
  type GuardInput,
  type Limits,
} from "../greenhouse/limits.js";
import { readingsOf } from "../greenhouse/readings.js";
import type { ActuatorSettings, ControllerSettings, MirrorSettings } from "../greenhouse/settings.js";
import { controllerTopicId, type Transliterate } from "../greenhouse/topic-ids.js";

type ControllerSection = CoreConfiguration["controllers"][string];
type ActuatorSection = ControllerSection["actuators"][string];
type KindsSection = CoreConfiguration["kinds"];

/** Translates the configuration into the core's words. */
export function mirrorSettings(
  configuration: Pick<
    CoreConfiguration,
    "mirror" | "controllers" | "polling" | "commands" | "kinds" | "running_status" | "alarms"
  >,
): MirrorSettings {
  const { mirror, controllers, polling, commands, kinds } = configuration;
  const defaults = { minIntervalMs: commands.min_interval, kinds };
  return {
    mirror,
    controllers: new Map(
      Object.entries(controllers).map(
        ([code, section], place) =>
          [code, { ...controllerSettings(code, section, defaults), place }] as const,
      ),
    ),
    statusReads: configuration.running_status.reads,
    bands: configuration.alarms,
    staleAfterMs: polling.stale_after,
  };
}

/** The defaults of an actuator. */
interface Defaults {
  readonly minIntervalMs: number;
  readonly kinds: KindsSection;
}

function controllerSettings(
  code: string,
  { sensors, actuators, parameters, ...about }: ControllerSection,
  defaults: Defaults,
): ControllerSettings {
  const all = Object.entries(actuators);
  const settingsOf = ([id, section]: (typeof all)[number]) => actuatorSettings(id, section, defaults);
  return {
    ...about,
    code,
    sensors: Object.entries(sensors).map(([id, { stale_after: staleAfterMs, ...sensor }]) => ({
      id,
      ...sensor,
      staleAfterMs,
    })),
    actuators: all.filter(([, { ignore }]) => !ignore).map(settingsOf),
    ignored: all.filter(([, { ignore }]) => ignore).map(settingsOf),
    parameters: Object.entries(parameters).map(([id, { type_id: type, ...parameter }]) => ({
      id,
      ...parameter,
      group: type === undefined ? undefined : parameterGroup(type),
    })),
  };
}

const actuatorSettings = (
  id: string,
  section: ActuatorSection,
  { minIntervalMs, kinds }: Defaults,
): ActuatorSettings => ({
  id,
  name: section.name,
  kind: section.kind,
  address: section.address,
  modeAddress: section.mode_address,
  positionAddress: section.position_address,
  stop: section.stop,
  values: { ...kinds[section.kind]?.values, ...section.values },
  ...readingsOf(section, kinds[section.kind]),
  leadIn: section.lead_in,
  settleMs: section.settle,
  travelMs: section.travel_time,
  confirmWithinMs: section.confirm_within,
  minIntervalMs: section.min_interval ?? minIntervalMs,
  tolerance: section.tolerance,
  group: section.type_id === undefined ? undefined : parameterGroup(section.type_id),
  acceptType: section.accept_type,
  running: section.running?.map(statusNumber),
  notRunningAfterMs: section.limits?.not_running_after,
  readOnly: section.read_only,
  limits: section.limits && limitsOf(section.limits),
  homeAssistant: section.homeassistant,
});

type LimitsSection = NonNullable<ActuatorSection["limits"]>;
type GuardSection = LimitsSection["guards"][string];

const limitsOf = (section: LimitsSection): Limits => ({
  restMs: section.rest,
  reversalMs: section.reversal,
  startsPerHour: section.starts_per_hour ?? null,
  forMs: section.for ?? null,
  atMostMs: section.at_most ?? null,
  endsWith: section.ends_with ?? null,
  guards: Object.entries(section.guards).map(([name, guard]) => ({
    name,
    input: inputOf(guard),
    from: guard.sensor ?? guard.actuator ?? guard.status ?? "",
    condition: conditionOf(guard),
    clearAfterMs: guard.clear_after,
    allow: allowanceOf(guard.allow),
    sends: guard.then ?? null,
    actsBlind: guard.blind === "act",
  })),
});

function inputOf({ sensor, actuator, status }: GuardSection): GuardInput {
  if (sensor?.startsWith("weather/")) return { type: "weather", name: sensor.slice("weather/".length) };
  const type = sensor !== undefined ? "sensor" : actuator !== undefined ? "actuator" : "status";
  const [first = "", second] = (sensor ?? actuator ?? status ?? "").split("/");
  return { type, controller: second === undefined ? null : first, id: second ?? first };
}

function conditionOf({
  above,
  below,
  is,
  is_not: isNot,
  clear_at: clearAt,
  actuator,
}: GuardSection): GuardCondition {
  if (above !== undefined) return { type: "above", limit: above, clearAt: clearAt ?? above };
  if (below !== undefined) return { type: "below", limit: below, clearAt: clearAt ?? below };
  const words = is ?? isNot;
  if (words === undefined) return { type: "moving" };
  const all = typeof words === "string" ? [words] : words;
  // The command `close` is shown as `closed`.
  const shut =
    actuator !== undefined && all.some((word) => /^closed?$/i.test(word)) ? ["close", "closed"] : [];
  return { type: is === undefined ? "is_not" : "is", words: [...new Set([...all, ...shut])] };
}

/** Parses `close`, `45` or `0..10`. */
function allowanceOf(items: readonly string[]): Allowance {
  const ranges = items.flatMap((item) => degreesIn(item) ?? []);
  return { words: items.filter((item) => !/^\d/.test(item)), degrees: ranges[0] ?? null };
}

/** Whether the configuration excludes a controller, by topic id; an id of a mirrored controller never is excluded. */
export function leavesOut(
  { controllers, mirror }: Pick<CoreConfiguration, "controllers" | "mirror">,
  transliterate: Transliterate,
): (id: string) => boolean {
  const ids = (ignored: boolean) =>
    new Set(
      Object.entries(controllers).flatMap(([code, { ignore, id }]) =>
        ignore === ignored ? [id ?? controllerTopicId(code, transliterate)] : [],
      ),
    );
  const mirrored = ids(false);
  const ignored = ids(true);
  return (id) => !mirrored.has(id) && (mirror === "listed" || ignored.has(id));
}
