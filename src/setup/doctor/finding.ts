export type Status = "ok" | "warning" | "failed" | "skipped";

/** What one check found. `remedy` says what to do, in the words of the configuration. */
export interface Verdict {
  readonly status: Status;
  readonly summary: string;
  readonly remedy?: string;
  /** Texts of the platform inside the summary that a bug report must not show. */
  readonly foreign?: readonly string[];
}

export interface Finding extends Verdict {
  readonly check: string;
}

export const ok = (summary: string): Verdict => ({ status: "ok", summary });
export const warning = (summary: string, remedy: string): Verdict => ({ status: "warning", summary, remedy });
export const failed = (summary: string, remedy: string): Verdict => ({ status: "failed", summary, remedy });
export const notTried = (because: string): Verdict => ({
  status: "skipped",
  summary: `not tried: ${because}`,
});

export type Counts = Readonly<Record<Status, number>>;

export function countOf(findings: readonly Finding[]): Counts {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { status } of findings) counts[status] += 1;
  return counts;
}
