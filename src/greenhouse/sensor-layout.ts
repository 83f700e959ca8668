import { hash8, identifySensors } from "./ids.js";
import type { Controller, LayoutSlot, SensorDefinition } from "./model.js";
import type { SensorItem } from "./ports.js";
import { defineSensor } from "./sensor-fold.js";

export type Transliterate = (text: string) => string;
export type Layout = readonly LayoutSlot[];

/**
 * For each item of an answer the sensor it belongs to. Answers look alike from poll to poll, so the layout of the last
 * one is kept, by reference, while it fits.
 */
export function layoutFor(
  items: readonly SensorItem[],
  controller: Pick<Controller, "layout" | "settings">,
  transliterate: Transliterate,
): Layout {
  const { layout } = controller;
  if (layout.length === items.length && items.every((item, place) => fits(layout[place], item)))
    return layout;
  return newLayout(items, controller, transliterate);
}

const fits = (slot: LayoutSlot | undefined, item: SensorItem) =>
  slot !== undefined &&
  slot.name === item.name &&
  slot.factor === item.factor &&
  slot.channel === item.channel &&
  slot.unit === item.unit &&
  !(slot.provisional && item.value !== null);

function newLayout(
  items: readonly SensorItem[],
  controller: Pick<Controller, "layout" | "settings">,
  transliterate: Transliterate,
): Layout {
  const settings = controller.settings?.sensors ?? [];
  const identities = identifySensors(items, transliterate);
  const taken = new Set(settings.map((sensor) => sensor.id));
  return items.map((item, place): LayoutSlot => {
    const identity = identities[place] ?? null;
    const own = settings.find((sensor) => isFrom(sensor.from, item, identity?.id ?? null));
    const id = own?.id ?? freeId(identity, taken);
    const definition =
      identity === null || own?.ignore === true || id === null
        ? null
        : reused(controller.layout, defineSensor(item, { key: identity.key, id }, own));
    const provisional = item.value === null && definition?.kind === "other" && definition.unit === null;
    return {
      name: item.name,
      factor: item.factor,
      channel: item.channel,
      unit: item.unit,
      definition,
      provisional,
    };
  });
}

/** `from` names a sensor by its exact name, its factor code, its id, or `name@channel`. */
function isFrom(from: string, item: SensorItem, id: string | null): boolean {
  if (from === item.name || from === item.factor || from === id) return true;
  return (
    item.channel !== null &&
    (from === `${item.name}@${item.channel}` || from === `${item.factor ?? ""}@${item.channel}`)
  );
}

// An id the configuration gave to another sensor is never given out a second time.
function freeId(
  identity: { readonly id: string; readonly key: string } | null,
  taken: ReadonlySet<string>,
): string | null {
  if (identity === null) return null;
  return taken.has(identity.id) ? `${identity.id.slice(0, 55)}_${hash8(identity.key)}` : identity.id;
}

function reused(layout: Layout, definition: SensorDefinition): SensorDefinition {
  const held = layout.find((slot) => slot.definition?.id === definition.id)?.definition;
  return held && sameDefinition(held, definition) ? held : definition;
}

function sameDefinition(one: SensorDefinition, other: SensorDefinition): boolean {
  const keys = Object.keys(one) as (keyof SensorDefinition)[];
  return keys.every((key) => one[key] === other[key]);
}
