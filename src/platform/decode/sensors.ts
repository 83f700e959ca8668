import { asAverage } from "../../greenhouse/averages.js";
import type { SensorItem } from "../../greenhouse/ports.js";
import { knownUnit, saysNothing } from "../../greenhouse/units.js";
import type { OperationShape } from "../settings.js";
import {
  type Decode,
  type Decoding,
  isContainer,
  isMetadata,
  own,
  scalarOf,
  textOf,
  UnreadableShape,
  words,
  type ReadRoles,
  roleReader,
} from "./decoding.js";
import { inGroups, type Item, visitItems } from "./items.js";

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

type SensorObject = Item<SensorRole>;

/**
 * Items of `GET /api/sensor-data` for one device: list, keyed object, grouped by channel or sensor, or one object whose numbers
 * stand under their names. Throws UnreadableShape where nothing could hold items.
 */
export function sensorReader(shape: OperationShape): Decode<readonly SensorItem[]> {
  const { name, value, unit, time, channel, code: factor } = shape;
  const roles = roleReader(sensorRoles, { name, value, unit, time, channel, factor });
  return (answer, decoding) => {
    const { report } = decoding;
    const items: SensorItem[] = [];
    const seen = new Set<string>();
    const add = (item: SensorItem, sample: unknown) => {
      const { size } = seen;
      if (seen.add(traits(item)).size === size) report(alike, sample);
      items.push(item);
    };
    const isList = visitItems(answer, shape.items, {
      roles,
      device: decoding.code,
      unreadable: report,
      item: (given) => {
        if (!("value" in given.found)) return false;
        const item = sensorItem(given, decoding);
        if (item === null) report("a reading without name, factor or channel", given.fields);
        else add(item, given.fields);
        return true;
      },
      row: (row) => {
        const readings = readWideRow(row, roles);
        for (const [key, raw] of readings ?? []) add(rowItem(key, raw, row, decoding), row.fields);
        return readings !== null;
      },
    });
    if (!isList) throw new UnreadableShape("no readings could be found in the answer");
    return items;
  };
}

/**
 * Averages in any shape of readings. Where there are several of a quantity the newest counts; which that is only their times can tell,
 * so without them none is taken.
 */
export function averageReader(shape: OperationShape): Decode<readonly SensorItem[]> {
  const read = sensorReader(shape);
  return (answer, decoding) => {
    const report: Decoding["report"] = (problem, sample) => {
      if (problem !== alike) decoding.report(problem, sample);
    };
    const newest = new Map<string, SensorItem>();
    const unclear = new Set<string>();
    for (const item of read(answer, { ...decoding, report })) {
      const key = traits(item);
      const other = newest.get(key);
      if (other !== undefined && (other.measuredAt === null || item.measuredAt === null)) unclear.add(key);
      if ((other?.measuredAt ?? -Infinity) <= (item.measuredAt ?? 0)) newest.set(key, item);
    }
    for (const key of unclear) newest.delete(key);
    if (unclear.size > 0) decoding.report("several averages of a quantity, without times", answer);
    return [...newest.values()].map(asAverage);
  };
}

const alike =
  "readings that nothing tells apart: name, factor and channel are the same, so only the first is shown";

const traits = ({ name, factor, channel }: SensorItem): string => JSON.stringify([name, factor, channel]);

/** One item of the platform as ours; null when nothing says what it measures. */
function sensorItem(given: SensorObject, decoding: Decoding): SensorItem | null {
  const { name, factor, channel } = naming(given);
  if (name === null && factor === null && channel === null) return null;
  const { value, unit, time } = given.found;
  return { name: name ?? "", factor, channel, ...reading(value, unit, time, given, decoding) };
}

type Naming = Readonly<Record<"name" | "factor" | "channel", string | null>>;

/** What a key in an object of items means depends on how it looks: digits are a channel, ASCII a factor, the rest a name. */
function naming(item: SensorObject): Naming {
  const outer = item.key === null ? nestedIn(item) : null;
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

/** `{name, value: {value, unit}}`: the inner object is the reading, the outer one says of what. */
function nestedIn({ group }: SensorObject): SensorObject | null {
  const isOuter = group !== null && !group.isFrame && isContainer(own(group.fields, "value"));
  return isOuter && !("value" in group.found) ? group : null;
}

/** Channel of the group an item stands in, or what tells the group from its neighbours; not the key already used as its name. */
function groupChannel(item: SensorObject, used: string | null): string | null {
  return inGroups(item, ({ isFrame, found, key }) => {
    if (isFrame) return null;
    const other = key === used ? null : key;
    return textOf(found.channel) ?? other ?? textOf(found.name) ?? textOf(found.factor);
  });
}

/**
 * The readings of an object that keeps them under their names (`{temperature: 23.5, humidity: 60, dateTime}`); null when it is not
 * one. A text that is no number shows that its keys are not quantities, so then nothing is taken.
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
    if (key.trim() === "" || isMetadata(key) || hasRole()) continue;
    const isText = typeof value === "string" && typeof measurement(value, null).value === "string";
    if (typeof value === "boolean" || isText) return null;
    hasValue ||= value !== null;
    readings.push([key, value]);
  }
  return hasValue ? readings : null;
}

/** A number that stands under its name. */
function rowItem(key: string, raw: unknown, row: SensorObject, decoding: Decoding): SensorItem {
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

/** Units that may stand behind a number besides those with a spelling of ours: `3号风机` is a name, not three of anything. */
const otherUnits = new Set("‰ g/kg kWh/m2 umol S/m mS uS μS 级 km kV 分 时 次".split(" "));

const numeric = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*)$/su;
const longest = 64;

/**
 * What the text of a value says: a number where it is one, with its unit if it carries one. `unit` is the unit said elsewhere, which
 * may be repeated behind the number.
 */
export function measurement(
  text: string,
  unit: string | null,
): { readonly value: number | string | null; readonly unit: string | null } {
  if (saysNothing(text, "reading")) return { value: null, unit: null };
  const trimmed = text.trim();
  const [, digits, rest = ""] = (trimmed.length <= longest && numeric.exec(trimmed)) || [];
  const value = Number(digits ?? Number.NaN);
  if (Number.isFinite(value)) {
    if (rest === "") return { value, unit: null };
    if (rest === unit || otherUnits.has(rest) || knownUnit(rest) !== null) return { value, unit: rest };
  }
  return { value: trimmed, unit: null };
}

function reading(
  given: unknown,
  givenUnit: unknown,
  ownTime: unknown,
  item: SensorObject,
  { readTime, receivedAt, report }: Decoding,
): Pick<SensorItem, "value" | "raw" | "unit" | "measuredAt"> {
  const raw = scalarOf(given);
  const unit = textOf(givenUnit);
  const time = ownTime ?? inGroups(item, ({ found }) => found.time ?? null);
  const measuredAt = readTime(time, receivedAt);
  if (measuredAt === null && time !== null && time !== "") report("a time that cannot be read", { time });
  if (typeof raw === "string") {
    const measured = measurement(raw, unit);
    return { value: measured.value, raw, unit: unit ?? measured.unit, measuredAt };
  }
  return { value: typeof raw === "boolean" ? String(raw) : raw, raw, unit, measuredAt };
}
