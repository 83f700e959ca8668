import type { SensorItem } from "../../greenhouse/ports.js";
import { isMeasurementText, measurement } from "../measurement.js";
import type { OperationShape } from "../settings.js";
import { type Decoding, isMetadata, UnreadableShape } from "./decoding.js";
import {
  type Group,
  inGroups,
  type Place,
  type ReadRoles,
  roleReader,
  type Roles,
  type RoleTable,
  visitItems,
} from "./items.js";
import { type Fields, isContainer, own, scalarOf, textOf } from "./wire.js";

/**
 * The readings of an object that keeps them under their names (`{temperature: 23.5, humidity: 60, dateTime}`); null when it is not
 * one. A text that is no number shows that its keys are not quantities, so then nothing is taken.
 */
export function readWideRow(
  fields: Fields,
  roles: ReadRoles<SensorRole>,
): readonly (readonly [string, unknown])[] | null {
  const readings: (readonly [string, unknown])[] = [];
  let hasValue = false;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (key.trim() === "" || isMetadata(key) || hasRole(key, value, roles)) continue;
    if (typeof value === "boolean" || (typeof value === "string" && !isMeasurementText(value))) return null;
    hasValue ||= value !== null;
    readings.push([key, value]);
  }
  return hasValue ? readings : null;
}

const hasRole = (key: string, value: unknown, roles: ReadRoles<SensorRole>): boolean =>
  Object.keys(roles({ [key]: value })).length > 0;

interface Naming {
  readonly name: string | null;
  readonly factor: string | null;
  readonly channel: string | null;
}

type Reading = Pick<SensorItem, "value" | "raw" | "unit" | "measuredAt">;

/** One item of the platform as ours; null when nothing says what it measures. */
export function sensorItem(
  found: Roles<SensorRole>,
  place: Place,
  roles: ReadRoles<SensorRole>,
  decoding: Decoding,
): SensorItem | null {
  const { name, factor, channel } = naming(found, place, roles);
  if (name === null && factor === null && channel === null) return null;
  const { value, raw, unit, measuredAt } = reading(found.value, found, place, roles, decoding);
  return { name: name ?? "", factor, channel, value, raw, unit, measuredAt };
}

/** What a key in an object of items means depends on how it looks: digits are a channel, ASCII a factor, the rest a name. */
function naming(found: Roles<SensorRole>, place: Place, roles: ReadRoles<SensorRole>): Naming {
  const outer = place.key === null ? nestedIn(place, roles) : null;
  if (outer !== null) return naming({ ...roles(outer.fields), ...found }, outer, roles);
  const ownName = textOf(found.name);
  const ownFactor = textOf(found.factor);
  const key = place.key ?? (ownName === null && ownFactor === null ? (place.group?.key ?? null) : null);
  const keyed = namedByKey(key);
  return {
    name: ownName ?? keyed.name,
    factor: ownFactor ?? keyed.factor,
    channel: textOf(found.channel) ?? keyed.channel ?? groupChannel(place, roles, key),
  };
}

const isAscii = (key: string): boolean => /^[\x21-\x7e]{1,64}$/.test(key);

const unnamed: Naming = { name: null, factor: null, channel: null };

function namedByKey(key: string | null): Naming {
  const text = key?.trim() ?? "";
  if (text === "") return unnamed;
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

/** A number that stands under its name. */
export function rowItem(
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
): Reading {
  const raw = scalarOf(given);
  const unit = textOf(found.unit);
  const time = found.time ?? groupTime(place, roles);
  const measuredAt = readTime(time, receivedAt);
  if (measuredAt === null && time !== null && time !== "") report("a time that cannot be read", { time });
  const measured = typeof raw === "string" ? measurement(raw, unit) : { value: plain(raw), unit: null };
  return { value: measured.value, raw, unit: unit ?? measured.unit, measuredAt };
}

const groupTime = (place: Place, roles: ReadRoles<SensorRole>): unknown =>
  inGroups(place, ({ fields }) => roles(fields).time ?? null);

const plain = (raw: number | boolean | null): number | string | null =>
  typeof raw === "boolean" ? String(raw) : raw;

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
  const seen = new Set<string>();
  const add = (item: SensorItem, sample: unknown) => {
    const { size } = seen;
    if (seen.add(traits(item)).size === size) report(alike, sample);
    items.push(item);
  };
  const isList = visitItems(answer, path, {
    device: code,
    unreadable: report,
    item: (fields, place) => {
      const found = roles(fields);
      if (isForeign(found, code)) return true;
      if (!("value" in found)) return false;
      const item = sensorItem(found, place, roles, decoding);
      if (item === null) report("a reading without name, factor or channel", fields);
      else add(item, fields);
      return true;
    },
    row: (fields, place) => {
      const row = readWideRow(fields, roles);
      for (const [key, raw] of row ?? []) add(rowItem(key, raw, fields, place, roles, decoding), fields);
      return row !== null;
    },
  });
  if (!isList) throw new UnreadableShape("no readings could be found in the answer");
  return items;
}

const alike =
  "readings that nothing tells apart: name, factor and channel are the same, so only the first is shown";

const traits = ({ name, factor, channel }: SensorItem): string => JSON.stringify([name, factor, channel]);

/** Belongs to another device: some platforms answer for all of them whatever was asked. */
const isForeign = (found: Roles<SensorRole>, code: string): boolean =>
  typeof found.device === "string" && found.device !== "" && found.device !== code;
