import { abortReason, type Clock } from "../../src/runtime/clock.js";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * A clock that stands still until `advance`. Timers fire in order of their time; between them every promise that can go on
 * does, so code awaiting each other's results runs just as it would in real time.
 */
export class VirtualClock implements Clock {
  #mono = 0;
  #offset: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(wallMs = Date.parse("2026-03-01T08:00:00Z")) {
    this.#offset = wallMs;
  }

  now(): number {
    return this.#offset + this.#mono;
  }

  monotonic(): number {
    return this.#mono;
  }

  /** Sets the wall clock, as NTP or a person would; the monotonic one goes on. */
  setWall(wallMs: number): void {
    this.#offset = wallMs - this.#mono;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortReason(signal));
        return;
      }
      const abort = () => {
        this.#timers.delete(timer);
        reject(signal ? abortReason(signal) : new Error("aborted"));
      };
      const fire = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const timer: Timer = { at: this.#mono + Math.max(0, ms), order: this.#order++, fire };
      this.#timers.add(timer);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    const end = this.#mono + ms;
    await settled();
    for (let next = this.#next(end); next !== null; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#mono = Math.max(this.#mono, next.at);
      next.fire();
      await settled();
    }
    this.#mono = end;
  }

  #next(end: number): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (first === null || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}

/** Resolves when every promise that could go on has. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
