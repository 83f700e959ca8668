/* The local time of a zone. Intl takes long to load and some memory, so it is used only where needed. */

const quarterMs = 15 * 60_000;
const maxCached = 2_000;

/** Ms that a zone's clocks are ahead of UTC at an instant. */
export type ZoneOffset = (at: number) => number;

/** China's clocks have not changed since the last summer time of 1991, so they need no Intl. */
const china = { zones: ["Asia/Shanghai", "PRC"], since: Date.UTC(1991, 8, 15), offsetMs: 8 * 3_600_000 };

/**
 * Offsets of an IANA zone, from Intl and cached per quarter of an hour, as no zone has ever changed within one.
 * Throws a RangeError for an unknown zone.
 */
export function zoneOffset(timeZone: string): ZoneOffset {
  let format: Intl.DateTimeFormat | null = null;
  const cache = new Map<number, number>();
  const chinaSince = china.zones.includes(timeZone) ? china.since : Infinity;
  return (at) => {
    if (at >= chinaSince) return china.offsetMs;
    const quarter = Math.floor(at / quarterMs);
    const known = cache.get(quarter);
    if (known !== undefined) return known;
    format ??= new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
    const offset = statedOffset(format.format(quarter * quarterMs));
    if (cache.size >= maxCached) cache.clear();
    cache.set(quarter, offset);
    return offset;
  };
}

/** `…, GMT+08:00` or `…, GMT-00:01:15`; UTC is `GMT` alone. */
function statedOffset(text: string): number {
  const [, sign, hours, minutes, seconds = "0"] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (sign === undefined) return 0;
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -ms : ms;
}

/** An instant in local time of the zone: `2026-05-10 08:00:00`. */
export const localText = (at: number, offset: ZoneOffset): string =>
  new Date(at + offset(at)).toISOString().slice(0, 19).replace("T", " ");

/** The same with its offset: `2026-05-10T08:00:00.000+08:00`. */
export function isoText(at: number, offset: ZoneOffset): string {
  const minutes = Math.round(offset(at) / 60_000);
  const two = (part: number): string => String(Math.floor(part)).padStart(2, "0");
  const zone = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  return `${new Date(at + offset(at)).toISOString().slice(0, 23)}${zone}`;
}
