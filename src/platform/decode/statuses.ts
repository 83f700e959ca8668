import { msg } from "../../language/text.js";
import { statusNumber } from "../../greenhouse/device-types.js";
import type { ClientStatus, RunningStatusItem } from "../../greenhouse/ports.js";
import type { OperationShape } from "../settings.js";
import {
  at,
  type Decode,
  type Decoding,
  type Fields,
  isFields,
  isMetadata,
  notFound,
  own,
  type Scalar,
  scalarOf,
  textOf,
  UnreadableShape,
  readFlag,
  roleReader,
  type Roles,
} from "./decoding.js";
import { strange, visitItems } from "./items.js";
import { isPageOf, pageProblem } from "./lists.js";

const statusRoles = {
  name: ["name", "statusName", "title", "label"],
  number: ["deviceTypeNumber", "deviceTypeNo", "typeNumber"],
  status: ["status", "state", "running", "value", "val"],
  device: ["deviceCode"],
} as const;

type StatusRole = keyof typeof statusRoles;

/**
 * Items of `GET /api/device_status`: name, type number (code system 3) and status. An item needs a name or a number,
 * and a status. Throws UnreadableShape where nothing could hold items.
 */
export function runningStatusReader(shape: OperationShape): Decode<readonly RunningStatusItem[]> {
  const roles = roleReader(statusRoles, { name: shape.name, number: shape.code, status: shape.value });
  return (answer, { code, report }) => {
    const items: RunningStatusItem[] = [];
    const seen = new Set<string>();
    const add = (key: string | null, found: Roles<StatusRole>, sample: unknown) => {
      const item = statusItem(key, found);
      if (item === null) {
        report(msg`a running status without name or number`, sample);
        return;
      }
      const { size } = seen;
      if (seen.add(`${item.number ?? ""}:${item.name}`).size === size) report(alike, sample);
      items.push(item);
    };
    const isList = visitItems(answer, shape.items, {
      roles,
      device: code,
      unreadable: report,
      item: ({ fields, found, key }) => {
        const isNamed = key !== null || "name" in found || "number" in found;
        if (!("status" in found) || !isNamed) return false;
        add(key, found, fields);
        return true;
      },
      row: ({ fields, isFrame }) => {
        const switches = isFrame ? switchesIn(fields) : [];
        for (const [key, status] of switches) add(key, { status }, fields);
        return switches.length > 0;
      },
      beside: (name, node) => {
        if (/^\d{1,6}$/.test(name)) report(strange, node);
      },
    });
    if (!isList) throw new UnreadableShape(msg`no running statuses could be found in the answer`);
    if (isPageOf(answer, items.length, "list")) report(pageProblem, at(answer, "data") ?? answer);
    return items;
  };
}

const alike = msg`running statuses that nothing tells apart: name and number are the same, so only the first is shown`;

function statusItem(key: string | null, found: Roles<StatusRole>): RunningStatusItem | null {
  const isNumber = key !== null && /^\d{1,6}$/.test(key);
  const numberText = textOf(found.number) ?? (isNumber ? key : null);
  const number =
    numberText !== null && /^\d{1,9}$/.test(numberText) ? statusNumber(Number(numberText)) : null;
  const name = textOf(found.name) ?? (isNumber ? null : textOf(key)) ?? "";
  if (name === "" && number === null) return null;
  return { name, number, value: scalarOf(found.status) };
}

/** Scalars that are clearly on or off, by the name or number of their subject: `{"16": 1, "湿帘": 0}`. */
function switchesIn(fields: Fields): readonly (readonly [string, Scalar])[] {
  return Object.keys(fields).flatMap((key) => {
    const value = scalarOf(fields[key]);
    return value === null || isMetadata(key) || readFlag(value) === null ? [] : [[key, value] as const];
  });
}

const factRoles = {
  version: ["version"],
  marker: ["type"],
  description: ["description"],
  lastOnline: ["latestOnlineDatetime", "latestOnlineDateTime", "latestOnlineTime", "lastOnlineTime"],
} as const;

/**
 * The single-device status: `data.status` 1 or 0, as number, text or Boolean. `message` is an Object with the code
 * CLIENTID_NOT_FOUND for an offline or unknown device. Anything unreadable or contradictory is unknown.
 */
export const connectionReader = (shape: OperationShape): Decode<ClientStatus> => {
  const roles = roleReader(factRoles, {});
  return (answer, decoding) => {
    const data = isFields(answer) ? own(answer, "data") : undefined;
    const facts = isFields(data) ? roles(data) : {};
    return {
      state: stateOf(answer, shape, decoding),
      version: textOf(facts.version),
      description: textOf(facts.description),
      lastOnlineAt: decoding.readTime(facts.lastOnline, decoding.receivedAt),
      ...(textOf(facts.marker) === null ? {} : { marker: textOf(facts.marker) }),
    };
  };
};

function stateOf(answer: unknown, shape: OperationShape, { report }: Decoding): ClientStatus["state"] {
  const found =
    shape.value === undefined
      ? (at(answer, "data.status") ?? at(answer, "data.online") ?? at(answer, "status"))
      : at(answer, shape.value);
  const flag = readFlag(found);
  const isNotFound = at(answer, "message.code") === notFound;
  if (flag === true && !isNotFound) return "online";
  if (flag === false) return "offline";
  if (isNotFound && found === undefined) return "offline";
  report(
    msg`a connection status that is neither 0 nor 1`,
    isFields(answer) ? (own(answer, "data") ?? answer) : answer,
  );
  return "unknown";
}
