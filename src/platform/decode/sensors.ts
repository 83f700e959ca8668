import type { SensorItem } from "../../greenhouse/ports.js";
import type { OperationShape } from "../settings.js";
import { UnreadableShape, type Decoding } from "./decoding.js";
import { visitItems } from "./items.js";
import { roleReader, type ReadRoles, type RoleTable, type Roles } from "./roles.js";
import { readWideRow } from "./sensor-row.js";
import { rowItem, sensorItem } from "./sensor-item.js";

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
