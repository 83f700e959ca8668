import { type BandsByKind, bandsOf } from "./bands.js";
import { futureToleranceMs } from "./freshness.js";
import type { Controller, LayoutSlot, Sensor, SensorDefinition, Source } from "./model.js";
import type { SensorItem } from "./ports.js";
import { recogniseSensor } from "./sensor-names.js";
import { plausibleRange, type SensorKind } from "./sensors.js";
import type { SensorSettings } from "./settings.js";
import { ofWhat } from "./averages.js";
import { normaliseUnit } from "./units.js";

export interface ReadContext {
  readonly receivedAt: number;
  readonly now: number;
  readonly source: Source;
}

/** Defines a sensor from the platform's item and the configuration. */
export function defineSensor(
  item: SensorItem,
  identity: { readonly key: string; readonly id: string },
  settings: SensorSettings | undefined,
  bandsByKind?: BandsByKind,
  isOutdoors = false,
): SensorDefinition {
  const platformUnit = normaliseUnit(item.unit);
  const recognised = recogniseSensor({ ...(item.average ? ofWhat(item) : item), unit: platformUnit });
  const kind = settings?.kind ?? kindByValue(recognised.kind, item.value);
  const unit = settings?.unit === undefined ? platformUnit : normaliseUnit(settings.unit);
  const range = plausibleRange(kind, unit);
  const isAverage = item.average === true;
  const outdoors = isOutdoors || recognised.word?.startsWith("outdoor_") === true;
  const bands = bandsOf({ kind, unit, average: isAverage, outdoors }, settings?.alarm, bandsByKind);
  const platformName = item.name;
  return {
    id: identity.id,
    key: identity.key,
    name: nameOf({ ...identity, platformName, factor: item.factor }, settings),
    platformName,
    factor: item.factor,
    channel: item.channel,
    kind,
    unit,
    decimals: settings?.decimals ?? null,
    numeric: kind !== "other" || typeof item.value === "number" || (item.value === null && unit !== null),
    scale: settings?.scale ?? 1,
    offset: settings?.offset ?? 0,
    min: settings?.min ?? range?.min ?? null,
    max: settings?.max ?? range?.max ?? null,
    staleAfterMs: settings?.staleAfterMs ?? (item.average ? averagesStaleMs : null),
    ...(item.average && { average: true }),
    ...(outdoors && { outdoors }),
    ...(bands !== null && { bands }),
  };
}

const nameOf = (
  { id, platformName, factor }: Pick<SensorDefinition, "id" | "platformName" | "factor">,
  settings: SensorSettings | undefined,
): string => settings?.name ?? (platformName || factor || id);

/** The definition with its present configured name and limits. */
export function renameSensor(
  definition: SensorDefinition,
  settings: SensorSettings | undefined,
  bandsByKind: BandsByKind | undefined,
): SensorDefinition {
  const { bands: before, ...rest } = definition;
  const name = nameOf(definition, settings);
  const bands = bandsOf(definition, settings?.alarm, bandsByKind);
  if (name === definition.name && JSON.stringify(bands) === JSON.stringify(before ?? null)) return definition;
  return { ...rest, name, ...(bands !== null && { bands }) };
}

/** An average of a day is dated by its beginning or end, and is the newest until the next one. */
const averagesStaleMs = 25 * 3_600_000;

// A direction as a word (东北) is a text; any other quantity with a text is unreadable for now.
const kindByValue = (kind: SensorKind, value: SensorItem["value"]): SensorKind =>
  kind === "wind_direction" && typeof value === "string" ? "other" : kind;

interface Judged {
  readonly value: number | string | null;
  readonly fault: Sensor["fault"];
}

function judgeValue(definition: SensorDefinition, item: SensorItem): Judged {
  if (item.value === null) return { value: null, fault: "unreadable" };
  if (!definition.numeric) return { value: String(item.value), fault: null };
  if (typeof item.value !== "number" || !Number.isFinite(item.value))
    return { value: null, fault: "unreadable" };
  const value = plausibleValue(definition, item.value);
  if (value === null) return { value: scale(item.value, definition), fault: "implausible" };
  return { value, fault: null };
}

/** The value of a sensor for a number of the platform; null where it is implausible. */
export function plausibleValue(definition: SensorDefinition, platformValue: number): number | null {
  const value = scale(platformValue, definition);
  return (definition.min !== null && value < definition.min) ||
    (definition.max !== null && value > definition.max)
    ? null
    : value;
}

function scale(value: number, { scale, offset, decimals }: SensorDefinition): number {
  const exact = scale === 1 && offset === 0 ? value : Number((value * scale + offset).toPrecision(12));
  return decimals === null ? exact : Number(exact.toFixed(Math.min(decimals, 12)));
}

/**
 * The sensor after one more reading. A reading older than the held one is ignored, unless the held one is dated in the
 * future. An equal one changes nothing, so that no value gets a new time.
 */
function foldReading(
  held: Sensor | undefined,
  definition: SensorDefinition,
  item: SensorItem,
  context: ReadContext,
): Sensor {
  const isDoubted = held?.isDoubted === true;
  if (held !== undefined && !isDoubted && isOlder(held, item, context.now)) return held;
  const judged = judgeValue(definition, item);
  const value = judged.fault === null ? judged.value : lastGood(isDoubted ? undefined : held, definition);
  if (held !== undefined && !isDoubted && isUnchanged(held, definition, item, judged, value)) return held;
  const words = isMisplacedWord(definition, item) ? (held?.words ?? 0) + 1 : undefined;
  return {
    definition,
    value,
    raw: item.raw,
    measuredAt: item.measuredAt,
    receivedAt: context.receivedAt,
    fault: judged.fault,
    ...(words !== undefined && { words }),
    source: context.source,
    quality: held?.quality ?? "stale",
  };
}

/** After so many words in a row a numeric sensor becomes a text, unless its unit or kind makes it a quantity. */
const wordsUntilText = 3;

const isMisplacedWord = (definition: SensorDefinition, { value }: SensorItem): boolean =>
  definition.numeric && typeof value === "string";

/** Whether this reading turns a sensor into a text; `made` is its definition if it were new. */
export const becomesText = (held: Sensor, made: SensorDefinition, item: SensorItem): boolean =>
  !made.numeric &&
  made.unit === null &&
  isMisplacedWord(held.definition, item) &&
  held.measuredAt !== item.measuredAt &&
  (held.words ?? 0) + 1 >= wordsUntilText;

/** The sensors after readings; `definitionOf` names the sensor of each. The same reference where nothing is new. */
export function foldReadings(
  sensors: Controller["sensors"],
  items: readonly SensorItem[],
  definitionOf: (item: SensorItem, place: number, soFar: Controller["sensors"]) => SensorDefinition | null,
  context: ReadContext,
): Controller["sensors"] {
  let changed: Map<string, Sensor> | null = null;
  for (const [place, item] of items.entries()) {
    const soFar = changed ?? sensors;
    const definition = definitionOf(item, place, soFar);
    if (definition === null) continue;
    const held = soFar.get(definition.id);
    const next = foldReading(held, definition, item, context);
    if (next === held) continue;
    changed ??= new Map(sensors);
    changed.set(definition.id, next);
  }
  return changed ?? sensors;
}

const isOlder = (held: Sensor, item: SensorItem, now: number) =>
  held.measuredAt !== null &&
  item.measuredAt !== null &&
  item.measuredAt < held.measuredAt &&
  held.measuredAt <= now + futureToleranceMs;

// Without a usable time only the arrival shows its age, so such a reading always counts as new.
const isUnchanged = (
  held: Sensor,
  definition: SensorDefinition,
  item: SensorItem,
  judged: Judged,
  value: Sensor["value"],
) =>
  item.measuredAt !== null &&
  held.measuredAt === item.measuredAt &&
  held.definition === definition &&
  held.value === value &&
  held.raw === item.raw &&
  held.fault === judged.fault;

/** A value in another unit or scale is no value of the sensor as now defined. */
function lastGood(held: Sensor | undefined, definition: SensorDefinition): Sensor["value"] {
  if (held === undefined) return null;
  const { unit, scale, offset, numeric } = held.definition;
  const same = unit === definition.unit && scale === definition.scale && offset === definition.offset;
  return same && numeric === definition.numeric ? held.value : null;
}

/* Pushed values only update what reads have shown: a push may be partial, so it never makes or redefines a sensor. */

/** The sensors after pushed readings; the same reference where nothing is new. */
export const foldPushedReadings = (
  { layout, sensors }: Controller,
  items: readonly SensorItem[],
  context: ReadContext,
): Controller["sensors"] =>
  foldReadings(
    sensors,
    items,
    (item, _place, soFar) => {
      const definition = definitionOf(layout, item);
      if (definition === null || isDated(item, context.now)) return definition;
      const held = soFar.get(definition.id);
      // A reading that waited in a queue may be older than one read meanwhile.
      return held?.measuredAt === null && held.receivedAt <= context.receivedAt ? definition : null;
    },
    context,
  );

/** Whether a pushed reading has a usable time; without one it may be older than a dated one. */
export const isDated = ({ measuredAt }: SensorItem, now: number): boolean =>
  measuredAt !== null && measuredAt <= now + futureToleranceMs;

/** The only sensor that fits all that the item says; null for none or several. */
function definitionOf(layout: readonly LayoutSlot[], item: SensorItem): SensorDefinition | null {
  const fitting = layout.filter((slot) => isMeant(slot, item));
  const [slot] = fitting;
  return fitting.length === 1 && slot?.provisional === false ? slot.definition : null;
}

const isMeant = (slot: LayoutSlot, { name, factor, channel, unit }: SensorItem): boolean =>
  (name !== "" || factor !== null || channel !== null) &&
  (name === "" || name === slot.name) &&
  (factor === null || factor === slot.factor) &&
  (channel === null || channel === slot.channel) &&
  (unit === null || unit === slot.unit);
