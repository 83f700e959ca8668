import type { PlatformHost } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";

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
const pauseAfter = (refusals: number): number => pausesMs[Math.min(refusals, 5)] ?? 600_000;

/**
 * Ms still to wait at start, from what an earlier run left behind. A clock that was set back meanwhile costs the
 * whole pause, never more.
 */
function remainingMs(history: SignInHistory, nowAt: number): number {
  const pauseMs = pauseAfter(history.refusals);
  if (history.attemptedAt === null) return 0;
  const passedMs = Math.max(0, nowAt - history.attemptedAt);
  return Math.max(0, pauseMs - passedMs);
}

/** Tokens that end sooner make the next sign-in wait: two programs may be throwing each other out. */
const shortLifeMs = 60_000;
/** The same where only an unknown code says that it has ended, which may be about something else. */
const doubtfulLifeMs = 600_000;

/** Polling leaves a host alone for a day where it asks for that. Commands need a token, so no answer keeps a sign-in away for longer than this. */
export const longestAskedMs = 15 * 60_000;

/** Keeps count of attempts that did not help, and says when the next one may be made. */
export class SignInPace {
  readonly #clock: Clock;
  #history: SignInHistory = noHistory;
  #notBefore = 0;
  #shortLived = 0;
  #endedToken = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get history(): SignInHistory {
    return this.#history;
  }

  waitMs(): number {
    return Math.max(0, this.#notBefore - this.#clock.monotonic());
  }

  resume(history: SignInHistory): void {
    this.#history = history;
    this.#notBefore = this.#clock.monotonic() + remainingMs(history, this.#clock.now());
  }

  /** The history to keep on disk while an attempt is under way: should we die in the middle, it was a refusal. */
  attempt(): SignInHistory {
    return { ...this.#history, refusals: this.#history.refusals + 1, attemptedAt: this.#clock.now() };
  }

  /** A token was got. It forgives what the sign-in itself refused; a host that refused a fresh token has to accept one first. */
  onSuccess({ attemptedAt }: SignInHistory): void {
    this.#history = this.#history.refusedBy === null ? noHistory : { ...this.#history, attemptedAt };
    this.#pause(0);
  }

  /** Returns the pause in ms. */
  refused(attempt: SignInHistory, retryAfterMs: number): number {
    this.#history = { ...attempt, refusedBy: null };
    return this.#pause(Math.min(retryAfterMs, longestAskedMs));
  }

  refusedBy(host: PlatformHost): void {
    const { refusals, attemptedAt } = this.#history;
    this.#history = {
      refusals: refusals + 1,
      attemptedAt: attemptedAt ?? this.#clock.now(),
      refusedBy: host,
    };
    this.#pause(0);
  }

  /** Returns whether that changed anything. */
  acceptedBy(host: PlatformHost): boolean {
    if (this.#history.refusals === 0 || this.#history.refusedBy !== host) return false;
    this.#history = noHistory;
    return true;
  }

  /**
   * A token that worked is refused: the first time a new one is got at once, then after growing pauses. It ends once, however
   * many calls meet its end before there is another. Returns whether tokens end soon again and again.
   */
  onEnd(token: number, since: number, isDoubtful = false): boolean {
    if (token === this.#endedToken) return false;
    this.#endedToken = token;
    const lifeMs = this.#clock.monotonic() - since;
    this.#shortLived = lifeMs < (isDoubtful ? doubtfulLifeMs : shortLifeMs) ? this.#shortLived + 1 : 0;
    this.#notBefore = Math.max(this.#notBefore, since + pauseAfter(Math.max(0, this.#shortLived - 1)));
    return this.#shortLived > 1 && !isDoubtful;
  }

  #pause(atLeastMs: number): number {
    const pauseMs = Math.max(pauseAfter(this.#history.refusals), atLeastMs);
    this.#notBefore = this.#clock.monotonic() + pauseMs;
    return pauseMs;
  }
}
