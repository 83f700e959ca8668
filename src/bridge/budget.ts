/** A millisecond more, so that a minute counted with both its ends holds no more either. */
const minuteMs = 60_001;

/** How many requests polling may start in any 60 s; kept as the times of the last ones, so a minute never exceeds it. */
export class RequestBudget {
  readonly #perMinute: number;
  readonly #starts: number[] = [];
  #oldest = 0;

  /** `perMinute` 0 means no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Ms until a request may start; 0 now. */
  waitMs(monotonicMs: number): number {
    if (this.#perMinute === 0 || this.#starts.length < this.#perMinute) return 0;
    const oldest = this.#starts[this.#oldest] ?? 0;
    return Math.max(0, oldest + minuteMs - monotonicMs);
  }

  spend(monotonicMs: number): void {
    if (this.#perMinute === 0) return;
    if (this.#starts.length < this.#perMinute) {
      this.#starts.push(monotonicMs);
      return;
    }
    this.#starts[this.#oldest] = monotonicMs;
    this.#oldest = (this.#oldest + 1) % this.#perMinute;
  }

  /** Requests that could start now; null without a limit. */
  left(monotonicMs: number): number | null {
    if (this.#perMinute === 0) return null;
    return this.#perMinute - this.#starts.filter((at) => at > monotonicMs - minuteMs).length;
  }
}

/** By how much every interval has to stretch for the demand to fit the budget; 1 when it fits. */
export function stretchFactor(requestsPerMinute: number, budgetPerMinute: number): number {
  return budgetPerMinute === 0 ? 1 : Math.max(1, requestsPerMinute / budgetPerMinute);
}
