import { msg } from "../../language/text.js";
import { asAverage } from "../../greenhouse/averages.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import { traitsOf } from "../../greenhouse/sensor-identity.js";
import { recogniseSensor } from "../../greenhouse/sensor-names.js";
import { knownUnit, plainDigits, saysNothing } from "../../greenhouse/units.js";
import type { OperationShape } from "../settings.js";
import {
  at,
  type Decode,
  type Decoding,
  isContainer,
  isMetadata,
  own,
  type ReportShape,
  scalarOf,
  textOf,
  UnreadableShape,
  words,
  type ReadRoles,
  roleReader,
} from "./decoding.js";
import { isPageOf, pageProblem } from "./lists.js";
import { inGroups, isStructure, type Item, strange, visitItems } from "./items.js";

const sensorRoles = {
  name: words("name sensorName factorName paramName title label showName displayName cnName"),
  factor: words("factor factorCode code key eName sensorCode sensorKey eKey field identifier param"),
  value: words("value val sensorValue factorValue dataValue currentValue realValue v reading"),
  unit: words("unit unitName sensorUnit factorUnit dataUnit unitSymbol"),
  channel: words("channel channelNum channelNo channelNumber channelId ch sensorNo"),
  time: words(
    "dateTime dataTime time updateTime collectTime monitorTime recordTime reportTime " +
      "sampleTime measureTime timestamp ts updatedAt updateAt createTime createdAt date",
  ),
  device: words("deviceCode deviceSn"),
} as const;

type SensorRole = keyof typeof sensorRoles;

/**
 * Time fields of a frame, unless it is the device's own. `timestamp` is left out, as it may be the time of the answer.
 */
const frameRoles = {
  time: sensorRoles.time.filter((name) => name !== "timestamp" && name !== "ts"),
} as const;

type SensorObject = Item<SensorRole>;

/**
 * Readings of `GET /api/sensor-data` for one device: a list, a keyed object, groups by channel or sensor, or one object
 * with numbers by name. Throws UnreadableShape where nothing could hold readings.
 */
export function sensorReader(shape: OperationShape): Decode<readonly SensorItem[]> {
  const { name, value, unit, time, channel, code: factor } = shape;
  const paths = { name, value, unit, time, channel, factor };
  const roles = roleReader(sensorRoles, paths);
  const frameTime = roleReader(frameRoles, { time });
  const timeIn = ({ fields, found, isFrame, isOwn }: SensorObject) =>
    (isFrame && !isOwn && textOf(found.device) === null ? frameTime(fields) : found).time;
  // Configured field names are the only ones that count.
  const isGiven = Object.values(paths).some((path) => path !== undefined);
  return (answer, given) => {
    const decoding = { ...given, timeIn };
    const told: Parameters<ReportShape>[] = [];
    const report: ReportShape = (...one) => told.push(one);
    const seen: SensorObject[] = [];
    const items = readItems(answer, shape, roles, { ...decoding, report }, (item) => {
      seen.push(item);
      return item;
    });
    const lone = isGiven ? null : loneValueIn(seen, roles);
    if (lone === null) for (const one of told) decoding.report(...one);
    const read =
      lone === null
        ? items
        : readItems(answer, shape, roles, decoding, (item) => withLoneValue(item, lone, roles));
    const seenItems = Math.max(read.length, seen.length);
    if (isPageOf(answer, seenItems, "list")) decoding.report(pageProblem, at(answer, "data") ?? answer);
    return read;
  };
}

interface SensorDecoding extends Decoding {
  /** The time of everything inside an object. */
  readonly timeIn: (group: SensorObject) => unknown;
}

/** Reads the items of an answer; `given` changes an object before it is read. */
function readItems(
  answer: unknown,
  shape: OperationShape,
  roles: ReadRoles<SensorRole>,
  decoding: SensorDecoding,
  given: (plain: SensorObject) => SensorObject,
): readonly SensorItem[] {
  const { report } = decoding;
  const found: Found[] = [];
  const soles: RowReading[] = [];
  const isList = visitItems(answer, shape.items, {
    roles,
    device: decoding.code,
    unreadable: report,
    item: (plain) => {
      const taken = given(plain);
      if (!("value" in taken.found)) return false;
      const item = sensorItem(taken, decoding);
      if (item === null) report(nameless, taken.fields);
      else found.push({ item, sample: taken.fields });
      return true;
    },
    row: (row) => {
      const readings = readWideRow(row, roles);
      const taken = readings?.map(([key, raw]) => ({ row, key, raw })) ?? [];
      if (taken.length === 1) soles.push(...taken);
      found.push(...taken);
      return readings !== null;
    },
    beside: (name, node) => {
      if (isQuantity(name) && !describing.test(name)) report(strange, node);
    },
  });
  if (!isList) throw new UnreadableShape(msg`no readings could be found in the answer`);
  return itemsOf(found, unknownFields(soles), decoding);
}

/** Keeps the order of the answer, which distinguishes readings of one name. */
function itemsOf(
  found: readonly Found[],
  unknown: ReadonlySet<Found>,
  decoding: SensorDecoding,
): readonly SensorItem[] {
  const { report } = decoding;
  const items: SensorItem[] = [];
  const seen = new Set<string>();
  for (const one of found) {
    const sample = "item" in one ? one.sample : one.row.fields;
    if (unknown.has(one)) {
      report(nameless, sample);
      continue;
    }
    const item = "item" in one ? one.item : rowItem(one.key, one.raw, one.row, decoding);
    const { size } = seen;
    if (seen.add(traitsOf(item)).size === size) report(alike, sample);
    items.push(item);
  }
  return items;
}

const nameless = msg`a reading without name, factor or channel`;

/** A number by name in a row. */
interface RowReading {
  readonly row: SensorObject;
  readonly key: string;
  readonly raw: unknown;
}

type Found = RowReading | { readonly item: SensorItem; readonly sample: unknown };

/**
 * Finds numbers that look like readings by name, but are values of items with unknown field names (`{tagDesc: "空气温度",
 * tagValue: 23.5}`): their key is no quantity, while names beside them are, or differ for each.
 */
function unknownFields(soles: readonly RowReading[]): ReadonlySet<RowReading> {
  const byKey = new Map<string, RowReading[]>();
  for (const one of soles)
    if (!isQuantity(one.key) && !("name" in one.row.found || "factor" in one.row.found))
      byKey.set(one.key, [...(byKey.get(one.key) ?? []), one]);
  const isNamed = (readings: readonly RowReading[]) => {
    const names = readings.map(({ row }) => namesBeside(row));
    const isTold = readings.length > 1 && new Set(names.map(String)).size === readings.length;
    return names.every(({ length }) => length > 0) && (isTold || names.flat().some(isQuantity));
  };
  return new Set([...byKey.values()].filter(isNamed).flat());
}

const isQuantity = (name: string): boolean =>
  recogniseSensor({ name, factor: name, unit: null }).kind !== "other";

const mayName = /(?:name|desc|description|title|label)$/i;
/** Names of places, which say nothing about what is measured. */
const namesPlace = /^(?:device|controller|green_?house|house|station|node|gateway|area|zone|site|farm|room)/i;

const namesBeside = ({ fields }: SensorObject): readonly string[] =>
  Object.keys(fields).flatMap((key) => {
    const text = fields[key];
    return mayName.test(key) && !namesPlace.test(key) && typeof text === "string" ? [text] : [];
  });

/** Averages, in any shape of readings. Of several for one quantity the newest counts; without times none is taken. */
export function averageReader(shape: OperationShape): Decode<readonly SensorItem[]> {
  const read = sensorReader(shape);
  return (answer, decoding) => {
    const report: Decoding["report"] = (problem, sample) => {
      if (problem !== alike) decoding.report(problem, sample);
    };
    const newest = new Map<string, SensorItem>();
    const unclear = new Set<string>();
    for (const item of read(answer, { ...decoding, report })) {
      const key = traitsOf(item);
      const other = newest.get(key);
      if (other !== undefined && (other.measuredAt === null || item.measuredAt === null)) unclear.add(key);
      if ((other?.measuredAt ?? -Infinity) <= (item.measuredAt ?? 0)) newest.set(key, item);
    }
    for (const key of unclear) newest.delete(key);
    if (unclear.size > 0) decoding.report(msg`several averages of a quantity, without times`, answer);
    return [...newest.values()].map(asAverage);
  };
}

/** The report of equal readings, which the configuration can distinguish. */
export const alike = msg`readings that nothing tells apart: name, factor and channel are the same, so only the first is shown`;

/** The platform's item as one of ours; null where nothing says what it measures. */
function sensorItem(given: SensorObject, decoding: SensorDecoding): SensorItem | null {
  const { name, factor, channel } = naming(given);
  if (name === null && factor === null && channel === null) return null;
  const { value, unit, time } = given.found;
  return { name: name ?? "", factor, channel, ...reading(value, unit, time, given, decoding) };
}

type Naming = Readonly<Record<"name" | "factor" | "channel", string | null>>;

/**
 * The names of an item. A key in an object of items is a channel where it is digits, a factor where it is ASCII,
 * otherwise a name.
 */
function naming(item: SensorObject): Naming {
  const outer = item.key === null || holdsValue(item.key) ? nestedIn(item) : null;
  if (outer !== null) return naming({ ...outer, found: { ...outer.found, ...item.found } });
  const name = textOf(item.found.name);
  const factor = textOf(item.found.factor);
  const key = item.key ?? (name === null && factor === null ? (item.group?.key ?? null) : null);
  const keyed = namedByKey(key);
  return {
    name: name ?? keyed.name,
    factor: factor ?? keyed.factor,
    channel: textOf(item.found.channel) ?? keyed.channel ?? groupChannel(item, key),
  };
}

const isAscii = (key: string): boolean => /^[\x21-\x7e]{1,64}$/.test(key);

function namedByKey(key: string | null): Naming {
  const text = key?.trim() ?? "";
  const unnamed = { name: null, factor: null, channel: null };
  if (text === "") return unnamed;
  if (/^\d{1,4}$/.test(text)) return { ...unnamed, channel: text };
  return isAscii(text) ? { ...unnamed, factor: text } : { ...unnamed, name: text };
}

const holdsValue = (key: string): boolean => sensorRoles.value.includes(key);

/** In `{name, value: {value, unit}}` the inner object is the reading, the outer one names it. */
function nestedIn({ group }: SensorObject): SensorObject | null {
  const isOuter =
    group !== null &&
    !group.isFrame &&
    sensorRoles.value.some((name) => isContainer(own(group.fields, name)));
  return isOuter && !("value" in group.found) ? group : null;
}

/**
 * The channel of an item's group, or what distinguishes the group from others; not the key already used as its name.
 */
function groupChannel(item: SensorObject, used: string | null): string | null {
  return inGroups(item, ({ isFrame, found, key }) => {
    if (isFrame) return null;
    const other = key === used ? null : key;
    return textOf(found.channel) ?? other ?? textOf(found.name) ?? textOf(found.factor);
  });
}

/**
 * The unknown name of the value field in a list of items (`{factorName, factorCode, data}`); null where there is none.
 * A single value under a usual name means null too: then other items simply have no value.
 */
function loneValueIn(seen: readonly SensorObject[], roles: ReadRoles<SensorRole>): string | null {
  if (seen.some(({ found }) => "value" in found)) return null;
  const items = new Set<SensorObject>();
  const names = new Set<string>();
  let isLeftOut = false;
  for (const item of seen) {
    const left = fieldsLeft(item, roles);
    // Content of an item only describes it.
    if (left === null || inGroups(item, (group) => items.has(group) || null) !== null) continue;
    const [key, ...more] = left;
    if (key === undefined) isLeftOut = true;
    else if (more.length > 0 || !mayBeValue(key, item)) return null;
    else {
      items.add(item);
      names.add(key);
    }
  }
  const [lone = null, ...others] = names;
  if (lone === null || others.length > 0) return null;
  // An unknown name needs several items that agree, and a number: where values are missing, the rest means something
  // else.
  const isNumber = ({ fields }: SensorObject) => /^\s*[-+]?\d/.test(textOf(own(fields, lone)) ?? "");
  const isTrusted = !isLeftOut && items.size > 1 && [...items].some(isNumber);
  return isStructure(lone) || isTrusted ? lone : null;
}

function withLoneValue(item: SensorObject, lone: string, roles: ReadRoles<SensorRole>): SensorObject {
  const left = fieldsLeft(item, roles);
  return left?.length === 1 && left[0] === lone
    ? { ...item, found: { ...item.found, value: own(item.fields, lone) } }
    : item;
}

/** Names of fields about the origin or a fault of a reading. */
const describing =
  /(?:alarms?|warn(?:ing)?|fault|err(?:or)?|abnormal|quality|valid|level|battery|signal|rssi|sn|max|min)$/i;

/** The remaining scalars of a named item; null for anything else, such as a group of items. */
function fieldsLeft(
  { fields, found, isFrame }: SensorObject,
  roles: ReadRoles<SensorRole>,
): readonly string[] | null {
  if (isFrame || (textOf(found.name) === null && textOf(found.factor) === null)) return null;
  const names = Object.keys(fields);
  const inside = names.filter((key) => isContainer(fields[key]));
  const left = names.filter(
    (key) =>
      !isContainer(fields[key]) &&
      !isMetadata(key) &&
      !describing.test(key) &&
      Object.keys(roles({ [key]: fields[key] })).length === 0,
  );
  const isItem =
    inside.length === 0 ||
    (isStructure(left[0] ?? "") && !inside.some((key) => Array.isArray(fields[key]) || isStructure(key)));
  return isItem ? left : null;
}

function mayBeValue(key: string, { found }: SensorObject): boolean {
  const isTold = "unit" in found || ("name" in found && "factor" in found);
  return isStructure(key) || (isTold && !isQuantity(key));
}

/**
 * The readings of an object that has them by name (`{temperature: 23.5, humidity: 60, dateTime}`); null for another
 * object. A text that is no number, under a key that is none, shows that keys are no quantities; then nothing is taken.
 */
function readWideRow(
  { fields }: SensorObject,
  roles: ReadRoles<SensorRole>,
): readonly (readonly [string, unknown])[] | null {
  const readings: (readonly [string, unknown])[] = [];
  let hasValue = false;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    const hasRole = () => Object.keys(roles({ [key]: value })).length > 0;
    if (key.trim() === "" || isMetadata(key) || isContainer(value) || hasRole()) continue;
    const isText = typeof value === "string" && typeof measurement(value, null).value === "string";
    if (typeof value === "boolean" || (isText && !isQuantity(key))) return null;
    hasValue ||= value !== null;
    readings.push([key, value]);
  }
  return hasValue ? readings : null;
}

/** A reading from a number by name. */
function rowItem(key: string, raw: unknown, row: SensorObject, decoding: SensorDecoding): SensorItem {
  const { found } = row;
  const isFactor = isAscii(key);
  const told = row.isFrame ? null : (textOf(found.name) ?? row.key);
  return {
    name: isFactor ? "" : key,
    factor: isFactor ? key : null,
    channel: textOf(found.channel) ?? told ?? groupChannel(row, null),
    ...reading(raw, undefined, found.time, row, decoding),
  };
}

/** Further units that may follow a number, beside those with a spelling of ours: `3号风机` is a name, not a quantity. */
const otherUnits = new Set("‰ g/kg kWh/m2 umol S/m mS uS μS 级 km kV 分 时 次".split(" "));

const numeric = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*)$/su;
const longest = 64;

/**
 * Parses the text of a value: a number with an optional unit, else the text. `unit` is the unit from elsewhere, which
 * may be repeated after the number.
 */
export function measurement(
  text: string,
  unit: string | null,
): { readonly value: number | string | null; readonly unit: string | null } {
  if (saysNothing(text, "reading")) return { value: null, unit: null };
  const trimmed = withoutThousands(plainDigits(text.trim()));
  const [, digits, rest = ""] = (trimmed.length <= longest && numeric.exec(trimmed)) || [];
  const value = Number(digits ?? Number.NaN);
  if (Number.isFinite(value)) {
    if (rest === "") return { value, unit: null };
    if (rest === unit || otherUnits.has(rest) || knownUnit(rest) !== null) return { value, unit: rest };
  }
  return { value: text.trim(), unit: null };
}

/** Commas before a fraction can only separate thousands. */
const withoutThousands = (text: string): string =>
  text.includes(",")
    ? text.replace(/^[+-]?\d{1,3}(?:,\d{3})+(?=\.\d)/, (whole) => whole.replaceAll(",", ""))
    : text;

/** The time around a reading. The nearest time decides: an empty one means that nothing was measured. */
function timeAround({ group }: SensorObject, timeIn: SensorDecoding["timeIn"]): unknown {
  for (let around = group; around !== null; around = around.group) {
    const time = timeIn(around);
    if (time !== undefined) return time;
  }
  return null;
}

function reading(
  given: unknown,
  givenUnit: unknown,
  ownTime: unknown,
  item: SensorObject,
  { readTime, receivedAt, report, timeIn }: SensorDecoding,
): Pick<SensorItem, "value" | "raw" | "unit" | "measuredAt"> {
  const raw = scalarOf(given);
  const unit = textOf(givenUnit);
  const time = ownTime === undefined ? timeAround(item, timeIn) : ownTime;
  const measuredAt = readTime(time, receivedAt);
  if (measuredAt === null && time !== null && time !== "") report(msg`a time that cannot be read`, { time });
  if (typeof raw === "string") {
    const measured = measurement(raw, unit);
    return { value: measured.value, raw, unit: unit ?? measured.unit, measuredAt };
  }
  return { value: typeof raw === "boolean" ? String(raw) : raw, raw, unit, measuredAt };
}
