import { alarmTitles } from "../greenhouse/alarms.js";
import { allowedOf } from "../greenhouse/command/words.js";
import { infoDocument } from "../greenhouse/documents.js";
import type { Alarm } from "../greenhouse/limits.js";
import type {
  Actuator,
  Controller,
  Parameter,
  PlatformState,
  Quality,
  RunningStatus,
  Sensor,
  TargetKind,
} from "../greenhouse/model.js";
import type { Datatype } from "./schema.js";

/*
 * A controller's shown state as the metrics of a Sparkplug device. Pure: two states give the message about the step
 * between them. Instants are epoch ms; a metric without an instant counts from its publication.
 */

/** The three codes of the Sparkplug specification. */
const qualityCodes = { good: 192, stale: 500, bad: 0 } as const;
type QualityCode = (typeof qualityCodes)[keyof typeof qualityCodes];

export type Scalar = string | number | boolean;

export interface Metric {
  readonly name: string;
  readonly type: Datatype;
  /** Null for no value. */
  readonly value: Scalar | null;
  /** Null for metrics that are always as good as the bridge. */
  readonly quality: QualityCode | null;
  /** When it was measured or read. */
  readonly at: number | null;
  /** Further properties in a birth, such as the unit. */
  readonly properties?: Readonly<Record<string, string | number>>;
}

export type ShownAlarm = Omit<Alarm, "clearedAt" | "facts">;

/** The newest result of a target, as its document. */
export interface ShownResult {
  readonly text: string;
  readonly at: number;
}

/** All that a device shows. */
export interface Picture {
  readonly controller: Controller;
  readonly alarms: readonly ShownAlarm[];
  /** By name of the metric. */
  readonly results: ReadonlyMap<string, ShownResult>;
}

const codeOf = (quality: Quality): QualityCode => {
  if (quality === "good") return qualityCodes.good;
  return quality === "bad" ? qualityCodes.bad : qualityCodes.stale;
};

/** A text metric; without a value it is bad, or has not come yet. */
const text = (name: string, value: string | null, more: Partial<Metric> = {}): Metric => ({
  name,
  type: "String",
  value,
  quality: null,
  at: null,
  ...more,
});

const withUnit = (unit: string | null | undefined) =>
  unit === null || unit === undefined || unit === "" ? {} : { properties: { engUnit: unit } };

function sensorMetrics(sensor: Sensor): readonly Metric[] {
  const { definition, value, quality, measuredAt, receivedAt } = sensor;
  const name = `sensor/${definition.id}`;
  const about = { quality: codeOf(quality), at: measuredAt ?? receivedAt, ...withUnit(definition.unit) };
  if (!definition.numeric) return [text(name, value === null || value === "" ? null : String(value), about)];
  return [{ name, type: "Double", value: typeof value === "number" ? value : null, ...about }];
}

function statusMetrics({ id, missed, state, quality, readAt }: RunningStatus): readonly Metric[] {
  const shown = missed > 0 ? "stale" : state;
  return [text(`status/${id}`, shown === "" ? null : shown, { quality: codeOf(quality), at: readAt })];
}

/**
 * Metrics of a parameter. A value that is no number counts as no value where numbers are written or a unit is given.
 */
function parameterMetrics(parameter: Parameter, results: Picture["results"]): readonly Metric[] {
  const { settings, value, register, quality } = parameter;
  const { id, unit, writable } = settings;
  const name = `parameter/${id}`;
  const range = writable && { engLow: writable.min, engHigh: writable.max };
  const properties = { ...withUnit(unit).properties, ...range };
  const about = { quality: codeOf(quality), at: register?.readAt ?? null, properties };
  const isNumber = writable !== undefined || unit !== undefined || typeof value !== "string";
  const shown: Metric = isNumber
    ? { name, type: "Double", value: typeof value === "number" ? value : null, ...about }
    : text(name, value, about);
  return writable === undefined ? [shown] : [shown, resultMetric(`${name}/result`, results)];
}

export const resultMetric = (name: string, results: Picture["results"]): Metric => {
  const result = results.get(name);
  return text(name, result?.text ?? null, { at: result?.at ?? null });
};

function actuatorMetrics(actuator: Actuator, results: Picture["results"]): readonly Metric[] {
  const { settings, state, position, value, quality, readAt, restrictions } = actuator;
  const root = `actuator/${settings.id}`;
  const read = { quality: codeOf(quality), at: readAt };
  const allowed = allowedOf(actuator);
  const { lock = null, lease = null } = restrictions ?? {};
  return [
    text(`${root}/state`, state, read),
    {
      name: `${root}/position`,
      type: "Double",
      value: position,
      ...read,
      properties: { engUnit: "%", engLow: 0, engHigh: 100 },
    },
    text(`${root}/value`, value, read),
    // A place to write to, without a value: a wish is no state.
    text(`${root}/command`, null),
    text(`${root}/allowed`, JSON.stringify(allowed)),
    text(`${root}/lock`, lock && JSON.stringify(lock)),
    text(`${root}/lease`, lease && JSON.stringify(lease)),
    resultMetric(`${root}/result`, results),
  ];
}

const infoText = (value: unknown): string | null => {
  if (value === null || value === undefined || value === "") return null;
  return typeof value === "string" ? value : JSON.stringify(value);
};

const infoMetrics = (info: Controller["info"]): readonly Metric[] =>
  Object.entries(infoDocument(info)).map(([field, value]) => text(`info/${field}`, infoText(value)));

const alarmMetric = (alarm: ShownAlarm): Metric => ({
  ...text(`alarm/${alarm.id}`, alarm.state),
  at: alarm.state === "active" ? Date.parse(alarm.since) : null,
  properties: { severity: alarm.severity, message: alarm.message },
});

/**
 * Metrics of the node itself. Its birth has to name every possible alarm, since a new one would need a rebirth of all.
 */
export function nodeMetrics(about: {
  readonly version: string;
  readonly platform: PlatformState | null;
  readonly alarms: readonly ShownAlarm[];
}): readonly Metric[] {
  const on = new Map(about.alarms.map((alarm) => [alarm.id, alarm]));
  return [
    text("bridge/platform", about.platform),
    text("info/version", about.version),
    ...Object.keys(alarmTitles).map((type) => {
      const alarm = on.get(type);
      return alarm === undefined ? text(`alarm/${type}`, "cleared") : alarmMetric(alarm);
    }),
  ];
}

/** The metric of every result of a controller. */
export const anyResult = "result";

/** The metric for results of a target; null where only `result` has them. */
export function resultPlace(
  target: TargetKind,
  targetId: string,
  { actuators, parameters }: Controller,
): string | null {
  if (target === "actuator" && actuators.has(targetId)) return `actuator/${targetId}/result`;
  const isSet = target === "parameter" && parameters.get(targetId)?.settings.writable !== undefined;
  return isSet ? `parameter/${targetId}/result` : null;
}

/** Every metric of the device, for a birth. */
export function deviceMetrics({ controller, alarms, results }: Picture): readonly Metric[] {
  const { info, sensors, statuses, actuators, parameters } = controller;
  return [
    ...infoMetrics(info),
    ...[...sensors.values()].flatMap(sensorMetrics),
    ...[...statuses.values()].flatMap(statusMetrics),
    ...[...actuators.values()].flatMap((one) => actuatorMetrics(one, results)),
    ...[...parameters.values()].flatMap((one) => parameterMetrics(one, results)),
    ...alarms.map(alarmMetric),
    resultMetric(anyResult, results),
  ];
}

/** The content of a data message; or that only a birth can say it, as a metric came, went or changed its kind. */
export type Difference =
  { readonly type: "birth" } | { readonly type: "data"; readonly metrics: readonly Metric[] };

const birth: Difference = { type: "birth" };

const isSameKind = (one: Metric, other: Metric): boolean =>
  one.name === other.name && one.type === other.type && isSameUnit(one.properties, other.properties);

const isSameUnit = (one: Metric["properties"], other: Metric["properties"]): boolean =>
  one?.["engUnit"] === other?.["engUnit"] &&
  one?.["engLow"] === other?.["engLow"] &&
  one?.["engHigh"] === other?.["engHigh"];

const isSame = (one: Metric, other: Metric): boolean =>
  one.value === other.value &&
  one.quality === other.quality &&
  one.properties?.["message"] === other.properties?.["message"];

/** The changes between two lists of the same metrics; null for different lists. */
export function difference(before: readonly Metric[], after: readonly Metric[]): readonly Metric[] | null {
  if (before.length !== after.length) return null;
  const changed: Metric[] = [];
  for (const [place, metric] of after.entries()) {
    const old = before[place];
    if (old === undefined || !isSameKind(old, metric)) return null;
    if (!isSame(old, metric)) changed.push(metric);
  }
  return changed;
}

/** The same for all items of one kind; null where only a birth can say it. Identical objects are skipped. */
function differences<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
  metricsOf: (item: Item) => readonly Metric[],
): readonly Metric[] | null {
  if (before === after) return [];
  if (before.size !== after.size) return null;
  const changed: Metric[] = [];
  for (const [id, item] of after) {
    const old = before.get(id);
    if (old === undefined) return null;
    if (old === item) continue;
    const some = difference(metricsOf(old), metricsOf(item));
    if (some === null) return null;
    changed.push(...some);
  }
  return changed;
}

/**
 * The step from the last published state to the present one. Results are left out, as the edge node sends each of them
 * once.
 */
export function deviceDifference(before: Picture, after: Picture): Difference {
  const old = before.controller;
  const now = after.controller;
  const none: Picture["results"] = new Map();
  const parts = [
    old.info === now.info ? [] : difference(infoMetrics(old.info), infoMetrics(now.info)),
    differences(old.sensors, now.sensors, sensorMetrics),
    differences(old.statuses, now.statuses, statusMetrics),
    differences(old.actuators, now.actuators, (one) => actuatorMetrics(one, none)),
    differences(old.parameters, now.parameters, (one) => parameterMetrics(one, none)),
    before.alarms === after.alarms
      ? []
      : difference(before.alarms.map(alarmMetric), after.alarms.map(alarmMetric)),
  ];
  const metrics: Metric[] = [];
  for (const part of parts) {
    if (part === null) return birth;
    metrics.push(...part);
  }
  return { type: "data", metrics };
}

/** Whether the device is alive for its hosts: online, or read while it has no flag of its own. */
export function isAlive({ availability, sensors, statuses, actuators }: Controller): boolean {
  if (availability !== "unknown") return availability === "online";
  return (
    sensors.size > 0 || statuses.size > 0 || [...actuators.values()].some(({ readAt }) => readAt !== null)
  );
}

/** Whether enough was read that its birth need not be repeated a moment later. */
export function isRead({ availability, layout, actuators, parameters }: Controller): boolean {
  if (availability === "offline") return true;
  return (
    availability === "online" &&
    layout.length > 0 &&
    [...actuators.values()].every(({ readAt }) => readAt !== null) &&
    [...parameters.values()].every(({ register }) => register !== null)
  );
}
