import { stateAddresses } from "./fold-registers.js";
import type { Actuator, Availability, Controller, Quality, RunningStatus, Sensor } from "./model.js";

/** A platform clock may run a little ahead of ours without its readings being called wrong. */
export const futureToleranceMs = 120_000;

/** How old a reading may be. The first two floors are above 0 only while the request budget stretches the polling intervals. */
export interface Freshness {
  readonly staleAfterMs: number;
  readonly sensorFloorMs: number;
  readonly registerFloorMs: number;
  readonly statusFloorMs: number;
}

const sensorLimit = (sensor: Sensor, freshness: Freshness) =>
  Math.max(sensor.definition.staleAfterMs ?? freshness.staleAfterMs, freshness.sensorFloorMs);
const registerLimit = (freshness: Freshness) => Math.max(freshness.staleAfterMs, freshness.registerFloorMs);
const statusLimit = (freshness: Freshness) => Math.max(freshness.staleAfterMs, freshness.statusFloorMs);

/** Whether the controller and the platform can be reached. */
interface Reach {
  readonly availability: Availability;
  readonly platformReachable: boolean;
}

const isGone = (reach: Reach) => !reach.platformReachable || reach.availability === "offline";

/** Received in the future: our own clock was set back since, so its age cannot be known. */
const isAhead = (receivedAt: number, now: number) => receivedAt > now + futureToleranceMs;

/** The instant a sensor's age counts from: its own time when usable, else when it came. */
function datedAt(sensor: Sensor, now: number): number {
  if (sensor.measuredAt === null || sensor.measuredAt > now + futureToleranceMs) return sensor.receivedAt;
  return sensor.measuredAt;
}

export function sensorQuality(sensor: Sensor, reach: Reach, now: number, freshness: Freshness): Quality {
  if (isGone(reach) || isAhead(sensor.receivedAt, now)) return "stale";
  if (now - datedAt(sensor, now) > sensorLimit(sensor, freshness)) return "stale";
  if (sensor.fault !== null) return "bad";
  if (sensor.measuredAt === null || sensor.measuredAt > now + futureToleranceMs) return "uncertain";
  return "good";
}

function registerQuality(readAt: number | null, reach: Reach, now: number, freshness: Freshness): Quality {
  if (readAt === null || isGone(reach) || isAhead(readAt, now)) return "stale";
  return now - readAt > registerLimit(freshness) ? "stale" : "good";
}

function statusQuality(
  { readAt, missed }: RunningStatus,
  reach: Reach,
  now: number,
  freshness: Freshness,
): RunningStatus["quality"] {
  if (missed > 0 || isGone(reach) || isAhead(readAt, now)) return "stale";
  return now - readAt > statusLimit(freshness) ? "stale" : "good";
}

/** An actuator is as fresh as that of its addresses which was read longest ago. */
function oldestRead({ settings, registers }: Actuator): number | null {
  let oldest: number | null = null;
  for (const address of stateAddresses(settings)) {
    const readAt = registers[address]?.readAt ?? null;
    if (oldest === null || (readAt !== null && readAt < oldest)) oldest = readAt;
  }
  return oldest;
}

/** A degree that was confirmed and cannot be read is as fresh as the mode, and less certain. */
function actuatorQuality(actuator: Actuator, reach: Reach, now: number, freshness: Freshness): Quality {
  const quality = registerQuality(oldestRead(actuator), reach, now, freshness);
  const isRecalled = (actuator.lastDegree ?? null) !== null && actuator.position === actuator.lastDegree;
  return quality === "good" && isRecalled ? "uncertain" : quality;
}

/** The same things with their quality as it is now; the same reference where none changed. */
const judged = <K, T extends { readonly quality: Quality }>(
  all: ReadonlyMap<K, T>,
  qualityOf: (one: T) => T["quality"],
): ReadonlyMap<K, T> =>
  mapChanged(all, (one) => {
    const quality = qualityOf(one);
    return quality === one.quality ? one : { ...one, quality };
  });

/** Judges everything of a controller anew; the same reference when nothing changed. */
export function judge(controller: Controller, now: number, freshness: Freshness): Controller {
  const registerIn = (readAt: number | null) => registerQuality(readAt, controller, now, freshness);
  const parts = {
    sensors: judged(controller.sensors, (sensor) => sensorQuality(sensor, controller, now, freshness)),
    actuators: judged(controller.actuators, (actuator) =>
      actuatorQuality(actuator, controller, now, freshness),
    ),
    parameters: judged(controller.parameters, ({ register }) => registerIn(register?.readAt ?? null)),
    statuses: judged(controller.statuses, (status) => statusQuality(status, controller, now, freshness)),
  };
  const shown = withChange(controller, parts);
  return withChange(shown, { nextJudgementAt: nextChange(shown, now, freshness) });
}

/** When time alone can change a quality next. */
function nextChange(controller: Controller, now: number, freshness: Freshness): number | null {
  if (isGone(controller)) return null;
  let next: number | null = null;
  const consider = (at: number) => {
    if (at >= now && (next === null || at < next)) next = at;
  };
  for (const sensor of controller.sensors.values()) {
    if (sensor.quality === "stale") continue;
    consider(datedAt(sensor, now) + sensorLimit(sensor, freshness) + 1);
    if (sensor.quality === "uncertain" && sensor.measuredAt !== null)
      consider(sensor.measuredAt - futureToleranceMs);
  }
  for (const actuator of controller.actuators.values()) {
    const readAt = oldestRead(actuator);
    if (actuator.quality !== "stale" && readAt !== null) consider(readAt + registerLimit(freshness) + 1);
  }
  for (const parameter of controller.parameters.values()) {
    if (parameter.quality !== "stale" && parameter.register !== null)
      consider(parameter.register.readAt + registerLimit(freshness) + 1);
  }
  for (const status of controller.statuses.values())
    if (status.quality !== "stale") consider(status.readAt + statusLimit(freshness) + 1);
  return next;
}

/** A map with some values replaced; the same reference when none was. */
export function mapChanged<K, V>(map: ReadonlyMap<K, V>, change: (value: V) => V): ReadonlyMap<K, V> {
  let changed: Map<K, V> | null = null;
  for (const [key, value] of map) {
    const next = change(value);
    if (next === value) continue;
    changed ??= new Map(map);
    changed.set(key, next);
  }
  return changed ?? map;
}

/** The controller with some parts replaced; the same reference when each of them is what it was. */
export function withChange(controller: Controller, change: Partial<Controller>): Controller {
  const keys = Object.keys(change) as (keyof Controller)[];
  return keys.every((key) => controller[key] === change[key]) ? controller : { ...controller, ...change };
}
