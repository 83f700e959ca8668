import type { SensorItem } from "../../greenhouse/ports.js";
import { measurement } from "../measurement.js";
import type { OperationShape } from "../settings.js";
import { UnreadableShape, type Decoding } from "./decoding.js";
import { inGroups, visitItems, type Group, type Place } from "./items.js";
import { roleReader, type ReadRoles, type RoleTable, type Roles } from "./roles.js";
import { readWideRow } from "./sensor-row.js";
import { isContainer, own, scalarOf, textOf, type Fields } from "./wire.js";

export type SensorRole = "name" | "factor" | "value" | "unit" | "channel" | "time" | "device";

const sensorRoles: RoleTable<SensorRole> = {
  name: [
    "name",
    "sensorName",
    "factorName",
    "paramName",
    "title",
    "label",
    "showName",
    "displayName",
    "cnName",
  ],
  factor: [
    "factor",
    "factorCode",
    "code",
    "key",
    "eName",
    "sensorCode",
    "sensorKey",
    "eKey",
    "field",
    "identifier",
    "param",
  ],
  value: [
    "value",
    "val",
    "sensorValue",
    "factorValue",
    "dataValue",
    "currentValue",
    "realValue",
    "v",
    "reading",
  ],
  unit: ["unit", "unitName", "sensorUnit", "factorUnit", "dataUnit", "unitSymbol"],
  channel: ["channel", "channelNum", "channelNo", "channelNumber", "channelId", "ch", "sensorNo"],
  time: [
    ...[
      "dateTime",
      "dataTime",
      "time",
      "updateTime",
      "collectTime",
      "monitorTime",
      "recordTime",
      "reportTime",
    ],
    ...[
      "sampleTime",
      "measureTime",
      "timestamp",
      "ts",
      "updatedAt",
      "updateAt",
      "createTime",
      "createdAt",
      "date",
    ],
  ],
  device: ["deviceCode", "deviceSn"],
};

/**
 * Items of `GET /api/sensor-data` for one device: list, keyed object, grouped by channel or sensor, or one object whose numbers
 * stand under their names. Throws UnreadableShape where nothing could hold items.
 */
export function sensorReader(
  shape: OperationShape,
): (answer: unknown, code: string, decoding: Decoding) => readonly SensorItem[] {
  const { name, value, unit, time, channel, code: factor } = shape;
  const roles = roleReader(sensorRoles, { name, value, unit, time, channel, factor });
  return (answer, code, decoding) => readSensors(answer, shape.items, code, roles, decoding);
}

function readSensors(
  answer: unknown,
  path: string | undefined,
  code: string,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): readonly SensorItem[] {
  const { report } = decoding;
  const items: SensorItem[] = [];
  const isList = visitItems(answer, path, {
    device: code,
    unreadable: report,
    item: (fields, place) => {
      const found = roles(fields);
      if (isForeign(found, code)) return true;
      if (!("value" in found)) return false;
      const item = sensorItem(found, place, roles, decoding);
      if (item === null) report("a reading without name, factor or channel", fields);
      else items.push(item);
      return true;
    },
    row: (fields, place) => {
      const row = readWideRow(fields, roles);
      for (const [key, raw] of row ?? []) items.push(rowItem(key, raw, fields, place, roles, decoding));
      return row !== null;
    },
  });
  if (!isList) throw new UnreadableShape("no readings could be found in the answer");
  return items;
}

/** Belongs to another device: some platforms answer for all of them whatever was asked. */
const isForeign = (found: Roles<SensorRole>, code: string): boolean =>
  typeof found.device === "string" && found.device !== "" && found.device !== code;

type Naming = Pick<SensorItem, "name" | "factor" | "channel">;

function sensorItem(
  found: Roles<SensorRole>,
  place: Place,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): SensorItem | null {
  const named = naming(found, place, roles);
  if (named === null) return null;
  return { ...named, ...reading(found.value, found, place, roles, decoding) };
}

/** What a key in an object of items means depends on how it looks: digits are a channel, ASCII a factor, the rest a name. */
function naming(found: Roles<SensorRole>, place: Place, roles: ReadRoles<SensorRole>): Naming | null {
  const outer = place.key === null ? nestedIn(place, roles) : null;
  if (outer !== null) return naming({ ...roles(outer.fields), ...found }, outer, roles);
  const ownName = textOf(found.name);
  const ownFactor = textOf(found.factor);
  const key = place.key ?? (ownName === null && ownFactor === null ? (place.group?.key ?? null) : null);
  const keyed = namedByKey(key);
  const name = ownName ?? keyed.name;
  const factor = ownFactor ?? keyed.factor;
  const channel = textOf(found.channel) ?? keyed.channel ?? groupChannel(place, roles, key);
  if (name === null && factor === null && channel === null) return null;
  return { name: name ?? "", factor, channel };
}

const isAscii = (key: string): boolean => /^[\x21-\x7e]{1,64}$/.test(key);

function namedByKey(key: string | null): Record<"name" | "factor" | "channel", string | null> {
  const text = textOf(key);
  if (text === null) return { name: null, factor: null, channel: null };
  if (/^\d{1,4}$/.test(text)) return { name: null, factor: null, channel: text };
  return isAscii(text)
    ? { name: null, factor: text, channel: null }
    : { name: text, factor: null, channel: null };
}

/** `{name, value: {value, unit}}`: the inner object is the reading, the outer one says of what. */
function nestedIn(place: Place, roles: ReadRoles<SensorRole>): Group | null {
  const outer = place.group;
  if (outer === null || outer.isFrame || !isContainer(own(outer.fields, "value"))) return null;
  return "value" in roles(outer.fields) ? null : outer;
}

/** Channel of the group an item stands in, or what tells the group from its neighbours; not the key already used as its name. */
function groupChannel(place: Place, roles: ReadRoles<SensorRole>, used: string | null): string | null {
  return inGroups(place, (group) => {
    if (group.isFrame) return null;
    const found = roles(group.fields);
    const key = group.key === used ? null : group.key;
    return textOf(found.channel) ?? key ?? textOf(found.name) ?? textOf(found.factor);
  });
}

function rowItem(
  key: string,
  raw: unknown,
  fields: Fields,
  place: Place,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): SensorItem {
  const found = roles(fields);
  const isFactor = isAscii(key);
  const told = place.isFrame ? null : (textOf(found.name) ?? place.key);
  return {
    name: isFactor ? "" : key,
    factor: isFactor ? key : null,
    channel: textOf(found.channel) ?? told ?? groupChannel(place, roles, null),
    ...reading(raw, { time: found.time }, place, roles, decoding),
  };
}

function reading(
  given: unknown,
  found: Roles<SensorRole>,
  place: Place,
  roles: ReadRoles<SensorRole>,
  { readTime, receivedAt, report }: Decoding,
): Omit<SensorItem, keyof Naming> {
  const raw = scalarOf(given);
  const unit = textOf(found.unit);
  const time = found.time ?? inGroups(place, ({ fields }) => roles(fields).time ?? null) ?? null;
  const measuredAt = readTime(time, receivedAt);
  if (measuredAt === null && time !== null && time !== "") report("a time that cannot be read", { time });
  const measured = typeof raw === "string" ? measurement(raw, unit) : { value: plain(raw), unit: null };
  return { value: measured.value, raw, unit: unit ?? measured.unit, measuredAt };
}

const plain = (raw: number | boolean | null): number | string | null =>
  typeof raw === "boolean" ? String(raw) : raw;
