import type { Clock } from "../runtime/clock.js";
import { DueQueue } from "./due-queue.js";

/** Does tasks one at a time, each when it is due, while it is not paused. */
export class TaskLoop {
  readonly #clock: Clock;
  readonly #queue = new DueQueue();
  #isPaused = true;
  #nap: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#wake();
  }

  /** Makes a task due; one that is already due earlier stays so. */
  due(task: string, inMs: number): void {
    this.#queue.put(task, this.#clock.monotonic() + inMs);
    this.#wake();
  }

  /** Until `signal` aborts; `perform` must not reject. */
  async run(perform: (task: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", this.#wake, { once: true });
    while (!signal.aborted) {
      const task = this.#isPaused ? null : this.#queue.take(this.#clock.monotonic());
      if (task === null) await this.#sleepUntil(this.#isPaused ? null : this.#queue.nextAt());
      else await perform(task);
    }
  }

  /** Resolves after `ms` or when something becomes due. */
  rest(ms: number): Promise<void> {
    return this.#sleepUntil(this.#clock.monotonic() + ms);
  }

  #wake = (): void => {
    this.#nap?.abort();
  };

  /** Resolves at `until` (never, if null) or when woken. */
  async #sleepUntil(until: number | null): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    if (until === null)
      await new Promise((resolve) => {
        nap.signal.addEventListener("abort", resolve, { once: true });
      });
    else
      await this.#clock.wait(Math.max(0, until - this.#clock.monotonic()), nap.signal).catch(() => undefined);
    this.#nap = null;
  }
}
