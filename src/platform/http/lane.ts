import { abortReason } from "../../runtime/clock.js";

/** Bounds how many calls run at once; the others wait in order and can give up. */
export class Lane {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#free = size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Null when a place was free; else a promise of one, rejected with the signal's reason. Give it back with `leave`. */
  enter(signal: AbortSignal): Promise<void> | null {
    if (this.#free > 0) {
      this.#free -= 1;
      return null;
    }
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(take);
        reject(abortReason(signal));
      };
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(take);
    });
  }

  leave(): void {
    for (const take of this.#waiting) {
      this.#waiting.delete(take);
      take();
      return;
    }
    this.#free += 1;
  }
}
