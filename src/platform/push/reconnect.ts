import { fullJitter } from "../../runtime/backoff.js";

/*
 * How long to stay away after a channel ended. Pure; `chance` is in [0, 1).
 */

/** How one try at a channel ended. */
export type End =
  /** It was open, and stood for so long. */
  | { readonly type: "lost"; readonly livedMs: number; readonly why: string }
  | { readonly type: "failed"; readonly why: string }
  /** Answered with an HTTP status instead of the upgrade. */
  | { readonly type: "refused"; readonly status: number };

const range = { firstMs: 1_000, maxMs: 120_000 };
/** A channel that stood for less is not taken for a good one. */
export const goodLifeMs = 60_000;
const refusedMs = 300_000;

/** The number of tries since the last good life, after one more of them. */
export const triesAfter = (tries: number, end: End): number =>
  end.type === "lost" && end.livedMs >= goodLifeMs ? 1 : tries + 1;

/** A channel that the platform does not have, or not for us, is asked for every five to ten minutes only. */
export function pauseMs(end: End, tries: number, chance: number): number {
  if (end.type === "refused" && isFinal(end.status)) return Math.round(refusedMs * (1 + chance));
  return fullJitter(Math.max(0, tries - 1), range, chance);
}

export const isUnauthorized = (status: number): boolean => status === 401 || status === 403;

/** Trying soon again would not help. */
const isFinal = (status: number): boolean =>
  status < 500 && status !== 408 && status !== 425 && status !== 429;
