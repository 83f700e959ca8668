import { msg, type Text } from "../language/text.js";
import { deviceCodePattern } from "../greenhouse/model.js";
import { PlatformError, type PlatformHost, type Query } from "../greenhouse/ports.js";
import { isoText, localText, type ZoneOffset } from "../runtime/zone.js";
import type { OperationShape } from "./settings.js";

export interface Operation {
  readonly host: PlatformHost;
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The name in configuration and on the command line. */
  readonly name: string;
  /** The name in messages. */
  readonly label: string;
  /** Larger answers are refused, before and after inflation. */
  readonly maxAnswerMiB: number;
  /** Whether an account may lack the right to it, which says nothing about its credential. */
  readonly isExtra: boolean;
}

/** Operations that a greenhouse can do without. */
const extras: ReadonlySet<string> = new Set(["weather-data/avg", "weather-data/list", "video-data/list"]);

const operation =
  (host: PlatformHost, method: Operation["method"]) =>
  (name: string, maxAnswerMiB = 2): Operation => {
    const path = `/api/${name}`;
    return { host, method, path, name, label: `${method} ${path}`, maxAnswerMiB, isExtra: extras.has(name) };
  };

const business = operation("business", "GET");
const realtime = operation("realtime", "GET");

/** Lists of a whole account: 10,000 devices take 3 to 5 MiB. */
const listMiB = 16;

/** Every HTTP operation of the interface document, except `GET /api/set-value`, which is never called. */
export const operations = {
  signIn: operation("business", "POST")("account/sign-in"),
  stations: business("station"),
  devices: business("device", listMiB),
  weatherAverage: business("weather-data/avg"),
  weatherList: business("weather-data/list"),
  videoList: business("video-data/list"),
  controllers: business("control/mqtt", listMiB),
  connection: realtime("mqtt-client-status"),
  sensors: realtime("sensor-data"),
  runningStatuses: realtime("device_status"),
  value: realtime("get-value"),
  values: realtime("set-value/flush"),
  setValue: operation("realtime", "POST")("set-value"),
} as const satisfies Record<string, Operation>;

/** The operations `get` accepts: reads only. */
export const readOnlyOperations: readonly Operation[] = Object.values(operations).filter(
  ({ method }) => method === "GET",
);

/**
 * The read-only operation of this name (`weather-data/list`, `api/weather-data/list`, `/api/device`); null for none.
 */
export function readOnlyOperation(name: string): Operation | null {
  const short = name.replace(/^\/?(?:api\/)?/, "");
  return readOnlyOperations.find((one) => one.name === short) ?? null;
}

const maxParameters = 32;
const maxTextLength = 1_000;

/**
 * A device code that may be part of a path. Some servers decode the path before they resolve it, so only harmless
 * characters are allowed: letters and digits of any script, marks inside a word, blanks between.
 */
const plainCodePattern = /^(?!\.{1,2}$)(?! )[\p{L}\p{N}._ -]{1,64}(?<! )$/u;

/** Whether a device code may be a value in a request, where it is encoded. */
export const isDeviceCode = (code: string): boolean => deviceCodePattern.test(code);

export const isPlainCode = (code: string): boolean => plainCodePattern.test(code);

const codeName = msg`device code`;

const checker =
  (pattern: RegExp, where: Text, what: Text) =>
  (text: string, operation: Operation, name: Text = codeName): string => {
    if (pattern.test(text)) return text;
    throw invalidRequest(operation, msg`${name} ${quote(text)} cannot be ${where}: ${what}`);
  };

/** Returns the code; throws `invalid_request` for one that could change the request. */
export const deviceCode = checker(
  deviceCodePattern,
  msg`used in a request`,
  msg`use at most 64 characters, without blanks around them`,
);

/** The same for a part of a path. */
export const pathCode = checker(
  plainCodePattern,
  msg`used in a path`,
  msg`use at most 64 letters, digits, blanks, ".", "_" and "-"`,
);

/** An address or a value, named in the error: short visible text, sent unchanged. */
export const plainText = checker(/^[\x21-\x7e]{1,64}$/, msg`sent`, msg`1 to 64 visible ASCII characters are`);

/** The time range of a read of past values, epoch ms. */
export interface AskedWindow {
  readonly since: number;
  readonly until: number;
  readonly offset: ZoneOffset;
}

/** Formats of an instant, for platforms that expect another one than they write. */
const timeForms: Readonly<Record<string, (at: number, offset: ZoneOffset) => string>> = {
  date: (at, offset) => localText(at, offset).slice(0, 10),
  iso: isoText,
  ms: String,
  s: (at) => String(Math.floor(at / 1000)),
};

/** Fills in a parameter of `platform.shapes`; one about a device stays empty where no device is asked about. */
export const fillIn = (text: string, device: string, window: AskedWindow | null): string =>
  text.replace(
    /\{(?:deviceCode|(since|until)(?::(date|iso|ms|s))?)\}/g,
    (_, end?: "since" | "until", form?: string) => {
      if (end === undefined) return device;
      if (window === null) return "";
      const write = timeForms[form ?? ""] ?? localText;
      return write(window[end], window.offset);
    },
  );

/**
 * Path and query of a request. Every name and value is encoded; parameters are renamed and added as in
 * `platform.shapes`. Throws `invalid_request` for what cannot be encoded, and for an invalid device code.
 */
export function requestPath(
  operation: Operation,
  query: Query,
  shape?: OperationShape,
  windowNow: () => AskedWindow | null = () => null,
): string {
  const { query: names = {}, params = {} } = shape ?? {};
  const pairs: (readonly [name: string, value: string])[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== "string") throw invalidRequest(operation, msg`parameter ${quote(name)} is not text`);
    const renamed = Object.hasOwn(names, name) ? names[name] : undefined;
    pairs.push([renamed ?? name, name === "deviceCode" ? deviceCode(value, operation) : value]);
  }
  const asked = new Map(pairs);
  // Explicit parameters win over configured ones.
  for (const [name, given] of Object.entries(params)) {
    const value = fillIn(given, query["deviceCode"] ?? "", windowNow());
    if (!asked.has(name) && value !== "") pairs.push([name, value]);
  }
  if (pairs.length > maxParameters)
    throw invalidRequest(operation, msg`more than ${maxParameters} query parameters`);
  let path = operation.path;
  for (const [place, [name, value]] of pairs.entries())
    path += `${place === 0 ? "?" : "&"}${encode(name, operation)}=${encode(value, operation)}`;
  return path;
}

function encode(text: string, operation: Operation): string {
  if (text.length <= maxTextLength && text.isWellFormed()) return encodeURIComponent(text);
  throw invalidRequest(operation, msg`query parameter ${quote(text)} is too long or is not valid text`);
}

const invalidRequest = (operation: Operation, why: Text): PlatformError =>
  new PlatformError(msg`${operation.label}: not sent; ${why}`, {
    kind: "invalid_request",
    host: operation.host,
    operation: operation.label,
    sent: false,
  });

const quote = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
