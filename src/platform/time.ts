import type { Clock } from "../runtime/clock.js";
import type { ZoneOffset } from "../runtime/zone.js";

/**
 * The instant at which a zone's clocks show a wall time (given as if it were UTC). An hour that exists twice means the
 * instant closer to `nearAt`; one that is skipped means the same distance after the change.
 */
function instantOf(wallAt: number, offset: ZoneOffset, nearAt: number): number {
  const early = wallAt - offset(wallAt - 86_400_000);
  const late = wallAt - offset(wallAt + 86_400_000);
  if (early === late) return early;
  const real = [early, late].filter((at) => at + offset(at) === wallAt);
  const [first = early, second = first] = real;
  return Math.abs(second - nearAt) < Math.abs(first - nearAt) ? second : first;
}

/** Reads an instant as the platform writes it: epoch ms, or null when it is none. `nearAt` is when it was received. */
export type ReadTime = (value: unknown, nearAt: number) => number | null;

/**
 * `YYYY-MM-DD HH:mm[:ss[.fraction]]` with `-`, `/`, `.` or 年月日, a blank or `T`, and perhaps a zone; `YYYYMMDDHHmmss`; epoch
 * seconds or milliseconds as number or digits. A date without a time of day is no instant.
 */
export function timeReader(offset: ZoneOffset): ReadTime {
  return (value, nearAt) => {
    if (typeof value === "number") return epoch(value);
    return typeof value === "string" ? readText(value.trim(), offset, nearAt) : null;
  };
}

/** Seconds or milliseconds between 2001 and 2286; anything else is not an instant we know the unit of. */
function epoch(value: number): number | null {
  if (value >= 1e9 && value < 1e10) return Math.round(value * 1000);
  return value >= 1e12 && value < 1e13 ? Math.round(value) : null;
}

const separated =
  /^(\d{4})(?:-|\/|\.|年)(\d{1,2})(?:-|\/|\.|月)(\d{1,2})日?(?:[ T]{1,3}|(?<=日))(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;
const compact = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/;
const longest = 48;

function readText(text: string, offset: ZoneOffset, nearAt: number): number | null {
  if (text.length > longest) return null;
  if (/^\d{10}(?:\.\d+)?$|^\d{13}$/.test(text)) return epoch(Number(text));
  const match = separated.exec(text) ?? compact.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second = "0", fraction = "0", zone] = match;
  const wallAt = wall([year, month, day, hour, minute, second].map(Number));
  if (wallAt === null) return null;
  const ms = Math.floor(Number(`0.${fraction}`) * 1000);
  return (zone === undefined ? instantOf(wallAt, offset, nearAt) : wallAt - zoneMs(zone)) + ms;
}

/** As if it were UTC; null when the calendar or the clock has no such time. */
function wall([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: readonly number[]):
  number | null {
  if (year < 1970 || month < 1 || hour > 23 || minute > 59 || second > 60) return null;
  const at = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59));
  const date = new Date(at);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? at : null;
}

function zoneMs(zone: string): number {
  if (zone === "Z" || zone === "z") return 0;
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  const ms = (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
  return zone.startsWith("-") ? -ms : ms;
}

const everyMs = 5_000;

/**
 * How far the platform's clock is ahead of ours, from the `Date` header of its answers. The date is carried forward on the
 * monotonic clock, so that a jump of the wall clock shows at once and not with the next answer.
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

  /** Ms the platform is ahead, exact to a few seconds; null while it gave no date. */
  readonly skewMs = (): number | null => {
    if (this.#notedAt === null) return null;
    return this.#dateAt + (this.#clock.monotonic() - this.#notedAt) - this.#clock.now();
  };
}
