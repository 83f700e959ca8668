import { abortReason } from "./clock.js";

/** Bounds how many calls run at once; the others wait in order and can give up. */
export class Semaphore {
  #free: number;
  readonly #size: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#size = size;
    this.#free = size;
  }

  get isIdle(): boolean {
    return this.#free === this.#size;
  }

  get isFull(): boolean {
    return this.#free === 0;
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
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(take);
      if (signal.aborted) giveUp();
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/**
 * So many requests of commands are under way at once for one controller: few enough that one that does not answer takes little,
 * and enough for all its actuators to be commanded at a time where each answer takes a second or two.
 */
const placesOfOne = 4;

/**
 * Places for what commands ask of one controller. One that does not answer fills its own alone, and holds up nobody else.
 */
export class ControllerPlaces {
  readonly #of = new Map<string, Semaphore>();

  /** Null when a place was free; else a promise of one, rejected with the signal's reason. Give it back with `leave`. */
  enter(code: string, signal: AbortSignal): Promise<void> | null {
    const places = this.#of.get(code) ?? new Semaphore(placesOfOne);
    this.#of.set(code, places);
    return places.enter(signal);
  }

  isFull(code: string): boolean {
    return this.#of.get(code)?.isFull === true;
  }

  leave(code: string): void {
    const places = this.#of.get(code);
    places?.leave();
    if (places?.isIdle === true) this.#of.delete(code);
  }
}
