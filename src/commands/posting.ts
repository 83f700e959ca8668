import type { Clock } from "../runtime/clock.js";

interface Waiting {
  readonly isFirst: boolean;
  readonly go: () => void;
}

interface OfController {
  /** When its newest POST began, monotonic ms. */
  begunAt: number;
  /** When the newest POST was answered. The platform has it then, however long it was on its way. */
  endedAt: number;
  /** POSTs that have their turn and have not ended. */
  open: number;
  waiting: readonly Waiting[];
  takeBack: (() => void) | null;
  /** Looks whose turn it is; null where none ever waited. */
  wake: (() => void) | null;
}

/** So long it is remembered when a controller was sent something. */
const rememberedMs = 3_600_000;

/**
 * The order in which the values of one controller leave. Some controllers take one at a time and refuse any other: with an interval
 * the next one waits until the last has been answered and the interval is over. A stop goes before all that wait.
 */
export class Posting {
  readonly #clock: Clock;
  readonly #controllers = new Map<string, OfController>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it is its turn, at once without an interval; rejects where the signal ends it before. */
  turn(
    code: string,
    { intervalMs, isFirst, signal }: { intervalMs: number; isFirst: boolean; signal: AbortSignal },
  ): Promise<void> {
    const one = this.#of(code);
    if (intervalMs <= 0) {
      one.open += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waits: Waiting = {
        isFirst,
        go: () => {
          signal.removeEventListener("abort", giveUp);
          one.open += 1;
          resolve();
        },
      };
      const giveUp = () => {
        one.waiting = one.waiting.filter((other) => other !== waits);
        reject(new Error("the question was given up"));
      };
      signal.addEventListener("abort", giveUp, { once: true });
      one.waiting = [...one.waiting, waits];
      this.#next(one, intervalMs);
    });
  }

  /** A POST leaves; how long after another one to the controller, where there was one of late. */
  begin(code: string): number | undefined {
    const now = this.#clock.monotonic();
    const one = this.#of(code);
    const since = now - one.begunAt;
    one.begunAt = now;
    return since <= rememberedMs ? since : undefined;
  }

  /** It has been answered, or nothing of it left. */
  ended(code: string): void {
    const one = this.#of(code);
    one.open -= 1;
    if (one.begunAt > one.endedAt) one.endedAt = this.#clock.monotonic();
    one.wake?.();
  }

  #of(code: string): OfController {
    const known = this.#controllers.get(code);
    if (known !== undefined) return known;
    const idle = { begunAt: -Infinity, endedAt: -Infinity, open: 0, waiting: [], takeBack: null };
    const one: OfController = { ...idle, wake: null };
    this.#controllers.set(code, one);
    return one;
  }

  #next(one: OfController, intervalMs: number): void {
    one.wake = () => this.#next(one, intervalMs);
    one.takeBack?.();
    one.takeBack = null;
    if (one.open > 0 || one.waiting.length === 0) return;
    const now = this.#clock.monotonic();
    const at = Math.max(one.begunAt, one.endedAt) + intervalMs;
    if (at > now) {
      one.takeBack = this.#clock.after(at - now, () => this.#next(one, intervalMs));
      return;
    }
    const first = one.waiting.find(({ isFirst }) => isFirst) ?? one.waiting[0];
    one.waiting = one.waiting.filter((other) => other !== first);
    first?.go();
  }
}
