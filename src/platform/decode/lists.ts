import { msg, type Text } from "../../language/text.js";
import { deviceType } from "../../greenhouse/device-types.js";
import type { DeviceList, DeviceRecord, PlatformStation } from "../../greenhouse/ports.js";
import type { OperationShape } from "../settings.js";
import {
  at,
  type Decode,
  envelopeOf,
  type Fields,
  isContainer,
  isFields,
  own,
  readFlag,
  roleReader,
  type Roles,
  textOf,
  UnreadableShape,
} from "./decoding.js";
import { isStructure, visitItems } from "./items.js";

const deviceRoles = {
  code: ["code", "deviceCode", "deviceSn", "sn"],
  name: ["name", "deviceName", "title"],
  type: ["deviceTypeId", "deviceTypeCode"],
  typeName: ["deviceTypeName", "typeName"],
  stationId: ["stationId"],
  stationName: ["stationName"],
  brand: ["deviceBrand", "brand"],
  hls: ["hls", "hlsUrl"],
  version: ["version"],
  online: ["online", "isOnline", "onlineStatus"],
} as const;

const extraNames = ["id", "customerId", "channel", "number", "sortOrder", "tag", "prefix", "type"] as const;

/**
 * Devices of `GET /api/control/mqtt` and `GET /api/device`. No data is an empty account. Items of which none is
 * readable are an unknown shape (throws UnreadableShape), so that a changed answer never looks like an empty account.
 */
export const deviceReader = (shape: OperationShape): Decode<DeviceList> =>
  readerOf(shape, { code: shape.code, name: shape.name });

/** Devices of `GET /api/video-data/list`, of which only the stream's address is needed. */
export const videoReader = (shape: OperationShape): Decode<DeviceList> =>
  readerOf(shape, { code: shape.code, name: shape.name, hls: shape.value });

function readerOf(
  shape: OperationShape,
  paths: Readonly<Partial<Record<keyof typeof deviceRoles, string | undefined>>>,
): Decode<DeviceList> {
  const roles = roleReader(deviceRoles, paths);
  return (answer, { report }) => {
    const byCode = new Map<string, DeviceRecord>();
    let unreadable = 0;
    /** Further rows of listed devices. */
    let channels = 0;
    const skip = (problem: Text, sample: unknown) => {
      unreadable += 1;
      report(problem, sample);
    };
    const isList = visitItems(answer, shape.items, {
      roles,
      item: ({ fields, found }) => {
        const record = deviceOf(fields, found);
        if (record === null) return false;
        const known = byCode.get(record.code);
        if (known === undefined) byCode.set(record.code, record);
        else if (isOtherChannel(known, record)) channels += 1;
        else skip(msg`a device code that is listed twice`, fields);
        return true;
      },
      unreadable: skip,
    });
    const hasNothing = byCode.size === 0 && (unreadable > 0 || !isList || isForeign(answer));
    if (hasNothing) throw new UnreadableShape(msg`no device could be read from the answer`);
    const list: readonly DeviceRecord[] = [...byCode.values()];
    if (!isPageOf(answer, list.length + channels + unreadable)) return list;
    report(pageProblem, at(answer, "data") ?? answer);
    return Object.assign(list, { isPage: true });
  };
}

/** Whether two rows are channels of one device, which may be listed once for each. */
const isOtherChannel = (one: DeviceRecord, other: DeviceRecord): boolean =>
  one.type === other.type && one.extra["channel"] !== other.extra["channel"];

/** Neither an envelope nor data, so it is not the answer of an account without devices. */
const isForeign = (answer: unknown): boolean =>
  isFields(answer) &&
  envelopeOf(answer).code === null &&
  Object.keys(answer).length > 0 &&
  !Object.hasOwn(answer, "data");

function deviceOf(fields: Fields, roles: Roles<keyof typeof deviceRoles>): DeviceRecord | null {
  const code = textOf(roles.code);
  if (code === null || code.length > 256) return null;
  const type = textOf(roles.type);
  return {
    code,
    name: textOf(roles.name),
    type: type === null ? null : deviceType(type),
    typeName: textOf(roles.typeName),
    stationId: textOf(roles.stationId),
    stationName: textOf(roles.stationName),
    brand: textOf(roles.brand),
    hls: textOf(roles.hls),
    version: textOf(roles.version),
    online: readFlag(roles.online),
    extra: extraOf(fields),
  };
}

function extraOf(fields: Fields): Readonly<Record<string, string>> {
  const extra: Record<string, string> = {};
  for (const name of extraNames) {
    const text = textOf(own(fields, name));
    if (text !== null) extra[name] = text;
  }
  return extra;
}

/** With its remedy, as no shape of items would help. */
export const pageProblem = msg`only a page of a longer list, so what it leaves out is not taken for gone; params (such as { pageSize: 500 }) can ask for all of it`;

const totalNames = ["total", "totalCount", "totalElements", "totalSize", "totalNum", "totalRows", "count"];
const pagesNames = ["pages", "totalPages", "totalPage", "pageCount"];
const nextNames = ["hasNext", "hasNextPage", "hasMore"];
const frames = ["", ..."data page pagination pageInfo data.page data.pagination data.pageInfo".split(" ")];

/**
 * Whether an answer is one page of a longer list, by its own count: some platforms send pages unasked. Where values
 * have names of their own, one may be called like a count, so a `list` has to stand beside it.
 */
export function isPageOf(answer: unknown, seen: number, beside?: "list"): boolean {
  return frames.some((path) => {
    const frame = path === "" ? answer : at(answer, path);
    if (!isFields(frame)) return false;
    const hasList = Object.keys(frame).some((name) => isStructure(name) && isContainer(frame[name]));
    if (beside === "list" && !hasList && !/page/i.test(path)) return false;
    const above = (names: readonly string[], limit: number) =>
      names.some((name) => Number(textOf(own(frame, name)) ?? Number.NaN) > limit);
    return (
      above(totalNames, seen) ||
      above(pagesNames, 1) ||
      nextNames.some((name) => readFlag(own(frame, name)) === true)
    );
  });
}

const stationRoles = {
  id: ["id", "stationId", "code", "stationCode"],
  name: ["name", "stationName", "title"],
} as const;

const stationDevice = roleReader(
  { sure: ["deviceCode", "deviceSn", "devCode"], perhaps: ["code", "stationCode"] },
  {},
);

/** Stations of `GET /api/station`. Throws UnreadableShape where no item has an id. */
export function stationReader(shape: OperationShape): Decode<readonly PlatformStation[]> {
  const roles = roleReader(stationRoles, { id: shape.code, name: shape.name });
  return (answer, { report }) => {
    const stations: PlatformStation[] = [];
    let unreadable = 0;
    const isList = visitItems(answer, shape.items, {
      roles,
      item: ({ fields, found }) => {
        const id = textOf(found.id) ?? textOf(stationDevice(fields).sure);
        const { sure, perhaps } = stationDevice(fields);
        const device = textOf(sure) ?? textOf(perhaps);
        if (id !== null) stations.push({ id, name: textOf(found.name), device });
        return id !== null;
      },
      unreadable: (problem, sample) => {
        unreadable += 1;
        report(problem, sample);
      },
    });
    if (!isList || (unreadable > 0 && stations.length === 0))
      throw new UnreadableShape(msg`no station could be read from the answer`);
    return stations;
  };
}
