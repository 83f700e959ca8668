import { stateAddresses } from "./actuator-kinds.js";
import type { Actuator, Controller, Parameter, Quality, Register, RunningStatus, Sensor } from "./model.js";

/** A platform clock may run a little ahead of ours without its readings being called wrong. */
export const futureToleranceMs = 120_000;

/** How old a reading may be. The first two floors are above 0 only while the request budget stretches the polling intervals. */
export interface Freshness {
  readonly staleAfterMs: number;
  readonly sensorFloorMs: number;
  readonly registerFloorMs: number;
  readonly statusFloorMs: number;
}

/** The quality of something at this moment, and when time alone changes it next; Infinity where it does not. */
interface Judged<Of extends Quality = Quality> {
  readonly quality: Of;
  readonly until: number;
}

/** What everything of a controller is judged by. */
interface Moment {
  readonly now: number;
  readonly freshness: Freshness;
  /** The controller or the platform cannot be reached. */
  readonly isGone: boolean;
}

const stale = { quality: "stale", until: Infinity } as const;

/** By its age alone: `datedAt` is what that counts from, `receivedAt` when it came, null for never. */
function qualityByAge(
  receivedAt: number | null,
  datedAt: number,
  limitMs: number,
  { now, isGone }: Moment,
): Judged<"good" | "stale"> {
  // Received in the future: our own clock was set back since, so its age cannot be known.
  const isUnknown = receivedAt === null || receivedAt > now + futureToleranceMs;
  if (isUnknown || isGone || now - datedAt > limitMs) return stale;
  return { quality: "good", until: datedAt + limitMs + 1 };
}

/** Its age counts from its own time where that is usable, else from when it came. */
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
 * An actuator is as fresh as that of its addresses which was read longest ago. A degree that was confirmed and cannot be read is as
 * fresh as the mode, and less certain.
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

/** Judges everything of a controller anew; the same reference when nothing changed. */
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

/** A map with some values replaced by what `change` makes of them; the same reference when none was. */
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

/** The controller with some parts replaced; the same reference when each of them is what it was. */
export function withChange(controller: Controller, change: Partial<Controller>): Controller {
  for (const key of Object.keys(change) as (keyof Controller)[])
    if (controller[key] !== change[key]) return { ...controller, ...change };
  return controller;
}
