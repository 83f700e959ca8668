const capMs = 24 * 3_600_000;

/**
 * How long a `Retry-After` header asks to wait, in ms and at most a day; null without a readable one. A date is
 * counted from the answer's own `Date` where it has one, so that a wrong clock here does no harm.
 */
export function retryAfterMs(
  header: string | undefined,
  dateHeader: string | undefined,
  nowAt: number,
): number | null {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}(?:\.\d+)?$/.test(text)) return Math.min(capMs, Math.ceil(Number(text) * 1000));
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const until = Date.parse(text);
  if (!Number.isFinite(until)) return null;
  const from = Date.parse(dateHeader ?? "");
  return Math.min(capMs, Math.max(0, until - (Number.isFinite(from) ? from : nowAt)));
}
