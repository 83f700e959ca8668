import { instantOf, type ZoneOffset } from "./zone-offset.js";

/** Reads an instant as the platform writes it: epoch ms, or null when it is none. `nearAt` is when it was received. */
export type ReadTime = (value: unknown, nearAt: number) => number | null;

/**
 * `YYYY-MM-DD HH:mm[:ss[.fraction]]` with `-`, `/`, `.` or 年月日, a blank or `T`, and perhaps a zone; `YYYYMMDDHHmmss`; epoch
 * seconds or milliseconds as number or digits. A date without a time of day is no instant.
 */
export function timeReader(offset: ZoneOffset): ReadTime {
  let lastText = "";
  let lastNear = 0;
  let lastAt: number | null = null;
  return (value, nearAt) => {
    if (typeof value === "number") return epoch(value);
    if (typeof value !== "string") return null;
    if (value === lastText && nearAt === lastNear) return lastAt;
    lastAt = readText(value.trim(), offset, nearAt);
    lastText = value;
    lastNear = nearAt;
    return lastAt;
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
