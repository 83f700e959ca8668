import type { Configuration } from "../config/schema.js";
import { parameterGroup, statusNumber } from "../greenhouse/device-types.js";
import type { ActuatorSettings, ControllerSettings, MirrorSettings } from "../greenhouse/settings.js";
import { controllerTopicId, type Transliterate } from "../greenhouse/topic-ids.js";

type ControllerSection = Configuration["controllers"][string];
type ActuatorSection = ControllerSection["actuators"][string];

const dayMs = 86_400_000;

/** The configuration in the core's words. */
export function mirrorSettings(
  configuration: Pick<Configuration, "mirror" | "controllers" | "polling" | "commands">,
): MirrorSettings {
  const { mirror, controllers, polling, commands } = configuration;
  return {
    mirror,
    controllers: new Map(
      Object.entries(controllers).map(
        ([code, section]) => [code, controllerSettings(code, section, commands.min_interval)] as const,
      ),
    ),
    staleAfterMs: polling.stale_after,
    removeAfterMs: dayMs,
  };
}

function controllerSettings(
  code: string,
  { sensors, actuators, parameters, ...about }: ControllerSection,
  minIntervalMs: number,
): ControllerSettings {
  return {
    ...about,
    code,
    sensors: Object.entries(sensors).map(([id, { stale_after: staleAfterMs, ...sensor }]) => ({
      id,
      ...sensor,
      staleAfterMs,
    })),
    actuators: Object.entries(actuators).map(([id, section]) => actuatorSettings(id, section, minIntervalMs)),
    parameters: Object.entries(parameters).map(([id, { type_id: type, ...parameter }]) => ({
      id,
      ...parameter,
      group: type === undefined ? undefined : parameterGroup(type),
    })),
  };
}

const actuatorSettings = (id: string, section: ActuatorSection, minIntervalMs: number): ActuatorSettings => ({
  id,
  name: section.name,
  kind: section.kind,
  address: section.address,
  modeAddress: section.mode_address,
  positionAddress: section.position_address,
  stop: section.stop,
  values: section.values,
  leadIn: section.lead_in,
  settleMs: section.settle,
  travelMs: section.travel_time,
  confirmWithinMs: section.confirm_within,
  minIntervalMs: section.min_interval ?? minIntervalMs,
  tolerance: section.tolerance,
  group: section.type_id === undefined ? undefined : parameterGroup(section.type_id),
  acceptType: section.accept_type,
  running: section.running === undefined ? undefined : statusNumber(section.running),
  readOnly: section.read_only,
  homeAssistant: section.homeassistant,
});

/** Topic ids of ignored controllers, but for those that a controller in their place was given. */
export function ignoredIds(
  controllers: Configuration["controllers"],
  transliterate: Transliterate,
): ReadonlySet<string> {
  const ids = (ignored: boolean) =>
    Object.entries(controllers).flatMap(([code, { ignore, id }]) =>
      ignore === ignored ? [id ?? controllerTopicId(code, transliterate)] : [],
    );
  const inUse = new Set(ids(false));
  return new Set(ids(true).filter((id) => !inUse.has(id)));
}
