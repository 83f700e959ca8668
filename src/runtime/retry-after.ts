const longestMs = 24 * 3_600_000;

/**
 * The wait of a `Retry-After` header in ms, at most a day; null without a readable one. A date counts from the answer's
 * own `Date` where there is one, so our clock may be wrong.
 */
export function retryAfterMs(
  header: string | null | undefined,
  dateHeader: string | undefined,
  nowAt: number,
): number | null {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}(?:\.\d+)?$/.test(text)) return Math.min(longestMs, Math.ceil(Number(text) * 1000));
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const until = Date.parse(text);
  if (!Number.isFinite(until)) return null;
  const from = Date.parse(dateHeader ?? "");
  return Math.min(longestMs, Math.max(0, until - (Number.isFinite(from) ? from : nowAt)));
}
