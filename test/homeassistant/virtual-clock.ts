import type { Clock } from "../../src/runtime/clock.js";

interface Wait {
  readonly at: number;
  readonly resolve: () => void;
}

/** Time that moves only when told to; whatever falls due on the way happens in order. */
export class VirtualClock implements Clock {
  #now = 0;
  #waits: Wait[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const wait = { at: this.#now + ms, resolve };
      this.#waits.push(wait);
      signal?.addEventListener("abort", () => {
        this.#waits = this.#waits.filter((other) => other !== wait);
        reject(new Error("aborted"));
      });
    });
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const [next] = this.#waits.filter((wait) => wait.at <= end).sort((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#waits = this.#waits.filter((wait) => wait !== next);
      this.#now = Math.max(this.#now, next.at);
      next.resolve();
    }
    this.#now = end;
  }
}

/** Lets everything that waits for nothing but promises go on. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
