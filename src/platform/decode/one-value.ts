import type { RawValue } from "../../greenhouse/ports.js";
import type { Decoding } from "./decoding.js";
import type { OperationShape } from "../settings.js";
import { registerReader, registerValue, type RegisterRole } from "./register.js";
import type { ReadRoles } from "./roles.js";
import { at, isContainer, isFields, own, textOf, type Fields } from "./wire.js";

/** Found, or found to be empty, or nowhere. */
type Found = { readonly value: RawValue | null } | null;

const envelopeNames = new Set(["code", "message", "msg", "data", "requestId", "timestamp", "success"]);
const doors = ["data", "list", "records", "rows", "items", "values", "result"] as const;
const maxDepth = 4;

/**
 * The value of one address in the answer of `GET /api/get-value`: under the address itself, plain or as `{value}`, or in an item
 * `{address, value}`. Null when the answer holds none. Another address's value is never taken for it.
 */
export function oneValueReader(
  shape: OperationShape,
): (answer: unknown, code: string, address: string, decoding: Decoding) => RawValue | null {
  const roles = registerReader(shape);
  return (answer, code, address, { report }) => {
    const direct = atConfiguredPath(answer, address, shape);
    if (direct !== null) return direct;
    const root = shape.items === undefined ? answer : at(answer, shape.items);
    const found = find(root, { code, address, roles }, 0, shape.items === undefined) ?? bareValue(answer);
    if (found === null && holdsSomething(answer))
      report("an answer without the address that was asked", answer);
    return found?.value ?? null;
  };
}

/** `value: data.{address}.current`: the whole way from the answer to the value. */
function atConfiguredPath(answer: unknown, address: string, shape: OperationShape): RawValue | null {
  if (shape.value === undefined || shape.items !== undefined || shape.code !== undefined) return null;
  const direct = at(answer, shape.value.replaceAll("{address}", address));
  return isContainer(direct) ? null : registerValue(direct);
}

interface Search {
  readonly code: string;
  readonly address: string;
  readonly roles: ReadRoles<RegisterRole>;
}

function find(node: unknown, search: Search, depth: number, isEnvelope: boolean): Found {
  if (depth > maxDepth) return null;
  if (Array.isArray(node)) return findIn(node, search, depth);
  if (!isFields(node)) return null;
  const { address, code, roles } = search;
  if (Object.hasOwn(node, address) && !(isEnvelope && envelopeNames.has(address)))
    return { value: registerValue(node[address], roles) };
  const item = asItem(node, search);
  if (item !== null) return item;
  return findIn([own(node, code), ...doors.map((door) => own(node, door))], search, depth);
}

function findIn(nodes: readonly unknown[], search: Search, depth: number): Found {
  for (const node of nodes) {
    const found = isContainer(node) ? find(node, search, depth + 1, false) : null;
    if (found !== null) return found;
  }
  return null;
}

function asItem(fields: Fields, { address, roles, code }: Search): Found {
  const found = roles(fields);
  const isOther = typeof found.device === "string" && found.device !== code;
  if (isOther || textOf(found.address) !== address || !("value" in found)) return null;
  return { value: registerValue(found.value) };
}

/** `data` itself is the value: only digits can be, and neither 0 nor 1 as a number, which may be a flag. */
function bareValue(answer: unknown): Found {
  const data = at(answer, "data");
  const isValue =
    typeof data === "string" ? /^\d{1,16}$/.test(data) : Number.isInteger(data) && data !== 0 && data !== 1;
  return isValue ? { value: registerValue(data) } : null;
}

/** An empty or absent `data` says plainly that there is no value; anything else was not understood. */
function holdsSomething(answer: unknown): boolean {
  const data = at(answer, "data");
  if (data === undefined || data === null || data === "") return false;
  return !isContainer(data) || Object.keys(data).length > 0;
}
