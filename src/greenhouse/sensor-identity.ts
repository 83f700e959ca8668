import type { BandsByKind } from "./bands.js";
import { isWeatherStation } from "./device-types.js";
import { becomesText, defineSensor } from "./fold-sensors.js";
import type { Controller, LayoutSlot, Sensor, SensorDefinition } from "./model.js";
import type { SensorItem } from "./ports.js";
import { catalogueWord } from "./sensor-names.js";
import type { SensorSettings } from "./settings.js";
import { assignIds, hash8, type Transliterate } from "./topic-ids.js";

/* Identifies the sensor of each item in an answer: its key, its id, and its place among known sensors. */

/**
 * The sensor of each item. Answers look alike from poll to poll, so the last layout is kept, by reference, while it
 * fits.
 */
export function layoutFor(
  items: readonly SensorItem[],
  controller: Known,
  { transliterate, firstLayouts = new Map(), bands }: LayoutContext,
): readonly LayoutSlot[] {
  const { layout, sensors, settings } = controller;
  if (layout.length === items.length && items.every((item, place) => fits(layout[place], item, sensors)))
    return layout;
  const isFirst = layout.length + (sensors?.size ?? 0) + (settings?.sensors.length ?? 0) === 0;
  if (!isFirst) return newLayout(items, controller, transliterate, bands);
  const key = JSON.stringify([isWeatherStation(controller.info?.type ?? null), items.map(whatDecides)]);
  const known = firstLayouts.get(key) ?? newLayout(items, controller, transliterate, bands);
  if (firstLayouts.size >= mostFirstLayouts) firstLayouts.clear();
  firstLayouts.set(key, known);
  return known;
}

/**
 * Layouts of first answers by everything that determines them, where nothing is configured. Greenhouses of an account
 * are alike, so each layout is made only once.
 */
export type FirstLayouts = Map<string, readonly LayoutSlot[]>;

/** The inputs for all layouts of an account. */
interface LayoutContext {
  readonly transliterate: Transliterate;
  readonly firstLayouts?: FirstLayouts;
  readonly bands?: BandsByKind;
}

const mostFirstLayouts = 100;

const whatDecides = ({ name, factor, channel, unit, value }: SensorItem) => [
  ...[name, factor, channel, unit],
  value === null ? null : typeof value,
];

const fits = (slot: LayoutSlot | undefined, item: SensorItem, sensors: Known["sensors"]) =>
  slot !== undefined &&
  slot.name === item.name &&
  slot.factor === item.factor &&
  slot.channel === item.channel &&
  slot.unit === item.unit &&
  !(slot.provisional && item.value !== null) &&
  !(typeof item.value === "string" && mayBecomeText(slot, item, sensors));

/** Whether a sensor has to be defined again, as it shows words. */
function mayBecomeText({ definition }: LayoutSlot, item: SensorItem, sensors: Known["sensors"]): boolean {
  // Every other kind is a quantity, whatever it shows.
  if (definition?.kind !== "other" && definition?.kind !== "wind_direction") return false;
  const held = sensors?.get(definition.id);
  return held !== undefined && becomesText(held, { ...held.definition, numeric: false }, item);
}

type Known = Pick<Controller, "layout"> & {
  readonly settings: { readonly sensors: readonly SensorSettings[] } | null;
} & Partial<Pick<Controller, "sensors" | "info">>;

/**
 * Whether every sensor is the same with and without an entry of the configuration that says of one no more than `from`: then what else it
 * says needs no new topic.
 */
export function isNoOtherSensor(
  { layout, settings }: Pick<Controller, "layout" | "settings">,
  id: string,
  from: string,
  transliterate: Transliterate,
): boolean {
  const items = layout.map(({ name, factor, channel, unit }) => ({
    ...{ name, factor, channel, unit, value: null, raw: null, measuredAt: null },
  }));
  const own = { id, from, ignore: false };
  const others = (settings?.sensors ?? []).filter((one) => one.id !== id);
  const told = (slots: readonly LayoutSlot[]) =>
    JSON.stringify(slots.map(({ definition }) => definition && [definition.id, definition.key]));
  const by = (sensors: readonly SensorSettings[]) =>
    told(newLayout(items, { layout: [], settings: { sensors } }, transliterate, undefined));
  const now = told(layout);
  return (
    layout.some(({ definition }) => definition?.id === id) &&
    [others, [own, ...others], [...others, own]].every((sensors) => by(sensors) === now)
  );
}

function newLayout(
  items: readonly SensorItem[],
  controller: Known,
  transliterate: Transliterate,
  bands: BandsByKind | undefined,
): readonly LayoutSlot[] {
  const known = knownSensors(controller);
  const knownAt = heldBy(items, known);
  const identities = identitiesOf(items, knownAt, known, transliterate);
  const configured = controller.settings?.sensors ?? [];
  const settings = new Map([
    ...settingsByPlace(items, identities, configured),
    ...twinsIn(items, configured),
  ]);
  const taken = new Set([...configured, ...known.values()].map(({ id }) => id));
  const used = new Set<string>();
  const isOutdoors = isWeatherStation(controller.info?.type ?? null);
  return items.map((item, place): LayoutSlot => {
    const identity = identities[place] ?? null;
    const own = settings.get(place);
    const old = knownAt.get(place);
    const id = own?.id ?? (identity === null ? null : (old?.id ?? freeId(identity, taken)));
    const twin = own === undefined || twinOf(own.from) === null ? null : `${twinKey}${own.from}`;
    const isLeftOut =
      (identity === null && twin === null) || own?.ignore === true || id === null || used.has(id);
    const held = id === null ? undefined : controller.sensors?.get(id);
    const key = twin ?? old?.key ?? identity?.key ?? "";
    const before = twin === null ? old : undefined;
    const by = { own, old: before, held, bands, isOutdoors };
    const definition = isLeftOut ? null : define(item, { key, id }, by);
    if (definition) used.add(definition.id);
    if (definition) taken.add(definition.id);
    const provisional = item.value === null && definition?.kind === "other" && definition.unit === null;
    const { name, factor, channel, unit } = item;
    return { name, factor, channel, unit, definition, provisional };
  });
}

/** What tells sensors of one answer apart. */
export const traitsOf = ({ name, factor, channel }: SensorTraits) => JSON.stringify([name, factor, channel]);
const traitsOfDefinition = ({ platformName: name, factor, channel }: SensorDefinition): SensorTraits => ({
  name,
  factor,
  channel,
});

/** Every known sensor by its traits on the platform. */
function knownSensors({ layout, sensors }: Known): ReadonlyMap<string, SensorDefinition> {
  const definitions = [
    ...layout.flatMap(({ definition }) => definition ?? []),
    ...[...(sensors?.values() ?? [])].map((one) => one.definition),
  ];
  // A twin has the traits of another sensor, so they do not identify it.
  return new Map(
    definitions.flatMap((definition) =>
      definition.key.startsWith(twinKey) ? [] : [[traitsOf(traitsOfDefinition(definition)), definition]],
    ),
  );
}

/**
 * The known sensor of each item by place: one with the same traits, or a renamed one with the same code and channel.
 */
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

/**
 * Keys and ids of the items, made together with missing known sensors: one that is missing once must not change
 * another's id.
 */
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

/**
 * The configured sensor of each item. An exact match comes first; a setting that fits several items goes to the first
 * by key, not by place.
 */
function settingsByPlace(
  items: readonly SensorItem[],
  identities: readonly ({ readonly key: string; readonly id: string } | null)[],
  settings: readonly SensorSettings[],
): ReadonlyMap<number, SensorSettings> {
  const byPlace = new Map<number, SensorSettings>();
  const given = new Set<SensorSettings>();
  const rounds = [isExactly, isNamedBy].flatMap((fits) => settings.map((sensor) => ({ sensor, fits })));
  for (const { sensor, fits } of rounds) {
    if (given.has(sensor)) continue;
    let chosen: { readonly place: number; readonly order: string } | null = null;
    for (const [place, item] of items.entries()) {
      const identity = identities[place];
      if (!identity || byPlace.has(place) || !fits(sensor.from, item, identity.id)) continue;
      const order = keyOrder(identity.key);
      if (chosen === null || order < chosen.order) chosen = { place, order };
    }
    if (chosen === null) continue;
    byPlace.set(chosen.place, sensor);
    given.add(sensor);
  }
  return byPlace;
}

/** A sort key in which numeric channels are ordered as numbers: 2 before 10. */
const keyOrder = (key: string): string =>
  key.replace(/(?<=^channel:|^factor:[^@]*@)\d+(?=~|$)/, (channel) => channel.padStart(64, "0"));

/** Prefix of the key of a sensor that only its place identifies. */
const twinKey = "place:";

/** `空气温度#2` is the second item with that name or code; null for any other `from`. */
function twinOf(from: string): { readonly name: string; readonly nth: number } | null {
  const [, name, nth] = /^(.+)#([1-9]\d?)$/u.exec(from) ?? [];
  return name === undefined ? null : { name, nth: Number(nth) };
}

/** Configured sensors that are identified by their place among equal names or codes, by place of the item. */
function twinsIn(
  items: readonly SensorItem[],
  settings: readonly SensorSettings[],
): ReadonlyMap<number, SensorSettings> {
  const found = new Map<number, SensorSettings>();
  for (const sensor of settings) {
    const twin = twinOf(sensor.from);
    if (twin === null) continue;
    const places = items.flatMap(({ name, factor }, place) =>
      name === twin.name || factor === twin.name ? [place] : [],
    );
    const place = places[twin.nth - 1];
    if (place !== undefined) found.set(place, sensor);
  }
  return found;
}

/** Items that only their place distinguishes from an earlier one, as `from` spells them. */
export function unnamedTwins(items: readonly SensorTraits[]): readonly string[] {
  const counts = new Map<string, number>();
  return items.flatMap((item) => {
    const key = traitsOf(item);
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    return nth === 1 ? [] : [`${item.name || (item.factor ?? "")}#${nth}`];
  });
}

/** `from` is the exact name or factor code, which several sensors may share. */
const isNamedBy = (from: string, { name, factor }: SensorItem): boolean => from === name || from === factor;

/** `from` is `name@channel`, or the id. */
const isExactly = (from: string, item: SensorItem, id: string): boolean =>
  !isNamedBy(from, item) &&
  (from === id ||
    (item.channel !== null &&
      [item.name, item.factor ?? ""].some((name) => from === `${name}@${item.channel}`)));

// An id of another sensor is never used a second time.
const freeId = (
  identity: { readonly id: string; readonly key: string },
  taken: ReadonlySet<string>,
): string => (taken.has(identity.id) ? `${identity.id.slice(0, 55)}_${hash8(identity.key)}` : identity.id);

interface DefinedBy {
  readonly own: SensorSettings | undefined;
  readonly old: SensorDefinition | undefined;
  readonly held: Sensor | undefined;
  readonly bands: BandsByKind | undefined;
  readonly isOutdoors: boolean;
}

/**
 * The definition of an item, or the old one where nothing changed. A numeric sensor becomes a text only after several
 * words in a row.
 */
function define(
  item: SensorItem,
  identity: { readonly key: string; readonly id: string },
  { own, old, held, bands, isOutdoors }: DefinedBy,
): SensorDefinition {
  const made = defineSensor(item, identity, own, bands, isOutdoors);
  const isText = held !== undefined && becomesText(held, made, item);
  const stays = old !== undefined && !isText && (old.numeric || item.value === null);
  const definition = stays ? { ...made, numeric: old.numeric } : made;
  return old && sameDefinition(old, definition) ? old : definition;
}

function sameDefinition(one: SensorDefinition, other: SensorDefinition): boolean {
  const keys = Object.keys(one) as (keyof SensorDefinition)[];
  return keys.every((key) => one[key] === other[key] || (key === "bands" && haveSameBands(one, other)));
}

/** Compared by content, as they are made anew from the configuration. */
const haveSameBands = ({ bands: one }: SensorDefinition, { bands: other }: SensorDefinition): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The traits that distinguish sensors of an answer. */
export type SensorTraits = Pick<SensorItem, "name" | "factor" | "channel">;

interface SensorIdentity {
  /** `factor:ecfii`, `channel:3`, `name:空气温度`; or, where that is shared, `factor:t@2` or `channel:1~空气湿度`. */
  readonly key: string;
  readonly id: string;
}

/** The key of a sensor that shares it with no other: its code, else its channel, else its name. */
export function sensorKey({ name, factor, channel }: SensorTraits): string {
  if (isGiven(factor)) return `factor:${keyPart(factor.trim())}`;
  return isGiven(channel) ? `channel:${keyPart(channel.trim())}` : `name:${keyPart(name)}`;
}

/**
 * Key and id of every item of an answer, in the items' order; null for an item that equals an earlier one. Items with a
 * shared code differ by channel, then by name, never by place, so their order does not matter.
 */
export function identifySensors(
  items: readonly SensorTraits[],
  transliterate?: Transliterate,
): readonly (SensorIdentity | null)[] {
  const codes = distinctBy(items, sensorKey, (item) => (isGiven(item.factor) ? channelOf(item) : ""));
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

const isGiven = (code: string | null): code is string => code !== null && code.trim() !== "";
const channelOf = ({ channel }: SensorTraits): string =>
  isGiven(channel) ? `@${keyPart(channel.trim())}` : "";

function wantedId(
  { name, factor, channel }: SensorTraits,
  sharesFactor: boolean,
  needsName: boolean,
): string {
  const ownName = catalogueWord(name) ?? name;
  const parts: string[] = [];
  if (isGiven(factor)) parts.push(factor.trim());
  else if (isGiven(channel)) parts.push("channel");
  else return ownName;
  if (isGiven(channel) && (sharesFactor || !isGiven(factor))) parts.push(channel.trim());
  if (needsName && name !== "") parts.push(ownName);
  return parts.join("_");
}

/** A text inside a key: kept if unambiguous and safe for every output, else hashed. */
function keyPart(text: string): string {
  if (/^[^\p{Cc}\p{Cs}@~%]{0,64}$/u.test(text)) return text;
  const readable = Array.from(text.slice(0, 128))
    .slice(0, 40)
    .join("")
    .replace(/[\p{Cc}\p{Cs}@~%]/gu, "_");
  return `${readable}%${hash8(text)}`;
}
