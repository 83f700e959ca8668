import { PlatformError, type PlatformErrorFacts } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";

export type NextStep =
  /** The platform's answer to this question; it is not asked again. */
  | { readonly type: "refused" }
  | { readonly type: "again"; readonly afterMs: number }
  /** Go on without it. */
  | { readonly type: "leave_out" }
  /** Nothing else would be answered either. */
  | { readonly type: "give_up" };

const mostWaits = 6;
const longestWaitMs = 60_000;
/** So many questions in a row without an answer mean that there is nobody to answer. */
export const mostLeftOut = 10;

/** What a scan does after a failed request; the client has repeated what is worth repeating. `tries` counts from 0. */
export function afterFailure(facts: PlatformErrorFacts, tries: number, leftOutInARow: number): NextStep {
  const leaveOut: NextStep = leftOutInARow + 1 >= mostLeftOut ? { type: "give_up" } : { type: "leave_out" };
  switch (facts.kind) {
    case "rejected":
      return { type: "refused" };
    case "unauthorized":
      return { type: "give_up" };
    case "paused":
    case "throttled": {
      const afterMs = facts.retryAfterMs ?? 10_000;
      if (tries >= mostWaits || afterMs > longestWaitMs) return { type: "give_up" };
      return { type: "again", afterMs };
    }
    case "timeout":
      return tries === 0 ? { type: "again", afterMs: 0 } : leaveOut;
    case "invalid_request":
      return { type: "leave_out" };
    case "unreachable":
    case "interrupted":
    case "server":
    case "protocol":
      return leaveOut;
  }
}

/** A scan ended before its end; what was learnt is kept. */
export class ScanEnded extends Error {
  override name = "ScanEnded" as const;
  readonly reason: "stopped" | "gave_up";

  constructor(reason: ScanEnded["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export type Reply<T> =
  | { readonly type: "answer"; readonly answer: T }
  | { readonly type: "refused"; readonly why: string }
  | { readonly type: "unanswered"; readonly why: string };

/** `stop` begins nothing new; `cut` ends what is under way. */
interface ScanSignals {
  readonly stop: AbortSignal;
  readonly cut: AbortSignal;
}

/** Asks one question after the other, in the pace of the budget, until an answer or the end of patience. */
export class Asker {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #signals: ScanSignals;
  #leftOutInARow = 0;

  constructor(clock: Clock, pace: Pace, signals: ScanSignals) {
    this.#clock = clock;
    this.#pace = pace;
    this.#signals = signals;
  }

  /** Waits for its turn. Rejects with ScanEnded when the scan is to end, whoever wanted that. */
  async turn(): Promise<void> {
    await this.#untilStopped(this.#pace.turn(this.#signals.stop));
  }

  async ask<T>(question: (signal: AbortSignal) => Promise<T>): Promise<Reply<T>> {
    const { stop, cut } = this.#signals;
    for (let tries = 0; ; tries += 1) {
      await this.turn();
      try {
        const answer = await question(cut);
        this.#leftOutInARow = 0;
        return { type: "answer", answer };
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (cut.aborted) throw stopped();
        const next = afterFailure(error.facts, tries, this.#leftOutInARow);
        if (next.type === "give_up") throw new ScanEnded("gave_up", error.message);
        if (next.type === "again") await this.#untilStopped(this.#clock.wait(next.afterMs, stop));
        else return this.#without(error, next.type);
      }
    }
  }

  #without(error: PlatformError, how: "refused" | "leave_out"): Reply<never> {
    const { code, platformMessage } = error.facts;
    if (how === "leave_out") {
      this.#leftOutInARow += 1;
      return { type: "unanswered", why: error.message };
    }
    this.#leftOutInARow = 0;
    return { type: "refused", why: [`code ${code ?? "?"}`, platformMessage ?? ""].join(" ").trim() };
  }

  async #untilStopped(wait: Promise<void>): Promise<void> {
    await wait.catch((error: unknown) => {
      throw this.#signals.stop.aborted ? stopped() : error;
    });
  }
}

export const stopped = (): ScanEnded => new ScanEnded("stopped", "stopped");

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
