import anyAscii from "any-ascii";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import type { Controller, Register, Sensor } from "../../src/greenhouse/model.js";
import type { RawValue, SensorItem } from "../../src/greenhouse/ports.js";
import { reduce } from "../../src/greenhouse/reduce.js";
import { limits } from "./builders.js";

export const start = Date.parse("2026-03-01T08:00:00Z");
export const minute = 60_000;
export const validId = /^[a-z0-9_-]{1,64}$/;

/** The controller after the events, all at one instant of the wall clock. */
export const after = (controller: Controller, now: number, ...events: ControllerEvent[]): Controller =>
  events.reduce(
    (held, event) => reduce(held, event, { now, freshness: limits, transliterate: anyAscii }),
    controller,
  );

export const sensorsRead = (
  items: readonly SensorItem[],
  receivedAt = start,
): Extract<ControllerEvent, { type: "sensors_read" }> => ({
  type: "sensors_read",
  items,
  receivedAt,
  source: "poll",
});

export const registersRead = (
  values: Readonly<Record<string, RawValue>>,
  over: Partial<Extract<ControllerEvent, { type: "registers_read" }>> = {},
): Extract<ControllerEvent, { type: "registers_read" }> => ({
  type: "registers_read",
  values: new Map(Object.entries(values)),
  startedAt: 0,
  readAt: start,
  fresh: false,
  source: "poll",
  ...over,
});

export const register = (raw: RawValue, startedAt = 0, over: Partial<Register> = {}): Register => ({
  raw,
  startedAt,
  readAt: start,
  fresh: false,
  source: "poll",
  ...over,
});

/** The only sensor of a controller; fails if there is not exactly one. */
export function onlySensor(controller: Controller): Sensor {
  const [sensor, ...others] = [...controller.sensors.values()];
  if (sensor === undefined || others.length > 0)
    throw new Error(`expected one sensor, got ${controller.sensors.size}`);
  return sensor;
}
