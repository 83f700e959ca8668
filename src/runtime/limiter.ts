/** A millisecond more, so that a minute counted with both its ends holds no more either. */
const minuteMs = 60_001;

/**
 * How many requests polling may start in any 60 s; kept as the times of the last ones, so a minute never exceeds it. Half of them may
 * go at once. The rest is spread until the oldest has left the minute: spent at once it would leave a hole in which nothing is
 * asked, and the next minute would repeat it.
 */
export class RequestBudget {
  readonly #perMinute: number;
  /** Of the last minute and, before `#oldest`, of earlier ones. */
  #starts: number[] = [];
  #oldest = 0;

  /** `perMinute` 0 means no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Ms until a request may start; 0 now. */
  waitMs(monotonicMs: number): number {
    if (this.#perMinute === 0) return 0;
    this.#forget(monotonicMs);
    const left = this.#perMinute - (this.#starts.length - this.#oldest);
    const freeAt = (this.#starts[this.#oldest] ?? monotonicMs) + minuteMs;
    if (left <= 0) return Math.max(0, freeAt - monotonicMs);
    if (left > this.#perMinute / 2) return 0;
    const last = this.#starts.at(-1) ?? monotonicMs;
    const gapMs = Math.max(minuteMs / this.#perMinute, (freeAt - last) / (left + 1));
    return Math.max(0, last + gapMs - monotonicMs);
  }

  spend(monotonicMs: number): void {
    if (this.#perMinute === 0) return;
    this.#forget(monotonicMs);
    this.#starts.push(monotonicMs);
  }

  /** Requests that the minute still holds; null without a limit. */
  left(monotonicMs: number): number | null {
    if (this.#perMinute === 0) return null;
    this.#forget(monotonicMs);
    return Math.max(0, this.#perMinute - (this.#starts.length - this.#oldest));
  }

  #forget(now: number): void {
    while ((this.#starts[this.#oldest] ?? Infinity) + minuteMs <= now) this.#oldest += 1;
    if (this.#oldest <= this.#perMinute) return;
    this.#starts = this.#starts.slice(this.#oldest);
    this.#oldest = 0;
  }
}
