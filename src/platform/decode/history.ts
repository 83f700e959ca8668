import type { ReadTime } from "../time.js";
import { type Fields, isContainer, isFields, textOf } from "./decoding.js";

/*
 * Past readings, in whatever shape they come: nothing says what weather-data/list answers. Anything that has a time is taken as one
 * moment; its other numbers are quantities, or one of them is the value of what it names.
 */

export interface HistoryPoint {
  /** Epoch ms. */
  readonly at: number;
  /** As the platform writes it. */
  readonly name: string;
  readonly value: number;
}

const timeKeys =
  /^(?:date_?time|time|date|data_?time|create_?time|collect_?time|collection_?time|record_?time|update_?time|gmt_?create|created_?at|measured_?at|timestamp|ts)$/i;
const nameKeys = /^(?:name|sensor_?name|factor_?name|factor|factor_?code|item|label|quantity|param)$/i;
const valueKeys = /^(?:value|val|sensor_?value|data|avg|average|reading)$/i;
/** What tells things apart and measures nothing. */
const notMeasured =
  /(?:^|_)(?:id|code|number|no|channel|version|type|sort_?order|status|customer_?id|station_?id|device_?id|latitude|longitude)$|(?:Id|Code|No|Order|Type)$/;

const mostPoints = 500_000;
const mostLooked = 1_000_000;

/** Every point of an answer, oldest first; `truncated` where there were too many. */
export function historyIn(
  body: unknown,
  readTime: ReadTime,
  now: number,
): { readonly points: readonly HistoryPoint[]; readonly truncated: boolean } {
  const points: HistoryPoint[] = [];
  const open: { readonly node: unknown; readonly under: number | null; readonly named: string | null }[] = [
    { node: body, under: null, named: null },
  ];
  let looked = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    looked += 1;
    if (looked > mostLooked || points.length >= mostPoints)
      return { points: ordered(points), truncated: true };
    const { node, under, named } = next;
    if (!isContainer(node)) continue;
    const at = isFields(node) ? (timeIn(node, readTime, now) ?? under) : under;
    if (isFields(node) && at !== null) points.push(...pointsOf(node, at, named));
    for (const [key, child] of Object.entries(node)) {
      if (!isContainer(child)) continue;
      // What is keyed by times, or by the names of quantities.
      const keyed = Array.isArray(node) ? null : readTime(key, now);
      open.push({
        node: child,
        under: keyed ?? at,
        named: Array.isArray(node) || keyed !== null ? named : key,
      });
    }
  }
  return { points: ordered(points), truncated: false };
}

const ordered = (points: HistoryPoint[]): readonly HistoryPoint[] =>
  points.sort((one, other) => one.at - other.at);

function timeIn(fields: Fields, readTime: ReadTime, now: number): number | null {
  for (const [key, value] of Object.entries(fields))
    if (timeKeys.test(key)) {
      const at = readTime(value, now);
      if (at !== null) return at;
    }
  return null;
}

/** `named` is what the object stands under, such as the quantity of a list of its own. */
function pointsOf(fields: Fields, at: number, named: string | null): readonly HistoryPoint[] {
  const entries = Object.entries(fields);
  const name = entries.find(
    ([key, value]) => nameKeys.test(key) && typeof value === "string" && value !== "",
  )?.[1];
  const value = entries.find(([key, one]) => valueKeys.test(key) && numberOf(one) !== null)?.[1];
  const isWrapper = named === null || /^(?:data|list|records|rows|items|result|page)$/i.test(named);
  const called = textOf(name) ?? (isWrapper ? null : named);
  const own = numberOf(value);
  if (called !== null && own !== null) return [{ at, name: called, value: own }];
  return entries.flatMap(([key, one]) => {
    const number = timeKeys.test(key) || notMeasured.test(key) ? null : numberOf(one);
    return number === null ? [] : [{ at, name: key, value: number }];
  });
}

/** A number, or a text that is one, with a unit behind it perhaps. */
function numberOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || value.length > 40) return null;
  const [, digits] = /^\s*([+-]?\d+(?:\.\d+)?)\s*[^\d\s.:/-]{0,8}\s*$/.exec(value) ?? [];
  return digits === undefined ? null : Number(digits);
}
