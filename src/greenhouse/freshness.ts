import { stateAddresses } from "./actuator-kinds.js";
import type { Actuator, Controller, Parameter, Quality, Register, RunningStatus, Sensor } from "./model.js";

/** How far the platform's clock may be ahead of ours before its readings count as wrong. */
export const futureToleranceMs = 120_000;

/**
 * How old readings may be. The first two floors are above 0 only while the request budget stretches the polling
 * intervals.
 */
export interface Freshness {
  readonly staleAfterMs: number;
  readonly sensorFloorMs: number;
  readonly registerFloorMs: number;
  readonly statusFloorMs: number;
}

/** A quality now, and when time alone changes it next; Infinity for never. */
interface Judged<Of extends Quality = Quality> {
  readonly quality: Of;
  readonly until: number;
}

/** The inputs of all judgements of a controller. */
interface Moment {
  readonly now: number;
  readonly freshness: Freshness;
  /** Whether the controller or the platform is out of reach. */
  readonly isGone: boolean;
}

const stale = { quality: "stale", until: Infinity } as const;

/** Quality by age alone. `datedAt`: where the age begins; `receivedAt`: the arrival, null for never. */
function qualityByAge(
  receivedAt: number | null,
  datedAt: number,
  limitMs: number,
  { now, isGone }: Moment,
): Judged<"good" | "stale"> {
  // Received in the future: our clock was set back since, so the age is unknown.
  const isUnknown = receivedAt === null || receivedAt > now + futureToleranceMs;
  if (isUnknown || isGone || now - datedAt > limitMs) return stale;
  return { quality: "good", until: datedAt + limitMs + 1 };
}

/** Quality of a sensor; its age begins at its own time if usable, else at its arrival. */
function sensorQuality(sensor: Sensor, moment: Moment): Judged {
  const { measuredAt, receivedAt, definition, fault } = sensor;
  const { staleAfterMs, sensorFloorMs } = moment.freshness;
  const limitMs = Math.max(definition.staleAfterMs ?? staleAfterMs, sensorFloorMs);
  const isDated = measuredAt !== null && measuredAt <= moment.now + futureToleranceMs;
  const aged = qualityByAge(receivedAt, isDated ? measuredAt : receivedAt, limitMs, moment);
  if (aged.quality === "stale") return aged;
  if (fault !== null) return { ...aged, quality: "bad" };
  if (isDated && sensor.isDoubted !== true) return aged;
  if (isDated) return { ...aged, quality: "uncertain" };
  const datedFrom = measuredAt === null ? Infinity : measuredAt - futureToleranceMs;
  return { quality: "uncertain", until: Math.min(aged.until, datedFrom) };
}

/**
 * Quality of an actuator: as fresh as its oldest address. A confirmed degree that cannot be read is as fresh as the
 * mode, but uncertain.
 */
function actuatorQuality(actuator: Actuator, moment: Moment): Judged {
  const { settings, registers, state, position, lastDegree, lastWord } = actuator;
  let oldest: Register | null = null;
  for (const address of stateAddresses(settings)) {
    const register = registers[address];
    if (register !== undefined && (oldest === null || register.readAt < oldest.readAt)) oldest = register;
  }
  const aged = qualityOfRegister(oldest, moment);
  const isWordRecalled = settings.pulse === true && (lastWord ?? null) !== null && state === lastWord;
  const isRecalled = isWordRecalled || ((lastDegree ?? null) !== null && position === lastDegree);
  const isDoubted = Object.values(registers).some((register) => register.isDoubted === true);
  return aged.quality === "good" && (isRecalled || isDoubted) ? { ...aged, quality: "uncertain" } : aged;
}

const parameterQuality = ({ register }: Pick<Parameter, "register">, moment: Moment) =>
  register?.isDoubted === true ? stale : qualityOfRegister(register, moment);

function qualityOfRegister(register: Register | null, moment: Moment): Judged<"good" | "stale"> {
  const { staleAfterMs, registerFloorMs } = moment.freshness;
  const readAt = register?.readAt ?? null;
  return qualityByAge(readAt, readAt ?? 0, Math.max(staleAfterMs, registerFloorMs), moment);
}

function statusQuality(
  { readAt, missed, isDoubted }: RunningStatus,
  moment: Moment,
): Judged<"good" | "stale"> {
  const { staleAfterMs, statusFloorMs } = moment.freshness;
  const limitMs = Math.max(staleAfterMs, statusFloorMs);
  return qualityByAge(missed > 0 || isDoubted === true ? null : readAt, readAt, limitMs, moment);
}

/** Judges all qualities of a controller again; the same reference where nothing changed. */
export function judge(controller: Controller, now: number, freshness: Freshness): Controller {
  const isGone = !controller.platformReachable || controller.availability === "offline";
  const moment = { now, freshness, isGone };
  let next = Infinity;
  const judgeAll = <Key, Part extends { readonly quality: Quality }>(
    all: ReadonlyMap<Key, Part>,
    qualityOf: (one: Part, moment: Moment) => Judged<Part["quality"]>,
  ) =>
    mapChanged(all, (one) => {
      const { quality, until } = qualityOf(one, moment);
      next = Math.min(next, until);
      return quality === one.quality ? one : { ...one, quality };
    });
  return withChange(controller, {
    sensors: judgeAll(controller.sensors, sensorQuality),
    actuators: judgeAll(controller.actuators, actuatorQuality),
    parameters: judgeAll(controller.parameters, parameterQuality),
    statuses: judgeAll(controller.statuses, statusQuality),
    nextJudgementAt: next === Infinity ? null : next,
  });
}

/** The map with changed values replaced; the same reference where none changed. */
export function mapChanged<Key, Value, Given extends readonly unknown[]>(
  map: ReadonlyMap<Key, Value>,
  change: (value: Value, ...given: Given) => Value,
  ...given: Given
): ReadonlyMap<Key, Value> {
  let changed: Map<Key, Value> | null = null;
  for (const [key, value] of map) {
    const next = change(value, ...given);
    if (next === value) continue;
    changed ??= new Map(map);
    changed.set(key, next);
  }
  return changed ?? map;
}

/** The controller with parts replaced; the same reference where all of them are equal. */
export function withChange(controller: Controller, change: Partial<Controller>): Controller {
  for (const key of Object.keys(change) as (keyof Controller)[])
    if (controller[key] !== change[key]) return { ...controller, ...change };
  return controller;
}
