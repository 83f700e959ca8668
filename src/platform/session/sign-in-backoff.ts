import type { PlatformHost } from "../../greenhouse/platform-error.js";

/*
 * When a sign-in may be tried. Vendors lock accounts that sign in again and again, so the pauses grow and are kept
 * over restarts.
 */

export interface SignInHistory {
  /** Attempts in a row that did not help. */
  readonly refusals: number;
  /** Epoch ms of the newest attempt; null before the first. */
  readonly attemptedAt: number | null;
  /** The host that refused a fresh token; null when the sign-in itself was refused. */
  readonly refusedBy: PlatformHost | null;
}

export const noHistory: SignInHistory = { refusals: 0, attemptedAt: null, refusedBy: null };

const pausesMs = [0, 10_000, 30_000, 60_000, 120_000, 600_000] as const;

/** Ms between an attempt and the next, after so many refusals in a row. */
export const pauseAfter = (refusals: number): number => pausesMs[Math.min(refusals, 5)] ?? 600_000;

/**
 * Ms still to wait at start, from what an earlier run left behind. A clock that was set back meanwhile costs the
 * whole pause, never more.
 */
export function remainingMs(history: SignInHistory, nowAt: number): number {
  const pauseMs = pauseAfter(history.refusals);
  if (history.attemptedAt === null) return 0;
  const passedMs = Math.max(0, nowAt - history.attemptedAt);
  return Math.max(0, pauseMs - passedMs);
}
