const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const duration = /^(\d{1,9})\s*(ms|s|m|h|d|w)$/;
const isoTime = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * `2h`, `30m`, `7d` back from `now` (epoch ms), or an ISO date or time (local time when it names no zone). Epoch ms;
 * null when it is neither.
 */
export function parseSince(text: string, now: number): number | null {
  const trimmed = text.trim();
  const [, amount, unit] = duration.exec(trimmed) ?? [];
  if (amount !== undefined && unit !== undefined) return now - Number(amount) * (unitMs[unit] ?? 0);
  if (!isoTime.test(trimmed)) return null;
  // A bare date means that day here, as a bare time does; the language reads it as UTC.
  const withTime = /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? `${trimmed}T00:00` : trimmed;
  const at = Date.parse(withTime);
  return Number.isNaN(at) ? null : at;
}
