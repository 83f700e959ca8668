import type { Language } from "./labels.js";
import { compact, digits, type Kinds, kindWithUnit, readable } from "./sensor-name-spelling.js";
import {
  catalogue,
  type Catalogue,
  kindsOfCode,
  type Place,
  type Quantity,
  statusWord,
} from "./sensor-name-tables.js";
import type { SensorKind } from "./sensors.js";
import { knownUnit, normaliseUnit } from "./units.js";

const maxPlaces = 3;

/**
 * The quantity of a compact name: by itself, or with names of places before or after it. Every character has to be
 * understood, so `温度报警` is no temperature.
 */
function composedQuantity(name: string): Quantity | null {
  const known = catalogue();
  return known.quantities.get(`-/${name}`) ?? placesThen(known, name, []) ?? thenPlace(known, name);
}

function placesThen(known: Catalogue, rest: string, places: readonly Place[]): Quantity | null {
  if (places.length > 0) {
    const quantity = quantityAt(known, rest, places);
    if (quantity !== null) return quantity;
  }
  if (places.length === maxPlaces) return null;
  for (let length = Math.min(known.longestPlace, rest.length - 1); length > 0; length--) {
    const place = known.places.get(rest.slice(0, length));
    if (place === undefined || places.some(({ group }) => group === place.group)) continue;
    const quantity = placesThen(known, rest.slice(length), [...places, place]);
    if (quantity !== null) return quantity;
  }
  return null;
}

// `temperature outside`, and 温度(室外) after its brackets are removed.
function thenPlace(known: Catalogue, name: string): Quantity | null {
  for (let length = Math.min(known.longestPlace, name.length - 1); length > 0; length--) {
    const place = known.places.get(name.slice(-length));
    const quantity = place && placesThen(known, name.slice(0, -length), [place]);
    if (quantity) return quantity;
  }
  return null;
}

function quantityAt(known: Catalogue, name: string, places: readonly Place[]): Quantity | null {
  for (const placeClass of classesOf(places)) {
    const quantity = known.quantities.get(`${placeClass}/${name}`);
    if (quantity === undefined) continue;
    const words = [...places.map(({ word }) => word), quantity.word].filter((word) => word !== "");
    const chinese = [...places, quantity].map((part) => part.chinese);
    return {
      ...quantity,
      word: words.join("_"),
      chinese: chinese.includes(null) ? null : chinese.join(""),
    };
  }
  return null;
}

// The medium decides which quantities fit; the side of the glass only without a medium.
function classesOf(places: readonly Place[]): readonly string[] {
  const medium = places.find(({ group }) => group === "medium");
  if (medium !== undefined) return [medium.class];
  return places.some(({ group }) => group === "side") ? ["o", "a"] : ["-"];
}

/** A name without one part. That part goes to the end of the word, or is the unit. */
interface Shortened {
  readonly rest: string;
  readonly part: "index" | "depth" | "zone" | "unit" | "noise" | "order";
  readonly says: string;
}

type Rule = readonly [pattern: RegExp, read: (match: RegExpExecArray) => Shortened | null];

const han = "\\p{Script=Han}";
const group = (match: RegExpExecArray, place: number): string => match[place] ?? "";
const rule = (pattern: string, read: Rule[1]): Rule => [new RegExp(pattern, "u"), read];

/** Takes the part from group `value`; the other two groups, in order, are the rest. */
const taking =
  (part: Shortened["part"], says: (value: string) => string, value: 1 | 2 | 3) =>
  (match: RegExpExecArray): Shortened => ({
    rest: [1, 2, 3]
      .filter((place) => place !== value)
      .map((place) => group(match, place))
      .join(""),
    part,
    says: says(group(match, value)),
  });

const index = (value: 1 | 2 | 3) => taking("index", (text) => digits(text).replace(/[-.]/gu, "_"), value);
const depth = (value: 1 | 2 | 3) => taking("depth", (text) => `${text}cm`, value);
const zone = (match: RegExpExecArray): Shortened => ({
  rest: group(match, 3),
  part: "zone",
  says: `${/区|zone/u.test(match[0]) ? "zone" : "house"}_${digits(group(match, 1) || group(match, 2))}`,
});

function readBrackets(inside: string, rest: string): Shortened | null {
  const [, number] = /^(?:no\.?|#)? ?(\d{1,3}|[ab]|[一二三四五六七八九十]) ?[号#]?$/u.exec(inside) ?? [];
  if (number !== undefined) return { rest, part: "index", says: digits(number) };
  const [, centimetres] = /^(\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?$/u.exec(inside) ?? [];
  if (centimetres !== undefined) return { rest, part: "depth", says: `${centimetres}cm` };
  const unit = knownUnit(inside);
  if (unit !== null) return { rest, part: "unit", says: unit };
  return { rest: inside + rest, part: "order", says: "" };
}

const noise =
  "传感器|感应器|变送器|探头|检测|监测|采集|测量值|测量|实时值|当前值|反馈值|反馈|数值|读数|值|sensor|probe|value|reading|feedback|meter";
const written = "°[cf]|%(?:rh)?|ppm|k?lux|klx|lx|hpa|kpa|mpa|mm|[a-zμ]{1,4}\\d?/[a-zμ]{1,3}[2³3]?(?:/s)?";

// Rules in the order of use; names are `readable`. One final digit is tried before two, or CO21 would be CO 21.
const rules: readonly Rule[] = [
  rule("^(.+?) ?\\(([^()]+)\\)$", (match) => readBrackets(group(match, 2).trim(), group(match, 1))),
  rule("^\\(([^()]+)\\) ?(.+)$", (match) => readBrackets(group(match, 1).trim(), group(match, 2))),
  rule(`^(.+?)(?:[ /:,_-]+|(?<=${han}))(${written})$`, (match) => {
    const unit = knownUnit(group(match, 2));
    return unit === null ? null : { rest: group(match, 1), part: "unit", says: unit };
  }),
  rule(`^(.+?)[ _-]?(?:${noise})$`, (match) => ({ rest: group(match, 1), part: "noise", says: "" })),
  rule("^(.+?)[ _-]*?(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?$", depth(2)),
  rule("^(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?[ _-]?(.+)$", depth(1)),
  rule("^(土壤|地下|土|soil|ground) ?(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?(.+)$", depth(2)),
  rule("^(.+?)(?:[ _#:-]|no\\.?)+(\\d{1,4}(?:[-.]\\d{1,3})?) ?[#号]?$", index(2)),
  rule("^(.+?)(\\d{1,3}[-.]\\d{1,3})$", index(2)),
  rule("^(.+)(\\d) ?[#号]?$", index(2)),
  rule("^(.+)(\\d\\d) ?[#号]?$", index(2)),
  rule("^(.+)(\\d{3,4}) ?[#号]?$", index(2)),
  rule(`^(.*${han})([一二三四五六七八九十])号?$`, index(2)),
  rule(`^(.*${han})[ _-]?([a-h])$`, index(2)),
  rule("^(.+)[ _-]([a-h])$", index(2)),
  rule("^(\\d{1,3}|[a-h]|[一二三四五六七八九十])()号?(?:区|温室|大棚|棚)[ _-]?(.+)$", zone),
  rule("^(?:zone|greenhouse|house|bay)[ _-]?()(\\d{1,3}|[a-h])[ _-]+(.+)$", zone),
  rule("^(?:no\\.?)?(\\d{1,3}|[一二三四五六七八九十]) ?[#号][ _-]?(.+)$", index(1)),
  rule("^([a-h])[号#]?([罐桶池液肥].+)$", index(1)),
  rule(`^(${han}+?) ?(\\d{1,3}) ?[#号]?(${han}.*)$`, index(2)),
];

/** Every way to remove one part from a readable name, the likeliest first. */
function* shortenings(name: string): Generator<Shortened> {
  for (const [pattern, read] of rules) {
    const match = pattern.exec(name);
    const shortened = match && read(match);
    if (shortened && shortened.rest.trim() !== "") yield { ...shortened, rest: shortened.rest.trim() };
  }
}

/** The meaning of a sensor's name. */
interface KnownName extends Kinds {
  /** The word for the id, such as `soil_temperature_10cm_zone_a_2`. */
  readonly word: string;
  /** The Chinese name, such as `A区土壤温度10cm 2`; null where a part has none. */
  readonly chinese: string | null;
  /** The unit inside the name, as in `空气温度(℃)`. */
  readonly unit: string | null;
}

// A longer name, or one with more parts, is prose.
const longestName = 64;
const mostParts = 5;
/** Parts that become part of the word, in this order. */
const inWord = ["depth", "zone", "index"] as const;

type Parts = Readonly<Partial<Record<Shortened["part"], string>>>;

/** Remembers names, as the houses of an account share most of them and ask several times. */
const readBefore = new Map<string, KnownName | null>();
const mostReadBefore = 1_000;

/** The catalogue's meaning of a name; null unless every part is understood. */
function knownName(name: string): KnownName | null {
  if (name.length > longestName) return null;
  const before = readBefore.get(name);
  if (before !== undefined) return before;
  const text = readable(name);
  const known = text === "" ? null : read(text, {}, mostParts);
  if (readBefore.size >= mostReadBefore) readBefore.clear();
  readBefore.set(name, known);
  return known;
}

function chineseName({ chinese }: Quantity, { depth = "", zone, index }: Parts): string | null {
  if (chinese === null) return null;
  const [kind = "", name = ""] = zone?.split("_") ?? [];
  const place = zone === undefined ? "" : `${name.toUpperCase()}${kind === "zone" ? "区" : "号温室"}`;
  return `${place}${chinese}${depth}${index === undefined ? "" : `${depth === "" ? "" : " "}${index}`}`;
}

function read(text: string, parts: Parts, left: number): KnownName | null {
  const quantity = composedQuantity(compact(text));
  if (quantity !== null) {
    const tail = inWord.map((part) => parts[part]).filter((says) => says !== undefined);
    const word = [quantity.word, ...tail].join("_");
    const { kinds, needsUnit } = quantity;
    return { word, chinese: chineseName(quantity, parts), kinds, needsUnit, unit: parts.unit ?? null };
  }
  if (left === 0) return null;
  for (const { rest, part, says } of shortenings(text)) {
    if (parts[part] !== undefined) continue;
    const known = read(rest, { ...parts, [part]: says }, left - 1);
    if (known !== null) return known;
  }
  return null;
}

interface Recognised {
  readonly kind: SensorKind;
  /** The catalogue's word for the name without regard to the unit, as an id must not change when a unit appears. */
  readonly word: string | null;
}

// Names about limits, states or sums, whose code's quantity would mislead.
const notAReading =
  /报警|告警|预警|故障|状态|开关|设定|设置|目标|上限|下限|阈|校准|校正|修正|补偿|偏差|温差|累[计积]|次数|时间|使能|alarm|fault|status|state|switch|target|limit|threshold|calib|offset|diff|total|count|time|set ?point|enable/iu;

/**
 * The quantity of a sensor by its name, else by its factor code. `other` where unknown, where the unit contradicts, or
 * where a needed unit is missing. No part of a name is ignored, since a wrong kind is worse than none.
 */
export function recogniseSensor(item: {
  readonly name: string;
  readonly factor: string | null;
  readonly unit: string | null;
}): Recognised {
  const unit = normaliseUnit(item.unit);
  const name = knownName(item.name);
  if (name !== null) return { kind: kindWithUnit(name, unit ?? name.unit), word: name.word };
  const shortName = kindsOfCode(item.name);
  if (shortName !== null) return { kind: kindWithUnit(shortName, unit), word: null };
  if (item.factor === null || notAReading.test(item.name)) return { kind: "other", word: null };
  const factor: (Kinds & { readonly word?: string }) | null =
    knownName(item.factor) ?? kindsOfCode(item.factor);
  return { kind: factor === null ? "other" : kindWithUnit(factor, unit), word: factor?.word ?? null };
}

/** The fixed word for a name in ids; null for a name that the catalogue does not know. */
export const catalogueWord = (name: string): string | null => knownName(name)?.word ?? null;

/** Words with a special spelling. */
const spellings: ReadonlyMap<string, string> = new Map(
  Object.entries({
    co2: "CO2",
    ec: "EC",
    ph: "pH",
    par: "PAR",
    vpd: "VPD",
    uv: "UV",
    tds: "TDS",
    orp: "ORP",
    tvoc: "TVOC",
    pm25: "PM2.5",
    pm10: "PM10",
  }),
);

const isChinese = (name: string): boolean => /\p{Script=Han}/u.test(name);

/** Such as `soil_temperature_10cm_zone_a` → `Soil temperature 10 cm zone A`. */
export function englishName(word: string): string {
  const text = word
    .split("_")
    .map(
      (part) =>
        spellings.get(part) ??
        part.replace(/^(\d+)cm$/, "$1 cm").replace(/^[a-h]$/, (one) => one.toUpperCase()),
    )
    .join(" ");
  return text.startsWith("pH") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sensor's name in a language; null where it already is in that language or the catalogue does not know it. */
export function translatedSensorName(name: string, language: Language): string | null {
  if (isChinese(name) === (language === "zh")) return null;
  const known = knownName(name);
  if (known === null) return null;
  return language === "zh" ? known.chinese : englishName(known.word);
}

/** The same for a running status. */
export function translatedStatusName(name: string, language: Language): string | null {
  const word = language === "zh" ? null : statusWord(name);
  return word === null ? null : englishName(word);
}
