import type { Configuration } from "../config/schema.js";
import { parameterGroup, statusNumber } from "../greenhouse/device-types.js";
import type {
  ActuatorSettings,
  ControllerSettings,
  MirrorSettings,
  ParameterSettings,
  SensorSettings,
} from "../greenhouse/settings.js";

type ControllerSection = Configuration["controllers"][string];
type ActuatorSection = ControllerSection["actuators"][string];
type SensorSection = ControllerSection["sensors"][string];
type ParameterSection = ControllerSection["parameters"][string];

const dayMs = 86_400_000;

/** The configuration in the core's words. */
export function mirrorSettings(configuration: Configuration): MirrorSettings {
  const controllers = Object.entries(configuration.controllers).map(
    ([code, section]) => [code, controllerSettings(code, section, configuration)] as const,
  );
  return {
    mirror: configuration.mirror,
    controllers: new Map(controllers),
    staleAfterMs: configuration.polling.stale_after,
    removeAfterMs: dayMs,
  };
}

function controllerSettings(
  code: string,
  section: ControllerSection,
  configuration: Configuration,
): ControllerSettings {
  return {
    code,
    id: section.id,
    name: section.name,
    area: section.area,
    ignore: section.ignore,
    stream: section.stream,
    sensors: Object.entries(section.sensors).map(([id, sensor]) => sensorSettings(id, sensor)),
    actuators: Object.entries(section.actuators).map(([id, actuator]) =>
      actuatorSettings(id, actuator, configuration.commands.min_interval),
    ),
    parameters: Object.entries(section.parameters).map(([id, parameter]) => parameterSettings(id, parameter)),
  };
}

function sensorSettings(id: string, section: SensorSection): SensorSettings {
  const {
    from,
    name,
    kind,
    unit,
    scale,
    offset,
    decimals,
    min,
    max,
    ignore,
    stale_after: staleAfterMs,
  } = section;
  return { id, from, name, kind, unit, scale, offset, decimals, min, max, staleAfterMs, ignore };
}

function actuatorSettings(id: string, section: ActuatorSection, minIntervalMs: number): ActuatorSettings {
  return {
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
  };
}

function parameterSettings(id: string, section: ParameterSection): ParameterSettings {
  const { name, address, unit, scale, decimals, writable, type_id } = section;
  return {
    id,
    name,
    address,
    unit,
    scale,
    decimals,
    writable,
    group: type_id === undefined ? undefined : parameterGroup(type_id),
  };
}
