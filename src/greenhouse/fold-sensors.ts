import { futureToleranceMs } from "./freshness.js";
import type { Controller, LayoutSlot, Sensor, SensorDefinition, Source } from "./model.js";
import type { SensorItem } from "./ports.js";
import { catalogueWord, recogniseSensor } from "./sensor-names.js";
import { plausibleRange, type SensorKind } from "./sensors.js";
import type { SensorSettings } from "./settings.js";
import { assignIds, hash8, type Transliterate } from "./topic-ids.js";
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
): SensorDefinition {
  const platformUnit = normaliseUnit(item.unit);
  const recognised = recogniseSensor({ name: item.name, factor: item.factor, unit: platformUnit });
  const kind = settings?.kind ?? kindByValue(recognised.kind, item.value);
  const unit = settings?.unit === undefined ? platformUnit : normaliseUnit(settings.unit);
  const range = plausibleRange(kind, unit);
  return {
    id: identity.id,
    key: identity.key,
    name: settings?.name ?? (item.name || item.factor || identity.id),
    platformName: item.name,
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
    staleAfterMs: settings?.staleAfterMs ?? null,
  };
}

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
  const value = scaled(item.value, definition);
  const { min, max } = definition;
  if ((min !== null && value < min) || (max !== null && value > max)) return { value, fault: "implausible" };
  return { value, fault: null };
}

function scaled(value: number, { scale, offset, decimals }: SensorDefinition): number {
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
  if (held !== undefined && isOlder(held, item, context.now)) return held;
  const judged = judgeValue(definition, item);
  const value = judged.fault === null ? judged.value : lastGood(held, definition);
  if (held !== undefined && unchanged(held, definition, item, judged, value)) return held;
  return {
    definition,
    value,
    raw: item.raw,
    measuredAt: item.measuredAt,
    receivedAt: context.receivedAt,
    fault: judged.fault,
    source: context.source,
    quality: held?.quality ?? "stale",
  };
}

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
const unchanged = (
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

/**
 * For each item of an answer the sensor it belongs to. Answers look alike from poll to poll, so the layout of the last
 * one is kept, by reference, while it fits.
 */
export function layoutFor(
  items: readonly SensorItem[],
  controller: Known,
  transliterate: Transliterate,
): readonly LayoutSlot[] {
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

type Known = Pick<Controller, "layout" | "settings"> & Partial<Pick<Controller, "sensors">>;

function newLayout(
  items: readonly SensorItem[],
  controller: Known,
  transliterate: Transliterate,
): readonly LayoutSlot[] {
  const known = knownSensors(controller);
  const held = heldBy(items, known);
  const identities = identitiesOf(items, held, known, transliterate);
  const configured = controller.settings?.sensors ?? [];
  const settings = settingsByPlace(items, identities, configured);
  const taken = new Set([...configured, ...known.values()].map(({ id }) => id));
  const used = new Set<string>();
  return items.map((item, place): LayoutSlot => {
    const identity = identities[place] ?? null;
    const own = settings.get(place);
    const old = held.get(place);
    const id = own?.id ?? (identity === null ? null : (old?.id ?? freeId(identity, taken)));
    const isLeftOut = identity === null || own?.ignore === true || id === null || used.has(id);
    const definition = isLeftOut ? null : defined(item, { key: old?.key ?? identity.key, id }, own, old);
    if (definition) used.add(definition.id);
    if (definition) taken.add(definition.id);
    const provisional = item.value === null && definition?.kind === "other" && definition.unit === null;
    const { name, factor, channel, unit } = item;
    return { name, factor, channel, unit, definition, provisional };
  });
}

const traitsOf = ({ name, factor, channel }: SensorTraits) => JSON.stringify([name, factor, channel]);
const traitsOfDefinition = ({ platformName: name, factor, channel }: SensorDefinition): SensorTraits => ({
  name,
  factor,
  channel,
});

/** Every sensor seen so far, by what the platform wrote. */
function knownSensors({ layout, sensors }: Known): ReadonlyMap<string, SensorDefinition> {
  const definitions = [
    ...layout.flatMap(({ definition }) => definition ?? []),
    ...[...(sensors?.values() ?? [])].map((one) => one.definition),
  ];
  return new Map(definitions.map((definition) => [traitsOf(traitsOfDefinition(definition)), definition]));
}

/** Which known sensor an item is, by place: the same in every trait, or one with the same code that was renamed. */
function heldBy(
  items: readonly SensorItem[],
  known: ReadonlyMap<string, SensorDefinition>,
): ReadonlyMap<number, SensorDefinition> {
  const present = new Set(items.map(traitsOf));
  const gone = [...known].filter(([traits]) => !present.has(traits)).map(([, definition]) => definition);
  const held = new Map<number, SensorDefinition>();
  const assigned = new Set<SensorDefinition>();
  for (const [place, item] of items.entries()) {
    const same =
      known.get(traitsOf(item)) ??
      (item.factor === null && item.channel === null ? undefined : gone.find(isCode(item)));
    if (same && !assigned.has(same)) {
      held.set(place, same);
      assigned.add(same);
    }
  }
  return held;
}

const isCode =
  ({ factor, channel }: SensorTraits) =>
  (definition: SensorDefinition) =>
    definition.factor === factor && definition.channel === channel;

/** Identified together with the sensors seen before: one that is missing for once must not change another's id. */
function identitiesOf(
  items: readonly SensorItem[],
  held: ReadonlyMap<number, SensorDefinition>,
  known: ReadonlyMap<string, SensorDefinition>,
  transliterate: Transliterate,
) {
  const present = new Set(held.values());
  const missing = [...known.values()]
    .filter((definition) => !present.has(definition))
    .map(traitsOfDefinition);
  return identifySensors([...items, ...missing], transliterate).slice(0, items.length);
}

/** The configured sensor of each item; one that fits several items is given to the first by key, not by place. */
function settingsByPlace(
  items: readonly SensorItem[],
  identities: readonly ({ readonly key: string; readonly id: string } | null)[],
  settings: readonly SensorSettings[],
): ReadonlyMap<number, SensorSettings> {
  const byPlace = new Map<number, SensorSettings>();
  for (const sensor of settings) {
    let chosen: { readonly place: number; readonly key: string } | null = null;
    for (const [place, item] of items.entries()) {
      const identity = identities[place];
      if (!identity || byPlace.has(place) || !isFrom(sensor.from, item, identity.id)) continue;
      if (chosen === null || identity.key < chosen.key) chosen = { place, key: identity.key };
    }
    if (chosen) byPlace.set(chosen.place, sensor);
  }
  return byPlace;
}

/** `from` names a sensor by its exact name, its factor code, its id, or `name@channel`. */
function isFrom(from: string, item: SensorItem, id: string): boolean {
  if (from === item.name || from === item.factor || from === id) return true;
  return (
    item.channel !== null &&
    (from === `${item.name}@${item.channel}` || from === `${item.factor ?? ""}@${item.channel}`)
  );
}

// An id that was given to another sensor is never given out a second time.
const freeId = (
  identity: { readonly id: string; readonly key: string },
  taken: ReadonlySet<string>,
): string => (taken.has(identity.id) ? `${identity.id.slice(0, 55)}_${hash8(identity.key)}` : identity.id);

/** The held definition where nothing about it changed. A sensor that showed numbers does not become a text. */
function defined(
  item: SensorItem,
  identity: { readonly key: string; readonly id: string },
  own: SensorSettings | undefined,
  held: SensorDefinition | undefined,
): SensorDefinition {
  const made = defineSensor(item, identity, own);
  const stays = held !== undefined && (held.numeric || item.value === null);
  const definition = stays ? { ...made, numeric: held.numeric } : made;
  return held && sameDefinition(held, definition) ? held : definition;
}

function sameDefinition(one: SensorDefinition, other: SensorDefinition): boolean {
  const keys = Object.keys(one) as (keyof SensorDefinition)[];
  return keys.every((key) => one[key] === other[key]);
}

/** What tells one sensor of an answer from another. */
export type SensorTraits = Pick<SensorItem, "name" | "factor" | "channel">;

interface SensorIdentity {
  /** `factor:ecfii`, `channel:3`, `name:空气温度`; where that is shared `factor:t@2` or `channel:1~空气湿度`. */
  readonly key: string;
  readonly id: string;
}

/** The first the platform gives of code, channel and name: what a sensor is known by while nothing shares it. */
export function sensorKey({ name, factor, channel }: SensorTraits): string {
  if (given(factor)) return `factor:${keyPart(factor.trim())}`;
  return given(channel) ? `channel:${keyPart(channel.trim())}` : `name:${keyPart(name)}`;
}

/**
 * Key and id of every item of one answer, in the items' order; null for an item that nothing tells from an earlier one.
 * Items that share a code are told apart by channel, then by name, never by place: their order does not matter.
 */
export function identifySensors(
  items: readonly SensorTraits[],
  transliterate?: Transliterate,
): readonly (SensorIdentity | null)[] {
  const codes = distinctBy(items, sensorKey, (item) => (given(item.factor) ? channelOf(item) : ""));
  const withChannel = (item: SensorTraits) =>
    sensorKey(item) + (isShared(codes, sensorKey(item)) ? channelOf(item) : "");
  const channels = distinctBy(items, withChannel, (item) => item.name);
  const wanted = new Map<string, string>();
  const keys = items.map((item) => {
    const code = withChannel(item);
    const needsName = isShared(channels, code);
    const key = needsName ? `${code}~${keyPart(item.name)}` : code;
    if (wanted.has(key)) return null;
    wanted.set(key, wantedId(item, isShared(codes, sensorKey(item)), needsName));
    return key;
  });
  const asked = Array.from(wanted, ([key, text]) => ({ key, wanted: text }));
  const ids = assignIds(asked, { transliterate });
  return keys.map((key) => {
    const id = key === null ? undefined : ids.get(key);
    return key === null || id === undefined ? null : { key, id };
  });
}

type Distinct = ReadonlyMap<string, ReadonlySet<string>>;

function distinctBy(
  items: readonly SensorTraits[],
  groupOf: (item: SensorTraits) => string,
  traitOf: (item: SensorTraits) => string,
): Distinct {
  const groups = new Map<string, Set<string>>();
  for (const item of items) {
    const group = groups.get(groupOf(item)) ?? new Set();
    groups.set(groupOf(item), group.add(traitOf(item)));
  }
  return groups;
}

const isShared = (groups: Distinct, group: string): boolean => (groups.get(group)?.size ?? 0) > 1;

const given = (code: string | null): code is string => code !== null && code.trim() !== "";
const channelOf = ({ channel }: SensorTraits): string =>
  given(channel) ? `@${keyPart(channel.trim())}` : "";

function wantedId(
  { name, factor, channel }: SensorTraits,
  sharesFactor: boolean,
  needsName: boolean,
): string {
  const ownName = catalogueWord(name) ?? name;
  const parts: string[] = [];
  if (given(factor)) parts.push(factor.trim());
  else if (given(channel)) parts.push("channel");
  else return ownName;
  if (given(channel) && (sharesFactor || !given(factor))) parts.push(channel.trim());
  if (needsName && name !== "") parts.push(ownName);
  return parts.join("_");
}

/** A text inside a key: kept where it cannot be mistaken for something else and every outlet can carry it, else hashed. */
function keyPart(text: string): string {
  if (/^[^\p{Cc}\p{Cs}@~%]{0,64}$/u.test(text)) return text;
  const readable = Array.from(text.slice(0, 128))
    .slice(0, 40)
    .join("")
    .replace(/[\p{Cc}\p{Cs}@~%]/gu, "_");
  return `${readable}%${hash8(text)}`;
}
