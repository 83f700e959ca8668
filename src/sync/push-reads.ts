import { PlatformError } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { RequestBudget } from "../runtime/limiter.js";
import type { Logger } from "../runtime/log.js";
import { Rest, Schedule } from "../runtime/schedule.js";

type WantedRead = (signal: AbortSignal) => Promise<void>;

const mostAtOnce = 4;
const mostWaiting = 1_000;

/**
 * The reads that pushes ask for: each thing once however often it is wanted, with a pause between two reads of it, within
 * the request budget, and never more than a few at once. What finds no place is left to polling.
 */
export class PushReads {
  readonly #clock: Clock;
  readonly #budgets: readonly RequestBudget[];
  readonly #log: Logger;
  readonly #rest: Rest;
  readonly #wanted = new Map<string, WantedRead>();
  readonly #due = new Schedule<string>();
  readonly #begunAt = new Map<string, number>();
  #running = 0;

  /** Every budget has to have room: polling's, and a share of its own that leaves polling the rest. */
  constructor({ clock, budgets, log }: { clock: Clock; budgets: readonly RequestBudget[]; log: Logger }) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.#log = log;
    this.#rest = new Rest(clock);
  }

  get waiting(): number {
    return this.#wanted.size;
  }

  /** Whether a read under this name is still to begin. */
  isWaiting(name: string): boolean {
    return this.#wanted.has(name);
  }

  /** Reads soon, but not sooner than `gapMs` after the last read under this name; what waits already may come sooner by it. */
  want(name: string, gapMs: number, read: WantedRead): void {
    if (!this.#wanted.has(name) && this.#wanted.size >= mostWaiting) return;
    const at = Math.max(this.#clock.monotonic(), (this.#begunAt.get(name) ?? -Infinity) + gapMs);
    if (at >= (this.#due.dueAt(name) ?? Infinity)) return;
    this.#wanted.set(name, read);
    this.#due.set(name, at);
    this.#rest.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!signal.aborted) {
      const ms = this.#restMs();
      if (ms > 0) {
        await this.#rest.for(ms, signal);
        continue;
      }
      const done = this.#startFirst(signal).finally(() => running.delete(done));
      running.add(done);
    }
    await Promise.allSettled(running);
  }

  /** Ms until a read may be started; an end or a new wish wakes sooner. */
  #restMs(): number {
    const first = this.#due.first();
    if (first === null || this.#running >= mostAtOnce) return Infinity;
    const now = this.#clock.monotonic();
    return Math.max(first.at - now, ...this.#budgets.map((budget) => budget.waitMs(now)), 0);
  }

  async #startFirst(signal: AbortSignal): Promise<void> {
    const name = this.#due.take() ?? "";
    const read = this.#wanted.get(name);
    if (read === undefined) return;
    this.#wanted.delete(name);
    this.#remember(name);
    for (const budget of this.#budgets) budget.spend(this.#clock.monotonic());
    this.#running += 1;
    try {
      await read(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PlatformError) this.#log.debug({ read: name }, error.message);
      else this.#log.error({ err: error, read: name }, "a read after a push failed unexpectedly");
    } finally {
      this.#running -= 1;
      this.#rest.wake();
    }
  }

  /** Names are bounded by what the mirror holds; a mirror that changes for months must not fill this. */
  #remember(name: string): void {
    if (this.#begunAt.size >= 10 * mostWaiting) this.#begunAt.clear();
    this.#begunAt.set(name, this.#clock.monotonic());
  }
}
