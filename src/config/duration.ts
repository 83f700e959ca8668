const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

export const durationPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/;

/** `500ms`, `30s`, `1.5m`, `1h` in ms (rounded); null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = durationPattern.exec(text.trim()) ?? [];
  const factor = unit === undefined ? undefined : unitMs[unit];
  return amount === undefined || factor === undefined ? null : Math.round(Number(amount) * factor);
}

/** The shortest exact spelling: 90000 → `90s`, 300000 → `5m`. */
export function formatDuration(ms: number): string {
  for (const unit of ["h", "m", "s"]) {
    const factor = unitMs[unit] ?? 1;
    if (ms !== 0 && ms % factor === 0) return `${ms / factor}${unit}`;
  }
  return ms === 0 ? "0s" : `${ms}ms`;
}
