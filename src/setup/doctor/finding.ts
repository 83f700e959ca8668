import type { Clock } from "../../runtime/clock.js";

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

type Counts = Readonly<Record<Status, number>>;

export function countOf(findings: readonly Finding[]): Counts {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { status } of findings) counts[status] += 1;
  return counts;
}

/** Runs an errand with a signal that aborts after `ms`, or with `stop`; leaves no timer behind. */
export async function within<T>(
  clock: Clock,
  ms: number,
  stop: AbortSignal,
  errand: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const done = new AbortController();
  const timer = clock.wait(ms, done.signal).then(
    () => late.abort(new Error("out of time")),
    () => undefined,
  );
  try {
    return await errand(AbortSignal.any([stop, late.signal]));
  } finally {
    done.abort();
    await timer;
  }
}

/** Whether `event` came before `ms` were over. */
export async function cameWithin(clock: Clock, ms: number, event: Promise<unknown>): Promise<boolean> {
  const done = new AbortController();
  const timer = clock.wait(ms, done.signal).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([event.then(() => true), timer]);
  } finally {
    done.abort();
  }
}
