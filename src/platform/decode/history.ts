import type { History, HistoryPoint } from "../../greenhouse/ports.js";
import { catalogueWord } from "../../greenhouse/sensor-names.js";
import { plainDigits, saysNothing } from "../../greenhouse/units.js";
import type { ReadTime } from "../time.js";
import { type Decode, type Fields, isContainer, isFields, isMetadata, own, textOf } from "./decoding.js";

/*
 * Reads past readings of any shape, as weather-data/list is not specified. Anything with a time is one moment; its
 * other numbers are quantities, or one of them is the value of a named quantity. Words count for what is known to be a
 * sensor.
 */

const timeKeys =
  /^(?:date_?time|time|date|data_?time|create_?time|collect_?time|collection_?time|record_?time|update_?time|gmt_?create|created_?at|measured_?at|timestamp|ts)$/i;
const nameKeys = /^(?:name|sensor_?name|factor_?name|factor|factor_?code|item|label|quantity|param)$/i;
const valueKeys = /^(?:value|val|sensor_?value|data|avg|average|reading)$/i;
/** Names of fields that identify something and measure nothing. */
const notMeasured =
  /(?:^|_)(?:id|sn|code|number|no|channel|version|type|sort_?order|status|customer_?id|station_?id|device_?id|latitude|longitude)$|(?:Id|Code|No|Order|Type)$/;

const mostPoints = 500_000;
const mostLooked = 1_000_000;

/** A part of an answer that is still to be read. */
interface Part {
  readonly node: unknown;
  /** The time around it. */
  readonly under: number | null;
  /** The name around it, such as the quantity of a list. */
  readonly named: string | null;
  /** Whether the requested device is around it. */
  readonly isOwn: boolean;
}

/** Past readings of the requested device. */
export const historyReader =
  (): Decode<History> =>
  (answer, { code, readTime, receivedAt }) =>
    historyIn(answer, readTime, receivedAt, code);

/** Every point of an answer, oldest first, without those of other devices than `device`. */
export function historyIn(body: unknown, readTime: ReadTime, now: number, device: string): History {
  const points: HistoryPoint[] = [];
  const open: Part[] = [{ node: body, under: null, named: null, isOwn: false }];
  let isOwn = true;
  let looked = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    looked += 1;
    const truncated = looked > mostLooked || points.length >= mostPoints;
    if (truncated) return { points: order(points), isOwn, truncated };
    if (!isContainer(next.node)) continue;
    const whose = isFields(next.node) ? deviceIn(next.node) : null;
    if (whose !== null && whose !== device) continue;
    const part = { ...next, isOwn: next.isOwn || whose !== null };
    const read = (fields: Fields) => (isFrame(fields) ? null : timeIn(fields, readTime, now));
    const at = isFields(next.node) ? (read(next.node) ?? part.under) : part.under;
    const isWord = (text: string) => readTime(text, now) === null;
    const found = isFields(next.node) && at !== null ? pointsOf(next.node, { at, ...part, isWord }) : [];
    points.push(...found);
    if (found.length > 0 && !part.isOwn) isOwn = false;
    open.push(...partsIn(next.node, { ...part, under: at }, readTime, now, device));
  }
  return { points: order(points), isOwn: isOwn && points.length > 0, truncated: false };
}

/** A name of so many digits is an id rather than a time in microseconds. */
const longNumber = /^\d{16,}$/;

/** The parts inside, which may be keyed by times, devices or quantities. */
function partsIn(
  node: object,
  { under, named, isOwn }: Part,
  readTime: ReadTime,
  now: number,
  device: string,
): readonly Part[] {
  const asked = isFields(node) ? own(node, device) : undefined;
  if (isContainer(asked)) return [{ node: asked, under, named, isOwn: true }];
  return Object.entries(node).flatMap(([key, child]: [string, unknown]): readonly Part[] => {
    if (!isContainer(child)) return [];
    const keyed = Array.isArray(node) || longNumber.test(key) ? null : readTime(key, now);
    const isName = !Array.isArray(node) && keyed === null;
    return [{ node: child, under: keyed ?? under, named: isName ? key : named, isOwn }];
  });
}

const deviceKeys = /^(?:device_?(?:code|sn)|sn)$/i;

/** The device that an object names; null for none. */
function deviceIn(fields: Fields): string | null {
  for (const [key, value] of Object.entries(fields)) {
    const text = deviceKeys.test(key) ? textOf(value) : null;
    if (text !== null && text !== "") return text;
  }
  return null;
}

const order = (points: HistoryPoint[]): readonly HistoryPoint[] =>
  points.sort((one, other) => one.at - other.at);

function timeIn(fields: Fields, readTime: ReadTime, now: number): number | null {
  for (const [key, value] of Object.entries(fields))
    if (timeKeys.test(key)) {
      const at = readTime(value, now);
      if (at !== null) return at;
    }
  return null;
}

const wrapper = /^(?:data|list|records|rows|items|result|page)$/i;

/** Whether an object is an answer's envelope, whose time is that of the answer. */
function isFrame(fields: Fields): boolean {
  const entries = Object.entries(fields);
  const isAnswer = entries.some(
    ([key, value]) =>
      (key === "code" && [0, 200, "0", "200"].includes(value as number | string)) ||
      (key === "success" && typeof value === "boolean") ||
      (key === "requestId" && typeof value === "string"),
  );
  return isAnswer && entries.some(([key, value]) => wrapper.test(key) && isContainer(value));
}

interface Moment {
  readonly at: number;
  /** The name around the object, such as the quantity of a list. */
  readonly named: string | null;
  /** Whether a text is no time. */
  readonly isWord: (text: string) => boolean;
}

function pointsOf(fields: Fields, { at, named, isWord }: Moment): readonly HistoryPoint[] {
  const entries = Object.entries(fields);
  const measured = (value: unknown) => numberOf(value) ?? wordOf(value, isWord);
  const name = entries.find(
    ([key, value]) => nameKeys.test(key) && typeof value === "string" && value !== "",
  )?.[1];
  const called = textOf(name) ?? (named === null || wrapper.test(named) ? null : named);
  const values = entries.filter(([key]) => valueKeys.test(key)).map(([, one]) => measured(one));
  const own = values.find((one) => typeof one === "number") ?? values.find((one) => one !== null);
  if (called !== null && own !== undefined) return [{ at, name: called, value: own }];
  const isCount = pageCounts(entries, named);
  return entries.flatMap(([key, one]) => {
    if (timeKeys.test(key) || notMeasured.test(key) || isCount(key)) return [];
    const value = catalogueWord(key) === null ? numberOf(one) : measured(one);
    return value === null ? [] : [{ at, name: key, value }];
  });
}

/**
 * Recognises fields that describe a page, by name and only beside that page's list; elsewhere a count may be a
 * measurement.
 */
function pageCounts(
  entries: readonly (readonly [key: string, value: unknown])[],
  named: string | null,
): (key: string) => boolean {
  const isPage = /page|pagination/i.test(named ?? "") || entries.some(([, value]) => Array.isArray(value));
  return isPage ? isMetadata : () => false;
}

const longestWord = 40;

/** A word that a sensor may show instead of a number, such as a wind direction. */
function wordOf(value: unknown, isWord: (text: string) => boolean): string | null {
  if (typeof value !== "string") return null;
  const text = value.trim();
  const isShort = text.length <= longestWord && /\p{L}/u.test(text);
  return isShort && !saysNothing(text, "reading") && isWord(text) ? text : null;
}

/** A number, or a text with a number and an optional unit. */
function numberOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || value.length > 40) return null;
  const [, digits] = /^\s*([+-]?\d+(?:\.\d+)?)\s*[^\d\s.:/-]{0,8}\s*$/.exec(plainDigits(value.trim())) ?? [];
  return digits === undefined ? null : Number(digits);
}
