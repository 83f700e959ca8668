import { PlatformError, type PlatformErrorFacts } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { RequestBudget } from "../../runtime/limiter.js";

/** A scan ended before its end; what was learnt is kept. */
export class ScanEnded extends Error {
  override name = "ScanEnded" as const;
  readonly reason: "stopped" | "gave_up";

  constructor(reason: ScanEnded["reason"], message: string = reason) {
    super(message);
    this.reason = reason;
  }
}

export type Reply<T> =
  | { readonly type: "answer"; readonly answer: T }
  /** The platform's answer to this question; asking again would bring the same. */
  | { readonly type: "refused"; readonly why: string }
  | { readonly type: "unanswered"; readonly why: string };

export interface AskerParts {
  readonly clock: Clock;
  readonly budget: RequestBudget;
  /** How many requests the client sent by itself besides what it was asked for: repeats and sign-ins. */
  readonly extraRequests: () => number;
  /** Begins nothing new. */
  readonly stop: AbortSignal;
  /** Ends what is under way. */
  readonly cut: AbortSignal;
}

const mostWaits = 6;
const longestWaitMs = 60_000;
/** So many questions in a row without an answer mean that there is nobody to answer. */
const mostLeftOut = 10;

/** Asks one question after the other within the budget, until an answer or the end of patience. */
export class Asker {
  readonly #parts: AskerParts;
  #leftOutInARow = 0;
  #paidExtras = 0;

  constructor(parts: AskerParts) {
    this.#parts = parts;
  }

  /** Waits for its turn. Rejects with ScanEnded when the scan is to end. */
  async turn(): Promise<void> {
    const { clock, budget, extraRequests } = this.#parts;
    for (; this.#paidExtras < extraRequests(); this.#paidExtras += 1) budget.spend(clock.monotonic());
    for (let waitMs = Infinity; waitMs > 0;) {
      waitMs = budget.waitMs(clock.monotonic());
      await this.#wait(waitMs);
    }
    budget.spend(clock.monotonic());
  }

  async ask<T>(question: (signal: AbortSignal) => Promise<T>): Promise<Reply<T>> {
    const { cut } = this.#parts;
    for (let tries = 0; ; tries += 1) {
      await this.turn();
      try {
        const answer = await question(cut);
        this.#leftOutInARow = 0;
        return { type: "answer", answer };
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (cut.aborted) throw new ScanEnded("stopped");
        const againMs = pauseBeforeRetryMs(error.facts, tries);
        if (againMs === null) return this.#without(error);
        await this.#wait(againMs);
      }
    }
  }

  /** What is left to do where asking again does not help. */
  #without(error: PlatformError): Reply<never> {
    const { kind, code, platformMessage } = error.facts;
    if (kind === "rejected") {
      this.#leftOutInARow = 0;
      return { type: "refused", why: [`code ${code ?? "?"}`, platformMessage ?? ""].join(" ").trim() };
    }
    if (kind !== "invalid_request") this.#leftOutInARow += 1;
    // Nothing else would be answered either.
    if (hopeless.has(kind) || this.#leftOutInARow >= mostLeftOut)
      throw new ScanEnded("gave_up", error.message);
    return { type: "unanswered", why: error.message };
  }

  async #wait(ms: number): Promise<void> {
    const { clock, stop } = this.#parts;
    if (stop.aborted) throw new ScanEnded("stopped");
    if (ms <= 0) return;
    await clock.wait(ms, stop).catch(() => {
      throw new ScanEnded("stopped");
    });
  }
}

const hopeless: ReadonlySet<PlatformErrorFacts["kind"]> = new Set(["unauthorized", "paused", "throttled"]);

/** Null where the question is not asked again: the client itself has repeated what is worth repeating. */
export function pauseBeforeRetryMs(facts: PlatformErrorFacts, tries: number): number | null {
  if (facts.kind === "timeout") return tries === 0 ? 0 : null;
  if (facts.kind !== "paused" && facts.kind !== "throttled") return null;
  const afterMs = facts.retryAfterMs ?? 10_000;
  return tries >= mostWaits || afterMs > longestWaitMs ? null : afterMs;
}
