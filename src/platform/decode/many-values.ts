import type { RawValue } from "../../greenhouse/ports.js";
import type { OperationShape } from "../settings.js";
import type { ReportShape } from "../shape-reports.js";
import { UnreadableShape, type Decoding } from "./decoding.js";
import { visitItems, type Place } from "./items.js";
import { isMetadata } from "./metadata.js";
import { registerReader, registerValue, type RegisterRole } from "./register.js";
import type { ReadRoles } from "./roles.js";
import { isFields, own, scalarOf, textOf, type Fields } from "./wire.js";

/**
 * All addresses of the answer of `GET /api/set-value/flush`: an object keyed by address (plain values or `{value}`), or a list of items
 * `{address, value}`, the value plain or again as `{value}`. Addresses without a value are left out, as are those that stand there twice with different values.
 * Throws UnreadableShape where nothing could hold them.
 */
export function manyValuesReader(
  shape: OperationShape,
): (answer: unknown, code: string, decoding: Decoding) => ReadonlyMap<string, RawValue> {
  const roles = registerReader(shape);
  return (answer, code, { report }) => readManyValues(answer, shape.items, code, roles, report);
}

function readManyValues(
  answer: unknown,
  path: string | undefined,
  code: string,
  roles: ReadRoles<RegisterRole>,
  report: ReportShape,
): ReadonlyMap<string, RawValue> {
  const values = new Map<string, RawValue>();
  const doubtful = new Set<string>();
  const add = (address: string, given: unknown) => {
    const value = registerValue(given);
    if (value === null) return;
    if (values.has(address) && String(values.get(address)) !== String(value)) doubtful.add(address);
    values.set(address, value);
  };
  const isList = visitItems(answer, path, {
    device: code,
    unreadable: report,
    item: (fields, place) => {
      const found = roles(fields);
      if (typeof found.device === "string" && found.device !== code) return true;
      const address = textOf(found.address) ?? keyAddress(place);
      const inner = own(fields, "value");
      const value = "value" in found || !isFields(inner) ? found.value : inner;
      if (address !== null && value !== undefined) add(address, value);
      else for (const key of plainAddresses(fields)) add(key, fields[key]);
      return address !== null && value !== undefined;
    },
    row: (fields) => plainAddresses(fields).length > 0,
  });
  if (!isList) throw new UnreadableShape("no addresses could be found in the answer");
  for (const address of doubtful) {
    values.delete(address);
    report("an address that stands there twice with different values", { address });
  }
  return values;
}

const keyAddress = ({ key }: Place): string | null => (key !== null && isAddress(key) ? key : null);

/** Digits, or a short word with a digit in it (`D101`, `M0.1`) that does not describe something else. */
const isAddress = (key: string): boolean =>
  /^\d{1,16}$/.test(key) || (/^[A-Za-z]{0,8}\d[A-Za-z0-9._-]{0,40}$/.test(key) && !isMetadata(key));

/** Addresses of an object that keeps plain values under them. */
const plainAddresses = (fields: Fields): readonly string[] =>
  Object.keys(fields).filter(
    (key) => isAddress(key) && (fields[key] === null || scalarOf(fields[key]) !== null),
  );
