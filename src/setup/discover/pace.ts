import type { Clock } from "../../runtime/clock.js";

const minuteMs = 60_000;
/** Left free for what the client sends by itself, which is known only afterwards, and for the first one after a restart. */
const shareUsed = 0.95;

/**
 * Spreads requests evenly over the minute, so that no 60 s hold more than the budget, not even over a restart. Requests
 * the client makes by itself (repeats, sign-ins) are paid for with longer gaps.
 */
export class Pace {
  readonly #gapMs: number;
  readonly #clock: Clock;
  readonly #extraRequests: () => number;
  #paidExtras = 0;
  #nextAt = 0;

  /** `perMinute` 0 means no limit; `extraRequests` counts what the client sent besides what it was asked for. */
  constructor(perMinute: number, clock: Clock, extraRequests: () => number) {
    this.#gapMs = gapFor(perMinute);
    this.#clock = clock;
    this.#extraRequests = extraRequests;
  }

  /** Waits until a request may go out; rejects when the signal aborts first. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#gapMs === 0) return;
    const now = this.#clock.monotonic();
    const extras = this.#extraRequests();
    const at = Math.max(now, this.#nextAt) + (extras - this.#paidExtras) * this.#gapMs;
    this.#paidExtras = extras;
    this.#nextAt = at + this.#gapMs;
    if (at > now) await this.#clock.wait(at - now, signal);
  }
}

/** Ms between two requests; 0 without a limit. */
export const gapFor = (perMinute: number): number =>
  perMinute === 0 ? 0 : minuteMs / (perMinute * shareUsed);
