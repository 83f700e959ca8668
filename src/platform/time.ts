import type { Clock } from "../runtime/clock.js";
import type { ZoneOffset } from "../runtime/zone.js";

/**
 * The instant of a zone's wall time (given as if it were UTC). Of an hour that exists twice it is the instant closer to
 * `nearAt`; a time in a skipped hour means the same distance after the change.
 */
function instantOf(wallAt: number, offset: ZoneOffset, nearAt: number): number {
  const early = wallAt - offset(wallAt - 86_400_000);
  const late = wallAt - offset(wallAt + 86_400_000);
  if (early === late) return early;
  const real = [early, late].filter((at) => at + offset(at) === wallAt);
  const [first = early, second = first] = real;
  return Math.abs(second - nearAt) < Math.abs(first - nearAt) ? second : first;
}

/** Parses an instant of the platform: epoch ms, or null for none. `nearAt` is the time of receipt. */
export type ReadTime = (value: unknown, nearAt: number) => number | null;

/**
 * `YYYY-MM-DD HH:mm[:ss[.fraction]]` with `-`, `/`, `.` or 年月日, a blank or `T`, and an optional zone or half of the
 * day; `YYYYMMDDHHmmss`; `Mar 1, 2026, 4:00:00 PM`; `Sun, 01 Mar 2026 08:00:00 GMT`; `/Date(1772352000000)/`; epoch
 * seconds to nanoseconds as number or digits. A date without time is no instant, nor are days and months only in
 * digits, whose order is unknown.
 */
export function timeReader(offset: ZoneOffset): ReadTime {
  return (value, nearAt) => {
    if (typeof value === "number") return epoch(value);
    return typeof value === "string" ? readText(value.trim(), offset, nearAt) : null;
  };
}

/** An instant between 2001 and 2286; other numbers have an unknown unit. */
function epoch(value: number): number | null {
  const ms = [1000, 1, 1e-3, 1e-6].map((unit) => value * unit).find((one) => one >= 1e12 && one < 1e13);
  return ms === undefined ? null : Math.round(ms);
}

const clock = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?(AM|PM))?`;
const zoneAt = String.raw`(?: ?(Z|GMT|UTC|(?:GMT|UTC)?[+-]\d{2}(?::?\d{2})?))?`;
const separated = new RegExp(
  String.raw`^(\d{4})(?:-|\/|\.|年)(\d{1,2})(?:-|\/|\.|月)(\d{1,2})日?(?:[ T]{1,3}|(?<=日))${clock}${zoneAt}$`,
  "i",
);
const compact = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/;
const monthNames = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const month = String.raw`(${monthNames.join("|")})[a-z]{0,6}\.?`;
const weekday = String.raw`^(?:[a-z]{3,9},? )?`;
const monthFirst = new RegExp(String.raw`${weekday}${month} (\d{1,2}),? (\d{4}),? ${clock}${zoneAt}$`, "i");
const dayFirst = new RegExp(String.raw`${weekday}(\d{1,2})[ -]${month}[ -](\d{4}),? ${clock}${zoneAt}$`, "i");
/** A zone's name may follow its offset. */
const nameOfZone = /(?<=Z|[+-]\d{2}:?\d{2})(?:\[[\w+/-]{1,32}\]| [A-Z]{3,4}| \([^)]{1,40}\))$/;
const epochText = /^(?:\/Date\((\d{13})\)\/|(\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}))$/;
const longest = 80;

type Match = readonly (string | undefined)[];

function readText(text: string, offset: ZoneOffset, nearAt: number): number | null {
  if (text.length > longest) return null;
  const ordered = separated.exec(text) ?? compact.exec(text);
  if (ordered !== null)
    return instantIn(ordered, [ordered[1], ordered[2], ordered[3]].map(Number), offset, nearAt);
  const [, inDate, digits = inDate] = epochText.exec(text) ?? [];
  return digits === undefined ? readOther(text, offset, nearAt) : epoch(Number(digits));
}

/** Forms that depend on the program's language. */
function readOther(given: string, offset: ZoneOffset, nearAt: number): number | null {
  const text = given.replace(nameOfZone, "");
  if (text !== given) return readText(text, offset, nearAt);
  const first = monthFirst.exec(text);
  if (first !== null)
    return instantIn(first, [Number(first[3]), monthOf(first[1]), Number(first[2])], offset, nearAt);
  const second = dayFirst.exec(text);
  if (second === null) return null;
  return instantIn(second, [Number(second[3]), monthOf(second[2]), Number(second[1])], offset, nearAt);
}

/** The instant of a match; in every form the parts of the time follow the three of the date. */
function instantIn(
  [, , , , hour, minute, second = "0", fraction = "0", half, zone]: Match,
  date: readonly number[],
  offset: ZoneOffset,
  nearAt: number,
): number | null {
  const wallAt = wall([...date, inFullDay(Number(hour), half), Number(minute), Number(second)]);
  if (wallAt === null) return null;
  const ms = Math.floor(Number(`0.${fraction}`) * 1000);
  return (zone === undefined ? instantOf(wallAt, offset, nearAt) : wallAt - zoneMs(zone)) + ms;
}

const monthOf = (name = ""): number => monthNames.indexOf(name.slice(0, 3).toLowerCase()) + 1;

/** The hour of the full day; 24 for one that no half of a day has. */
function inFullDay(hour: number, halfOfDay: string | undefined): number {
  if (halfOfDay === undefined) return hour;
  if (hour < 1 || hour > 12) return 24;
  return (hour % 12) + (halfOfDay.toUpperCase() === "PM" ? 12 : 0);
}

/** The wall time as if it were UTC; null where calendar or clock have no such time. */
function wall([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: readonly number[]):
  number | null {
  if (year < 1970 || month < 1 || hour > 23 || minute > 59 || second > 60) return null;
  const at = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59));
  const date = new Date(at);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? at : null;
}

function zoneMs(zone: string): number {
  const [sign, ...rest] = zone.replace(/^[A-Z]+/i, "").replace(":", "");
  const digits = rest.join("").padEnd(4, "0");
  const ms = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
  return sign === "-" ? -ms : ms;
}

const everyMs = 5_000;

/**
 * How far the platform's clock is ahead, by the `Date` header of its answers. The date continues on the monotonic
 * clock, so that a jump of our wall clock shows at once.
 */
export class ClockSkew {
  readonly #clock: Clock;
  #dateAt = 0;
  #notedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(dateHeader: string | undefined): void {
    const now = this.#clock.monotonic();
    if (dateHeader === undefined || (this.#notedAt !== null && now - this.#notedAt < everyMs)) return;
    const dateAt = Date.parse(dateHeader);
    if (!Number.isFinite(dateAt)) return;
    this.#dateAt = dateAt;
    this.#notedAt = now;
  }

  /** Ms that the platform is ahead, exact to a few seconds; null before the first date. */
  readonly skewMs = (): number | null => {
    if (this.#notedAt === null) return null;
    return this.#dateAt + (this.#clock.monotonic() - this.#notedAt) - this.#clock.now();
  };
}
