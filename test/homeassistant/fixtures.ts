import type { ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import { deviceType, statusNumber } from "../../src/greenhouse/device-types.js";
import type {
  Actuator,
  Controller,
  ControllerInfo,
  Parameter,
  RunningStatus,
  Sensor,
  SensorDefinition,
} from "../../src/greenhouse/model.js";
import type { Limits } from "../../src/greenhouse/limits.js";
import type { SensorKind } from "../../src/greenhouse/sensors.js";
import type { ActuatorSettings, ParameterSettings } from "../../src/greenhouse/settings.js";
import type { DocumentSettings } from "../../src/homeassistant/documents.js";
import { newController, unreadActuator } from "../../src/greenhouse/reduce.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { inChinese } from "../support/chinese.js";
import { actuator as settingsOf, record } from "../support/builders.js";

export const settings = (changes: Partial<DocumentSettings> = {}): DocumentSettings => ({
  topics: topicsUnder("greenhouse"),
  language: "en",
  tell: changes.language === "zh" ? inChinese : String,
  sensorNames: "translated",
  hasBudget: true,
  version: "0.1.0",
  clientId: "greenhouse2mqtt",
  prefix: "homeassistant",
  ...changes,
});

export const sensor = (changes: Partial<SensorDefinition> & { key: string; id: string }): Sensor => ({
  definition: {
    ...{ name: changes.id, platformName: changes.id, factor: null, channel: null, kind: "other", unit: null },
    ...{ decimals: null, numeric: true, scale: 1, offset: 0, min: null, max: null, staleAfterMs: null },
    ...changes,
  },
  ...{
    value: 1,
    raw: "1",
    measuredAt: 1_000,
    receivedAt: 1_000,
    fault: null,
    source: "poll",
    quality: "good",
  },
});

/** A reading named as the platform names it. */
export const reading = (name: string, id: string, kind: SensorKind, unit: string | null): Sensor =>
  sensor({ key: `name:${name}`, id, name, platformName: name, kind, unit });

export const actuator = (changes: Partial<ActuatorSettings> & { id: string; kind: ActuatorKind }): Actuator =>
  unreadActuator(settingsOf({ leadIn: "when_not_on", ...changes }));

/** Nothing but what has to be there. */
export const limits: Limits = {
  ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: null, atMostMs: null, endsWith: null },
  guards: [],
};

export const parameter = (changes: Partial<ParameterSettings> & { id: string }): Parameter => ({
  settings: { address: "501", scale: 1, ...changes },
  register: null,
  value: null,
  quality: "stale",
});

export const status = (
  number: number | null,
  name: string,
  value: RunningStatus["value"],
  id = `${number ?? "s"}_${name.length}`,
): RunningStatus => ({
  id,
  key: `status:${number ?? ""}:${name}`,
  name,
  number: number === null ? null : statusNumber(number),
  value,
  state: value === 1 ? "on" : value === 0 ? "off" : String(value),
  readAt: 1_000,
  changedAt: 1_000,
  missed: 0,
  quality: "good",
});

interface Parts {
  readonly code?: string;
  readonly info?: Partial<ControllerInfo>;
  readonly sensors?: readonly Sensor[];
  readonly statuses?: readonly RunningStatus[];
  readonly actuators?: readonly Actuator[];
  readonly parameters?: readonly Parameter[];
}

export function controller(parts: Parts = {}): Controller {
  const { code = "GH-0001", info = {}, sensors = [], statuses = [], actuators = [], parameters = [] } = parts;
  const made = newController(code, code.toLowerCase(), null, true);
  return {
    ...made,
    info: { ...made.info, name: "East house", ...info },
    availability: "online",
    sensors: new Map(sensors.map((one) => [one.definition.id, one])),
    statuses: new Map(statuses.map((one) => [one.id, one])),
    actuators: new Map(actuators.map((one) => [one.settings.id, one])),
    parameters: new Map(parameters.map((one) => [one.settings.id, one])),
  };
}

export const info = (
  type: string,
  typeName: string,
  name: string,
  changes: Partial<ControllerInfo> = {},
): Partial<ControllerInfo> => ({
  name,
  type: deviceType(type),
  record: record({ name, type: deviceType(type), typeName, stationName: "Base one" }),
  ...changes,
});
