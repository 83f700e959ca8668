/* Durations as people write them in configurations, commands and on the command line: `500ms`, `1.5m`, `7d`. */

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export const durationPattern = /^\s*(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|m|h|d|w)\s*$/;

/** `500ms`, `30s`, `1.5m`, `1h`, `7d` in ms (rounded); null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = ""] = durationPattern.exec(text) ?? [];
  return amount === undefined ? null : Math.round(Number(amount) * (unitMs[unit] ?? 1));
}

/** What `for`, `hold` and `at_most` take: 1s to 24h, in ms; null for anything else. */
export function parseTerm(text: string): number | null {
  const ms = parseDuration(text);
  return ms !== null && ms >= 1_000 && ms <= 86_400_000 ? ms : null;
}

/** The shortest exact spelling: 90000 → `90s`, 300000 → `5m`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  const unit = ["h", "m", "s"].find((name) => ms % (unitMs[name] ?? 1) === 0) ?? "ms";
  return `${ms / (unitMs[unit] ?? 1)}${unit}`;
}

/** Epoch ms of an ISO time; null if there is no such time, where JavaScript would read 31 April as 1 May. */
export function instantOf(written: string): number | null {
  const [year = 0, month = 0, day = 0] = written.slice(0, 10).split("-").map(Number);
  const at = Date.parse(written);
  return Number.isNaN(at) || day > new Date(Date.UTC(year, month, 0)).getUTCDate() ? null : at;
}

const isoTime = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Epoch ms of a duration back from `now` (epoch ms), or of an ISO date or time, local without a zone; else null. */
export function parseSince(text: string, now: number): number | null {
  const back = parseDuration(text);
  if (back !== null) return now - back;
  const trimmed = text.trim();
  if (!isoTime.test(trimmed)) return null;
  // A bare date means that day in local time, like a bare time; JavaScript reads it as UTC.
  const withTime = /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? `${trimmed}T00:00` : trimmed;
  return instantOf(withTime);
}

const isoWithZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i;

/** A duration from `now` (epoch ms), or an ISO time with its zone. Returns epoch ms; null for anything else. */
export function parseUntil(text: string, now: number): number | null {
  const ahead = parseDuration(text);
  if (ahead !== null) return now + ahead;
  const written = text.trim();
  return isoWithZone.test(written) ? instantOf(written) : null;
}
