import { msg } from "../../language/text.js";
import type { ListedAddress, RawValue, WriteAccepted } from "../../greenhouse/ports.js";
import { saysNothing } from "../../greenhouse/units.js";
import type { OperationShape } from "../settings.js";
import {
  at,
  type Decode,
  type Envelope,
  type Fields,
  isContainer,
  isDevice,
  isFields,
  isMetadata,
  own,
  type ReportShape,
  scalarOf,
  textOf,
  UnreadableShape,
  type ReadRoles,
  roleReader,
  words,
} from "./decoding.js";
import { visitItems } from "./items.js";
import { isPageOf, pageProblem } from "./lists.js";

/** Names of a register's fields. */
const registerNames = {
  address: ["address", "addr", "registerAddress", "addressCode", "paramAddress"],
  value: ["value", "val", "currentValue", "paramValue", "v", "data"],
  set: ["setValue"],
  device: ["deviceCode"],
} as const;

type RegisterRole = Exclude<keyof typeof registerNames, "set">;

/**
 * A reader for registers. `setValue` counts as the value where there is no field for another one. An empty field for
 * the value means that there is none.
 */
export function registerReader({ code, value }: OperationShape): ReadRoles<RegisterRole> {
  const read = roleReader(registerNames, { address: code, value });
  const mayStandIn = value === undefined;
  return (fields) => {
    const found = read(fields);
    const isAlone = !("value" in found) && !registerNames.value.some((name) => Object.hasOwn(fields, name));
    return mayStandIn && "set" in found && isAlone ? { ...found, value: found.set } : found;
  };
}

const plainRegister = registerReader({});

/** A register's value, plain or as `{value}`, without outer blanks; null for none. */
function registerValue(given: unknown, roles = plainRegister): RawValue | null {
  const scalar = scalarOf(isFields(given) ? roles(given).value : given);
  if (typeof scalar !== "string") return scalar;
  const text = scalar.trim();
  return saysNothing(text, "register") ? null : text;
}

const strangeValue = msg`a value of an address that is no text and no number`;

/** Whether something without a value holds anything unreadable. */
const isStrange = (given: unknown, roles = plainRegister): boolean =>
  isContainer(given) &&
  Object.keys(given).length > 0 &&
  (!isFields(given) || (!("value" in roles(given)) && Object.values(given).some((one) => one !== null)));

/** The object inside an item that holds its value: one called `value`, or another one that has a value. */
function innerIn(fields: Fields): object | undefined {
  const inner = registerNames.value.map((name) => own(fields, name)).filter(isFields);
  return (
    inner.find((one) => "value" in plainRegister(one)) ?? inner.find((one) => one === own(fields, "value"))
  );
}

/** Further facts that a list may give about an address. */
const readNotes = roleReader(
  {
    name: words("name addressName paramName title label showName displayName cnName"),
    unit: words("unit unitName paramUnit unitSymbol"),
  },
  {},
);

/**
 * All addresses of `GET /api/set-value/flush`: an object keyed by address (plain values or `{value}`), or a list of
 * `{address, value}`, whose value may again be `{value}`. The value is null for none, and for an address with several
 * different ones. Throws UnreadableShape where nothing could hold addresses.
 */
export function listingReader(shape: OperationShape): Decode<readonly ListedAddress[]> {
  const roles = registerReader(shape);
  return (answer, { code, report }) => {
    const listing = new Listing(report);
    const isList = visitItems(answer, shape.items, {
      roles,
      device: code,
      unreadable: report,
      item: ({ fields, found, key }) => {
        const address = textOf(found.address) ?? (key !== null && isAddress(key) ? key : null);
        const value = "value" in found ? found.value : innerIn(fields);
        if (address !== null && value !== undefined) listing.add(address, value, fields);
        else for (const plain of plainAddresses(fields)) listing.add(plain, fields[plain]);
        return address !== null && value !== undefined;
      },
      row: ({ fields }) => plainAddresses(fields).length > 0,
      beside: (name, node) => {
        if (isAddress(name)) listing.add(name, node);
      },
    });
    if (!isList) throw new UnreadableShape(msg`no addresses could be found in the answer`);
    const all = listing.all();
    if (isPageOf(answer, all.length, "list")) report(pageProblem, at(answer, "data") ?? answer);
    return all;
  };
}

/** The addresses of one answer, each once. */
class Listing {
  readonly #report: ReportShape;
  readonly #listed = new Map<string, ListedAddress>();
  readonly #doubtful = new Set<string>();

  constructor(report: ReportShape) {
    this.#report = report;
  }

  add(address: string, given: unknown, fields: Fields = {}): void {
    const value = registerValue(given);
    const isUnread = value === null && isStrange(given);
    if (isUnread) this.#report(strangeValue, { [address]: given });
    const known = this.#listed.get(address)?.value ?? null;
    if (known !== null && value !== null && String(known) !== String(value)) this.#doubtful.add(address);
    const { name, unit } = readNotes(fields);
    if (value !== null || (known === null && (isUnread || !this.#listed.has(address))))
      this.#listed.set(address, {
        ...{ address, value, name: textOf(name), unit: textOf(unit) },
        ...(isUnread && { unclear: "strange" }),
      });
  }

  /** An address with several different values has none, and is reported. */
  all(): readonly ListedAddress[] {
    for (const address of this.#doubtful) this.#report(twice, { address });
    return [...this.#listed.values()].map((one) =>
      this.#doubtful.has(one.address) ? { ...one, value: null, unclear: "doubtful" } : one,
    );
  }
}

/** The addresses of such an answer that have a value. */
export function manyValuesReader(shape: OperationShape): Decode<ReadonlyMap<string, RawValue>> {
  const read = listingReader(shape);
  return (answer, decoding) =>
    new Map(
      read(answer, decoding).flatMap(({ address, value }) => (value === null ? [] : [[address, value]])),
    );
}

/** Digits, or a short word with a digit (`D101`, `M0.1`) that has no other meaning. */
const isAddress = (key: string): boolean =>
  /^\d{1,16}$/.test(key) || (/^[A-Za-z]{0,8}\d[A-Za-z0-9._-]{0,40}$/.test(key) && !isMetadata(key));

/** Addresses of an object with plain values by address. */
const plainAddresses = (fields: Fields): readonly string[] =>
  Object.keys(fields).filter(
    (key) => isAddress(key) && (fields[key] === null || scalarOf(fields[key]) !== null),
  );

/** A value, no value (`value: null`), or nothing found (null). */
type Found = { readonly value: RawValue | null } | null;

const envelopeNames = new Set(["code", "message", "msg", "data", "requestId", "timestamp", "success"]);
const doors = ["data", "list", "records", "rows", "items", "values", "result", "page", "content"] as const;
const maxDepth = 4;

/**
 * The value of one address in `GET /api/get-value`: under the address itself, plain or as `{value}`, or in an item
 * `{address, value}`. Null for none. Another address's value is never taken.
 */
export function oneValueReader(shape: OperationShape): Decode<RawValue | null> {
  const roles = registerReader(shape);
  // A configured path from the answer to the value: `value: data.{address}.current`.
  const way = shape.items === undefined && shape.code === undefined ? shape.value : undefined;
  return (answer, { code, address, report }) => {
    if (way !== undefined) {
      const direct = at(answer, way.replaceAll("{address}", address));
      const value = isContainer(direct) ? null : registerValue(direct);
      if (value !== null) return value;
    }
    const root = shape.items === undefined ? answer : at(answer, shape.items);
    const found =
      find(root, { code, address, roles, report }, 0, shape.items === undefined) ?? bareValue(answer);
    if (found === null && holdsSomething(answer))
      report(msg`an answer without the address that was asked`, answer);
    return found?.value ?? null;
  };
}

interface Search {
  readonly code: string;
  readonly address: string;
  readonly roles: ReadRoles<RegisterRole>;
  readonly report: ReportShape;
}

function find(node: unknown, search: Search, depth: number, isEnvelope: boolean): Found {
  if (depth > maxDepth) return null;
  if (Array.isArray(node)) return findInList(node, search, depth);
  let inside: readonly unknown[] = [];
  if (isFields(node)) {
    const { address, code, roles, report } = search;
    const found = roles(node);
    const named = textOf(found.device);
    if (named !== null && !isDevice(named, code)) return null;
    if (Object.hasOwn(node, address) && !(isEnvelope && envelopeNames.has(address))) {
      const value = registerValue(node[address], roles);
      if (value === null && isStrange(node[address], roles)) report(strangeValue, node);
      return { value };
    }
    const given = "value" in found ? found.value : innerIn(node);
    if (textOf(found.address) === address && given !== undefined) return { value: registerValue(given) };
    const behind: unknown[] = [];
    for (const name of [code, ...doors]) behind.push(own(node, name));
    inside = behind;
  }
  for (const one of inside) {
    const found = isContainer(one) ? find(one, search, depth + 1, false) : null;
    if (found !== null) return found;
  }
  return null;
}

/** An address with several different values has none. */
function findInList(list: readonly unknown[], search: Search, depth: number): Found {
  let first: Found = null;
  for (const one of list) {
    const found = isContainer(one) ? find(one, search, depth + 1, false) : null;
    if (found === null) continue;
    if (first === null || first.value === null) first = found;
    else if (found.value !== null && String(found.value) !== String(first.value)) {
      search.report(twice, { address: search.address });
      return { value: null };
    }
  }
  return first;
}

const twice = msg`an address that stands there twice with different values`;

/** The value where `data` itself is one: only digits, but not the numbers 0 and 1, which may be flags. */
function bareValue(answer: unknown): Found {
  const data = at(answer, "data");
  const isValue =
    typeof data === "string" ? /^\d{1,16}$/.test(data) : Number.isInteger(data) && data !== 0 && data !== 1;
  return isValue ? { value: registerValue(data) } : null;
}

/** Whether `data` holds something that was not understood; an empty or absent one clearly means no value. */
function holdsSomething(answer: unknown): boolean {
  const data = at(answer, "data");
  if (data === undefined || data === null || data === "") return false;
  return !isContainer(data) || Object.keys(data).length > 0;
}

const echoedNames = ["deviceCode", "address", "value"] as const;

/**
 * The answer to an accepted `POST /api/set-value`; its three echoed fields stand under `data` or beside the code.
 * Without a code only an echo of all three means acceptance; null where there is neither. A different echo beside a
 * code is only reported, as the read-back decides.
 */
export function readWriteAnswer(
  answer: unknown,
  envelope: Envelope,
  sent: Readonly<Record<"deviceCode" | "address" | "value", string>>,
  report: ReportShape,
): WriteAccepted | null {
  const data = at(answer, "data");
  const echo = isFields(data) ? data : isFields(answer) ? answer : {};
  const others: string[] = [];
  let isWhole = true;
  for (const name of echoedNames) {
    const echoed = textOf(own(echo, name));
    const isSame = echoed !== null && (echoed === sent[name] || Number(echoed) === Number(sent[name]));
    isWhole &&= isSame;
    if (echoed !== null && !isSame) others.push(name);
  }
  // The answer to a POST for another device says nothing about this one.
  const device = textOf(own(echo, "deviceCode"));
  if (device !== null && !isDevice(device, sent.deviceCode)) {
    report(msg`a set-value answer about another device`, echo);
    return null;
  }
  if (envelope.code === null && !isWhole) return null;
  for (const name of others) report(msg`a set-value answer that echoes another ${name}`, echo);
  return { requestId: envelope.requestId, code: envelope.code };
}
