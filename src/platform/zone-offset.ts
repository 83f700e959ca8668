const quarterMs = 15 * 60_000;
const maxCached = 2_000;

/** Ms that a zone's clocks are ahead of UTC at an instant. */
export type ZoneOffset = (at: number) => number;

/**
 * Offsets of an IANA zone, taken from Intl and kept by the quarter of an hour, as no zone has ever changed within one. Throws a
 * RangeError for a zone that does not exist.
 */
export function zoneOffset(timeZone: string): ZoneOffset {
  let format: Intl.DateTimeFormat | null = null;
  const cache = new Map<number, number>();
  return (at) => {
    const quarter = Math.floor(at / quarterMs);
    const known = cache.get(quarter);
    if (known !== undefined) return known;
    format ??= new Intl.DateTimeFormat("en-US", { ...fieldsShown, timeZone });
    const offset = wallTime(format, quarter * quarterMs) - quarter * quarterMs;
    if (cache.size >= maxCached) cache.clear();
    cache.set(quarter, offset);
    return offset;
  };
}

const fieldsShown = {
  hourCycle: "h23",
  era: "short",
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
} as const;

/** What the zone's clocks show at an instant, as if that were UTC. */
function wallTime(format: Intl.DateTimeFormat, at: number): number {
  const shown = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(shown.get(type));
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
}

/**
 * The instant at which a zone's clocks show a wall time (given as if it were UTC). An hour that exists twice means the
 * instant closer to `nearAt`; one that is skipped means the same distance after the change.
 */
export function instantOf(wallAt: number, offset: ZoneOffset, nearAt: number): number {
  const early = wallAt - offset(wallAt - 86_400_000);
  const late = wallAt - offset(wallAt + 86_400_000);
  if (early === late) return early;
  const real = [early, late].filter((at) => at + offset(at) === wallAt);
  const [first = early, second = first] = real;
  return Math.abs(second - nearAt) < Math.abs(first - nearAt) ? second : first;
}
