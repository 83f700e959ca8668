import type { PlatformHost } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";

/*
 * Decides when a sign-in may be tried. Vendors lock accounts that sign in too often, so the pauses grow and survive
 * restarts.
 */

export interface SignInHistory {
  /** Attempts in a row without success. */
  readonly refusals: number;
  /** Epoch ms of the newest attempt; null before the first. */
  readonly attemptedAt: number | null;
  /** The host that refused a fresh token; null where the sign-in itself was refused. */
  readonly refusedBy: PlatformHost | null;
}

export const noHistory: SignInHistory = { refusals: 0, attemptedAt: null, refusedBy: null };

const pausesMs = [0, 10_000, 30_000, 60_000, 120_000, 600_000] as const;

/** Ms between two attempts, after so many refusals in a row. */
const pauseAfter = (refusals: number): number => pausesMs[Math.min(refusals, 5)] ?? 600_000;

/**
 * Ms left to wait at the start, from an earlier run's history. A clock that was set back costs the whole pause, never
 * more.
 */
function remainingMs(history: SignInHistory, nowAt: number): number {
  const pauseMs = pauseAfter(history.refusals);
  if (history.attemptedAt === null) return 0;
  const passedMs = Math.max(0, nowAt - history.attemptedAt);
  return Math.max(0, pauseMs - passedMs);
}

/** A token with a shorter life delays the next sign-in, as two programs may be ending each other's sessions. */
const shortLifeMs = 60_000;
/** The same where only an unknown code ends it, which may mean something else. */
const doubtfulLifeMs = 600_000;

/** Polling pauses for up to a day if the host asks. Commands need a token, so a sign-in waits no longer than this. */
export const longestAskedMs = 15 * 60_000;

/** Counts failed attempts, and says when the next one is allowed. */
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

  /** The history to save during an attempt: if the process dies, it counts as refused. */
  attempt(): SignInHistory {
    return { ...this.#history, refusals: this.#history.refusals + 1, attemptedAt: this.#clock.now() };
  }

  /**
   * Notes a new token. It clears refusals of the sign-in itself; a host that refused a fresh token has to accept one
   * first.
   */
  onSuccess({ attemptedAt }: SignInHistory): void {
    this.#history = this.#history.refusedBy === null ? noHistory : { ...this.#history, attemptedAt };
    this.#pause(0);
  }

  /** Notes a refusal; returns the pause in ms. */
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

  /** Notes an acceptance; returns whether it changed anything. */
  acceptedBy(host: PlatformHost): boolean {
    if (this.#history.refusals === 0 || this.#history.refusedBy !== host) return false;
    this.#history = noHistory;
    return true;
  }

  /**
   * Notes that a working token is refused: the first time a new one is fetched at once, later after growing pauses. A
   * token ends once, however many calls notice. Returns whether tokens repeatedly end soon.
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
