import { deviceCodePattern } from "../greenhouse/device-code.js";
import { PlatformError } from "../greenhouse/platform-error.js";
import type { Query } from "../greenhouse/ports.js";
import type { Operation } from "./operations.js";
import { isWellFormed } from "../runtime/redaction.js";
import type { OperationShape } from "./settings.js";

const maxParameters = 32;
const maxTextLength = 1_000;

/** Whether a device code may be a value in a request, where it is encoded. */
export const isDeviceCode = (code: string): boolean => deviceCodePattern.test(code);

/** Whether it may also be a part of a path: some servers decode that before they look where it leads. */
export const isPlainCode = (code: string): boolean => isDeviceCode(code) && /^[A-Za-z0-9._-]+$/.test(code);

/** The code itself; throws `invalid_request` for one that could change what is asked. */
export function deviceCode(code: string, operation: Operation): string {
  if (isDeviceCode(code)) return code;
  throw invalidRequest(
    operation,
    `device code ${shown(code)} cannot be used in a request: at most 64 characters are, without blanks around them`,
  );
}

/** The same for a part of a path. */
export function pathCode(code: string, operation: Operation): string {
  if (isPlainCode(code)) return code;
  throw invalidRequest(
    operation,
    `device code ${shown(code)} cannot be used in a path: only letters, digits, ".", "_" and "-" are, at most 64`,
  );
}

/** An address or a value: short visible text, sent as it is. */
export function plainText(text: string, what: string, operation: Operation): string {
  if (/^[\x21-\x7e]{1,64}$/.test(text)) return text;
  throw invalidRequest(
    operation,
    `${what} ${shown(text)} cannot be sent: 1 to 64 visible ASCII characters are`,
  );
}

/**
 * Path and query of a request; every name and value is encoded, parameters are renamed and added as `platform.shapes` says.
 * Throws `invalid_request` for what cannot be encoded.
 */
export function requestPath(operation: Operation, query: Query, shape?: OperationShape): string {
  const asked = Object.entries(query).map(([name, value]) => [renamed(name, shape), value] as const);
  const names = new Set(asked.map(([name]) => name));
  // What is asked for itself is not overruled.
  const fixed = Object.entries(shape?.params ?? {}).filter(([name]) => !names.has(name));
  const all = [...asked, ...fixed];
  if (all.length > maxParameters)
    throw invalidRequest(operation, `more than ${maxParameters} query parameters`);
  let path = operation.path;
  let separator = "?";
  for (const [name, value] of all) {
    path += `${separator}${encoded(name, operation)}=${encoded(value, operation)}`;
    separator = "&";
  }
  return path;
}

/** Throws for a query of a user whose parameters are not plain text or whose device code is not one. */
export function userQuery(operation: Operation, query: Query): Query {
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== "string") throw invalidRequest(operation, `parameter ${shown(name)} is not text`);
    if (name === "deviceCode") deviceCode(value, operation);
  }
  return query;
}

const renamed = (name: string, shape: OperationShape | undefined): string =>
  shape?.query !== undefined && Object.hasOwn(shape.query, name) ? (shape.query[name] ?? name) : name;

function encoded(text: string, operation: Operation): string {
  if (text.length <= maxTextLength && isWellFormed(text)) return encodeURIComponent(text);
  throw invalidRequest(operation, `query parameter ${shown(text)} is too long or is not valid text`);
}

const invalidRequest = (operation: Operation, why: string): PlatformError =>
  new PlatformError(`${operation.label}: not sent; ${why}`, {
    kind: "invalid_request",
    host: operation.host,
    operation: operation.label,
    sent: false,
  });

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
