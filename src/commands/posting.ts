import type { Clock } from "../runtime/clock.js";

interface Waiting {
  readonly isFirst: boolean;
  readonly go: () => void;
}

interface OfController {
  /** When its newest POST began, in monotonic ms. */
  begunAt: number;
  /** When the newest POST was answered: then the platform has it, however long it travelled. */
  endedAt: number;
  /** POSTs that had their turn and have not ended. */
  open: number;
  waiting: readonly Waiting[];
  takeBack: (() => void) | null;
  /** Checks whose turn it is; null if none ever waited. */
  wake: (() => void) | null;
}

/** How long the time of a controller's newest POST is remembered. */
const rememberedMs = 3_600_000;

/**
 * The order in which the values for one controller leave. Some controllers take one at a time and refuse others. With
 * an interval the next one waits until the last has been answered and the interval is over. A stop goes before all that
 * wait.
 */
export class Posting {
  readonly #clock: Clock;
  readonly #controllers = new Map<string, OfController>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when its turn comes, at once without an interval; rejects if the signal aborts first. */
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

  /** Notes that a POST leaves. Returns the ms since the controller's last one; undefined if none was lately. */
  begin(code: string): number | undefined {
    const now = this.#clock.monotonic();
    const one = this.#of(code);
    const since = now - one.begunAt;
    one.begunAt = now;
    return since <= rememberedMs ? since : undefined;
  }

  /** Notes that a POST was answered, or that nothing of it left. */
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
