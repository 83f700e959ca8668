import { msg, type Text, TextError } from "../../language/text.js";
import type { ReadTime } from "../time.js";

/** A JSON object of the platform. It is only looked up by name, never copied whole. */
export type Fields = Readonly<Record<string, unknown>>;
export type Scalar = string | number | boolean;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** An own property, so that names such as `constructor` find nothing. */
export const own = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** The names of a list separated by blanks. */
export const words = (text: string): readonly string[] => text.split(" ");

/** Trimmed text of a string or a finite number; null for anything else and for blanks. */
export function textOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null;
  if (typeof value !== "string") return null;
  const text = value.trim();
  return text === "" ? null : text;
}

/** A string, a finite number or a boolean, unchanged; null for anything else. */
export function scalarOf(value: unknown): Scalar | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/** The value at a dotted path (`data.list`, `data.0.name`); undefined where a step is missing. */
export function at(value: unknown, path: string): unknown {
  let here: unknown = value;
  for (const step of path.split(".")) {
    if (!isContainer(here)) return undefined;
    here = Object.hasOwn(here, step) ? (here as Fields)[step] : undefined;
  }
  return here;
}

/** Receives what decoders of an operation could not read; `answer` contains the sample. */
export type ReportShape = (problem: Text, sample: unknown, answer?: unknown) => void;

/** The inputs of every decoder beside the answer. */
export interface Decoding {
  /** Requested device and address; empty for none. */
  readonly code: string;
  readonly address: string;
  readonly report: ReportShape;
  readonly readTime: ReadTime;
  /** Epoch ms. */
  readonly receivedAt: number;
}

/** Made once for the shape of an operation. Throws UnreadableShape for an answer of another kind. */
export type Decode<T> = (answer: unknown, decoding: Decoding) => T;

/** The whole answer is not what the operation returns. */
export class UnreadableShape extends TextError {
  override name = "UnreadableShape" as const;
}

/** Whether the device that an answer names is the requested one; the answer may have lost leading zeros. */
export function isDevice(named: string, code: string): boolean {
  const digits = /^\d+$/;
  return named === code || (digits.test(named) && digits.test(code) && Number(named) === Number(code));
}

/** Throws UnreadableShape where an answer names another device than the requested one. */
export function checkDevice(answer: unknown, code: string): void {
  const data = isFields(answer) ? own(answer, "data") : undefined;
  for (const fields of [answer, data])
    for (const name of isFields(fields) ? (["deviceCode", "deviceSn"] as const) : []) {
      const named = textOf(own(fields as Fields, name));
      if (named !== null && !isDevice(named, code))
        throw new UnreadableShape(msg`the answer is about another device than was asked about`);
    }
}

/** What any answer may carry around its data. */
export interface Envelope {
  /** The body's `code` as text; null for none. */
  readonly code: string | null;
  readonly requestId: string | null;
  /** It says `success: false` without data, which is a failure whatever its code. */
  readonly isRefusal: boolean;
}

export function envelopeOf(body: unknown): Envelope {
  if (!isFields(body)) return { code: null, requestId: null, isRefusal: false };
  const data = own(body, "data");
  return {
    code: textOf(own(body, "code")),
    requestId: textOf(own(body, "requestId")) ?? (isFields(data) ? textOf(own(data, "requestId")) : null),
    isRefusal: String(own(body, "success")).toLowerCase() === "false" && !holdsData(data),
  };
}

export const holdsData = (data: unknown): boolean =>
  isContainer(data) ? Object.keys(data).length > 0 : data !== undefined && data !== null && data !== "";

/** A body's message about its failure as text: a String, or an Object `{code, message}`; the 403 body adds `error`. */
export function messageOf(body: unknown): string | null {
  if (!isFields(body)) return null;
  const message = own(body, "message") ?? own(body, "msg");
  const what = textOf(isFields(message) ? own(message, "code") : own(body, "error"));
  const why = textOf(isFields(message) ? own(message, "message") : message);
  return what === null ? why : why === null ? what : `${what}: ${why}`;
}

const complaining = new Set(words("error err errMsg errorMsg errorMessage msg message detail"));
const besideComplaints = new Set(
  words("timestamp time ts path status success requestId traceId trace exception"),
);
const agreement = /^(?:ok|success(?:ful)?|succeeded|(?:操作|查询|请求)?成功)[.!。！]?$/i;

/** Whether an answer consists of words, like an error: no code and no data, and only fields that belong to an error. */
export function isComplaint(body: unknown): boolean {
  if (!isFields(body) || Object.hasOwn(body, "data")) return false;
  const names = Object.keys(body).filter((name) => holdsData(body[name]));
  const { status, success } = body;
  // A device's status may stand alone, and its unknown code may be the whole answer.
  const isAnswer = readFlag(status) !== null || textOf(status) === "200" || readFlag(success) === true;
  if (isAnswer || at(body, "message.code") === notFound) return false;
  const isGood = (name: string) => agreement.test(textOf(body[name]) ?? "");
  if (!names.every((name) => (complaining.has(name) || besideComplaints.has(name)) && !isGood(name)))
    return false;
  const said = names.filter((name) => complaining.has(name));
  return said.length > 0 && said.every((name) => isSaid(body[name]));
}

/** Words, or `{code, message}`: any other list or object may be the data. */
const isSaid = (value: unknown): boolean =>
  !isContainer(value) ||
  (isFields(value) && Object.keys(value).every((name) => name === "code" || name === "message"));

/** The single-device status's code for an offline or unknown device. */
export const notFound = "CLIENTID_NOT_FOUND";

const hostile = ["__proto__", "constructor", "prototype"] as const;

/** The answer without names that could change a prototype when copied. */
export function withoutHostileNames(answer: unknown): unknown {
  const open: unknown[] = [answer];
  while (open.length > 0) {
    const node = open.pop();
    if (!isContainer(node)) continue;
    for (const name of hostile) if (Object.hasOwn(node, name)) Reflect.deleteProperty(node, name);
    for (const child of Object.values(node)) if (isContainer(child)) open.push(child);
  }
  return answer;
}

/** Last words of names that describe a record or a page, so that their scalars are no readings or registers. */
const metadataWords = new Set(
  (
    "id code type status state flag version index order sort page pages size total count counts num number no " +
    "time date timestamp ts lng lat lon longitude latitude success name unit remark desc description message msg " +
    "online current deleted delete enabled enable by from to limit offset cost deviceid typeid stationid"
  ).split(" "),
);

const lastWord = /(?:[A-Z]+|[A-Z]?[a-z]+)$/;

export const isMetadata = (name: string): boolean =>
  metadataWords.has((lastWord.exec(name)?.[0] ?? "").toLowerCase());

export class UnreadableJson extends TextError {
  override name = "UnreadableJson" as const;
}

const maxDepth = 500;

/** Whether a text inside a text may be parsed; otherwise it stays a text. */
type MayParse = (text: Buffer) => boolean;

/**
 * Parses JSON text, with or without a byte order mark. Integers beyond 2^53 become texts without loss. Throws
 * UnreadableJson for broken text and for more than 500 levels, which could overflow recursive functions.
 */
export function parseJson(body: Buffer, mayParse: MayParse = () => true): unknown {
  const decoded = body.toString("utf8");
  const text = decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded;
  // Most answers have no long number.
  const isPlain = !/\d{16}/.test(text);
  try {
    if (isPlain && isTooDeep(text)) throw tooDeep();
    return withContentParsed(parsed(isPlain ? text : withLongsQuoted(text)), mayParse);
  } catch (error) {
    throw error instanceof UnreadableJson ? error : new UnreadableJson(msg`broken or cut JSON`);
  }
}

/** Some programs write `NaN`, which is no JSON; only that value is lost, not the answer. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!/\b(?:NaN|Infinity)\b/.test(text)) throw error;
    const without = text.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)|-?\b(?:NaN|Infinity)\b/g, (part) =>
      part.startsWith('"') ? part : "null",
    );
    return JSON.parse(without) as unknown;
  }
}

/** Fields in which an answer or frame keeps its content. */
const contents = ["data", "payload", "body", "content", "result"] as const;

/** Parses the content where it is JSON inside a text. */
function withContentParsed(body: unknown, mayParse: MayParse): unknown {
  if (!isFields(body)) return body;
  let whole = body;
  for (const name of contents) {
    const text = own(body, name);
    if (typeof text !== "string" || !/^\s*[[{]/.test(text)) continue;
    const inner = Buffer.from(text);
    if (!mayParse(inner)) continue;
    try {
      whole = { ...whole, [name]: parseJson(inner, mayParse) };
    } catch {
      // It is plain words.
    }
  }
  return whole;
}

const tooDeep = () => new UnreadableJson(`nested deeper than ${maxDepth} levels`);

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length && depth <= maxDepth; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at);
    else if (code === 0x5b || code === 0x7b) depth += 1;
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return depth > maxDepth;
}

const quote = 0x22;

/** The text with its long integers in quotes; the same text where there are none. Strings are skipped. */
function withLongsQuoted(text: string): string {
  const tokens = /["[\]{}]|[-\d][\d.eE+-]*/g;
  let quoted = "";
  let copied = 0;
  let depth = 0;
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    const [token] = found;
    if (token === '"') tokens.lastIndex = stringEnd(text, found.index) + 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (token === "{" || token === "[") {
      depth += 1;
      if (depth > maxDepth) throw tooDeep();
    } else if (isLossy(token)) {
      quoted += `${text.slice(copied, found.index)}"${token}"`;
      copied = tokens.lastIndex;
    }
  }
  return copied === 0 ? text : quoted + text.slice(copied);
}

/** Index of the quote that closes the string at `start`; the end of the text without one. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

const isLossy = (token: string): boolean => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

const flags = new Map([
  ...["1", "true", "online", "在线"].map((word) => [word, true] as const),
  ...["0", "false", "offline", "离线"].map((word) => [word, false] as const),
]);

/** A Boolean or Int, also as text; null for anything else. */
export const readFlag = (value: unknown): boolean | null =>
  isContainer(value) ? null : (flags.get(String(value).trim().toLowerCase()) ?? null);

/**
 * An instant in parts (`[2026, 3, 1, 16, 0, 0]`, as some Java programs write it) as text; anything else unchanged.
 * Parts after the seconds are dropped.
 */
function datedText(value: unknown): unknown {
  if (!isDate(value)) return value;
  const [year, month, day, hour, minute, second] = [...value, 0].map((part) => String(part).padStart(2, "0"));
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

const isDate = (value: unknown): value is readonly number[] =>
  Array.isArray(value) &&
  value.length >= 5 &&
  value.length <= 7 &&
  value.every((part: unknown, at) => Number.isInteger(part) && isWithin(Number(part), partsOfDate[at]));

/** Ranges of year, month, day, hour, minute and second; further parts are ignored. */
const partsOfDate = [
  [1970, 2969],
  [1, 12],
  [1, 31],
  [0, 23],
  [0, 59],
  [0, 59],
] as const;

const isWithin = (part: number, [least, most]: readonly [number, number] = [0, Infinity]): boolean =>
  part >= least && part <= most;

/** Whether a list or object may hold something: neither an instant in parts nor empty. */
export const mayHold = (value: unknown): value is object =>
  isContainer(value) && !isDate(value) && Object.keys(value).length > 0;

/** The names that platforms give each role of an item, in order of preference. `device` names the item's device. */
type RoleTable<R extends string> = Readonly<Record<R, readonly string[]>>;
export type Roles<R extends string> = Readonly<Partial<Record<R, unknown>>>;
export type ReadRoles<R extends string> = (fields: Fields) => Roles<R>;

interface RolePlace<R> {
  readonly role: R;
  readonly rank: number;
}

const nullRank = 1_000;

/**
 * Finds an item's roles in one pass over its fields. Lists and objects are no candidates, `null` only where nothing
 * better exists. A configured path replaces the table's names for its role. Spelling variants (`dateTime`, `datetime`,
 * `date_time`, `DateTime`) need not be listed.
 */
export function roleReader<R extends string>(
  table: RoleTable<R>,
  paths: Readonly<Partial<Record<R, string | undefined>>>,
): ReadRoles<R> {
  const configured = Object.entries(paths).filter(
    (entry): entry is [R, string] => typeof entry[1] === "string",
  );
  const isUsual = configured.length === 0;
  const known = isUsual ? (usual.get(table) as ReadonlyMap<string, RolePlace<R>> | undefined) : undefined;
  const places = known ?? placesOf(table, paths);
  if (isUsual) usual.set(table, places);
  return (fields) => {
    const roles: Partial<Record<R, unknown>> = {};
    const ranks: Partial<Record<R, number>> = {};
    for (const name in fields) {
      const place = places.get(name);
      if (place === undefined) continue;
      const value = datedText(fields[name]);
      if (isContainer(value)) continue;
      const rank = value === null || value === "" ? place.rank + nullRank : place.rank;
      const best = ranks[place.role];
      if (best !== undefined && best <= rank) continue;
      roles[place.role] = value;
      ranks[place.role] = rank;
    }
    for (const [role, path] of configured) {
      const value = datedText(at(fields, path));
      if (value !== undefined) roles[role] = value;
    }
    return roles;
  };
}

/** By table, without configured paths; all accounts of a fleet share these. */
const usual = new WeakMap<object, ReadonlyMap<string, RolePlace<string>>>();

function placesOf<R extends string>(
  table: RoleTable<R>,
  paths: Readonly<Partial<Record<R, string | undefined>>>,
): ReadonlyMap<string, RolePlace<R>> {
  const places = new Map<string, RolePlace<R>>();
  for (const [role, names] of Object.entries(table) as [R, readonly string[]][]) {
    if (paths[role] !== undefined) continue;
    names.forEach((name, rank) => {
      for (const spelling of spellings(name)) {
        const known = places.get(spelling);
        if (known === undefined || known.rank > rank) places.set(spelling, { role, rank });
      }
    });
  }
  return places;
}

function spellings(name: string): readonly string[] {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const pascal = name.slice(0, 1).toUpperCase() + name.slice(1);
  return [name, name.toLowerCase(), name.toUpperCase(), snake, snake.toUpperCase(), pascal];
}
