import { futureToleranceMs } from "./freshness.js";
import type { Controller, LayoutSlot, RunningStatus, Sensor, SensorDefinition } from "./model.js";
import type { RunningStatusItem, SensorItem } from "./ports.js";
import { foldReading, type ReadContext } from "./sensor-fold.js";

/*
 * What was pushed is folded into what reads have shown before: a push may bring a part only, so it never makes a new
 * sensor or status and never changes what an old one is.
 */

/** The sensors after pushed readings; the same reference when they brought no news. */
export function foldPushedReadings(
  controller: Controller,
  items: readonly SensorItem[],
  context: ReadContext,
): Controller["sensors"] {
  let changed: Map<string, Sensor> | null = null;
  for (const item of items) {
    const definition = definitionOf(controller.layout, item);
    if (definition === null) continue;
    const held = (changed ?? controller.sensors).get(definition.id);
    if (!isDated(item, context.now) && held?.measuredAt !== null) continue;
    const next = foldReading(held, definition, item, context);
    if (next === held) continue;
    changed ??= new Map(controller.sensors);
    changed.set(definition.id, next);
  }
  return changed ?? controller.sensors;
}

/** Whether a pushed reading says when it was measured; one without is no newer than a dated one for all we know. */
export const isDated = ({ measuredAt }: SensorItem, now: number): boolean =>
  measuredAt !== null && measuredAt <= now + futureToleranceMs;

/** The one sensor that fits everything the item says of itself. */
function definitionOf(layout: readonly LayoutSlot[], item: SensorItem): SensorDefinition | null {
  const fitting = layout.filter((slot) => fits(slot, item));
  const [slot] = fitting;
  return fitting.length === 1 && slot?.provisional === false ? slot.definition : null;
}

const fits = (slot: LayoutSlot, { name, factor, channel, unit }: SensorItem): boolean =>
  (name !== "" || factor !== null || channel !== null) &&
  (name === "" || name === slot.name) &&
  (factor === null || factor === slot.factor) &&
  (channel === null || channel === slot.channel) &&
  (unit === null || unit === slot.unit);

/** The pushed items of statuses that a read has shown, named as it named them. */
export function knownStatuses(
  held: ReadonlyMap<string, RunningStatus>,
  items: readonly RunningStatusItem[],
): readonly RunningStatusItem[] {
  return items.flatMap((item) => {
    const fitting = [...held.values()].filter(
      ({ name, number }) =>
        (item.name !== "" || item.number !== null) &&
        (item.name === "" || item.name === name) &&
        (item.number === null || item.number === number),
    );
    const [status] = fitting;
    if (fitting.length !== 1 || status === undefined) return [];
    return [{ name: status.name, number: status.number, value: item.value }];
  });
}
