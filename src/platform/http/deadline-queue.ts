import type { Clock } from "../../runtime/clock.js";

export interface Expirable {
  expire(): void;
}

/**
 * Total deadlines of one length. As all are equally long they end in the order they began, so one timer serves
 * any number of requests.
 */
export class DeadlineQueue {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  readonly #dueAt = new Map<Expirable, number>();
  readonly #closing = new AbortController();
  #watching: Promise<void> | null = null;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  add(entry: Expirable): void {
    this.#dueAt.set(entry, this.#clock.monotonic() + this.#lengthMs);
    if (this.#watching === null && !this.#closing.signal.aborted) this.#watching = this.#watch();
  }

  delete(entry: Expirable): void {
    this.#dueAt.delete(entry);
  }

  /** Stops the timer; what is still open is expired. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    for (const entry of this.#dueAt.keys()) entry.expire();
    this.#dueAt.clear();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#dueAt.size > 0 && !signal.aborted) {
      const waitMs = this.#expireDue();
      if (waitMs > 0) await this.#clock.wait(waitMs, signal).catch(() => undefined);
    }
    this.#watching = null;
  }

  /** Ms until the next deadline; 0 when none is left. */
  #expireDue(): number {
    const now = this.#clock.monotonic();
    for (const [entry, dueAt] of this.#dueAt) {
      if (dueAt > now) return dueAt - now;
      this.#dueAt.delete(entry);
      entry.expire();
    }
    return 0;
  }
}
