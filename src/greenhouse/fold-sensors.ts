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

/** A definition from what the platform wrote and what the configuration says about it. */
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

/** The same sensor with the name and the limits that the configuration gives it now. */
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

/** An average of a day is dated by its beginning or its end, and is the newest that there is until the next one. */
const averagesStaleMs = 25 * 3_600_000;

// A direction written as a word (东北) is a text; any other quantity that shows a text is unreadable for now.
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

/** What a number of the platform's is as a value of the sensor; null where it cannot be. */
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
 * The sensor after one more reading. An older reading than the one held is ignored, unless the one held claims the
 * future; an equal one leaves the sensor as it is, so that a value is never stamped anew.
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

/** So many words in a row make a text of a sensor that showed numbers, unless a unit or its kind says that it is a quantity. */
const wordsUntilText = 3;

const isMisplacedWord = (definition: SensorDefinition, { value }: SensorItem): boolean =>
  definition.numeric && typeof value === "string";

/** Whether with this reading a sensor is no number any more; `made` is what it would be if it were seen for the first time. */
export const becomesText = (held: Sensor, made: SensorDefinition, item: SensorItem): boolean =>
  !made.numeric &&
  made.unit === null &&
  isMisplacedWord(held.definition, item) &&
  held.measuredAt !== item.measuredAt &&
  (held.words ?? 0) + 1 >= wordsUntilText;

/** The sensors after readings, each of the sensor that `definitionOf` names; the same reference when they brought no news. */
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

// Without a usable time the arrival is all there is to judge age by, so such a reading always counts as new.
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

/** A value measured in another unit, or scaled otherwise, is no value of the sensor as it is defined now. */
function lastGood(held: Sensor | undefined, definition: SensorDefinition): Sensor["value"] {
  if (held === undefined) return null;
  const { unit, scale, offset, numeric } = held.definition;
  const same = unit === definition.unit && scale === definition.scale && offset === definition.offset;
  return same && numeric === definition.numeric ? held.value : null;
}

/*
 * What was pushed is folded into what reads have shown before: a push may bring a part only, so it never makes a new
 * sensor and never changes what an old one is.
 */

/** The sensors after pushed readings; the same reference when they brought no news. */
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
      // What waited to be read may be older than what was read meanwhile.
      return held?.measuredAt === null && held.receivedAt <= context.receivedAt ? definition : null;
    },
    context,
  );

/** Whether a pushed reading says when it was measured; one without is no newer than a dated one for all we know. */
export const isDated = ({ measuredAt }: SensorItem, now: number): boolean =>
  measuredAt !== null && measuredAt <= now + futureToleranceMs;

/** The one sensor that fits everything the item says of itself. */
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
