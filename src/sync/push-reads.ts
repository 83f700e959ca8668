import { PlatformError } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { RequestBudget } from "./schedule.js";

export type WantedRead = (signal: AbortSignal) => Promise<void>;

interface Waiting {
  readonly dueAt: number;
  readonly read: WantedRead;
}

const mostAtOnce = 4;
const mostWaiting = 1_000;
const idleMs = 60_000;

/**
 * The reads that pushes ask for: each thing once however often it is wanted, with a pause between two reads of it, within
 * the request budget, and never more than a few at once. What finds no place is left to polling.
 */
export class PushReads {
  readonly #clock: Clock;
  readonly #budgets: readonly RequestBudget[];
  readonly #log: Logger;
  readonly #waiting = new Map<string, Waiting>();
  readonly #begunAt = new Map<string, number>();
  #running = 0;
  #wake: () => void = () => undefined;

  /** Every budget has to have room: polling's, and a share of its own that leaves polling the rest. */
  constructor({ clock, budgets, log }: { clock: Clock; budgets: readonly RequestBudget[]; log: Logger }) {
    this.#clock = clock;
    this.#budgets = budgets;
    this.#log = log;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether a read under this name is still to begin. */
  isWaiting(name: string): boolean {
    return this.#waiting.has(name);
  }

  /** Reads soon, but not sooner than `gapMs` after the last read under this name. One that waits already stays. */
  want(name: string, gapMs: number, read: WantedRead): void {
    if (this.#waiting.has(name) || this.#waiting.size >= mostWaiting) return;
    const dueAt = Math.max(this.#clock.monotonic(), (this.#begunAt.get(name) ?? -Infinity) + gapMs);
    this.#waiting.set(name, { dueAt, read });
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    const wake = () => {
      this.#wake();
    };
    signal.addEventListener("abort", wake);
    while (!signal.aborted) {
      const ms = this.#restMs();
      if (ms > 0) {
        await this.#rest(ms);
        continue;
      }
      const done = this.#startFirst(signal).finally(() => running.delete(done));
      running.add(done);
    }
    signal.removeEventListener("abort", wake);
    await Promise.allSettled(running);
  }

  async #rest(ms: number): Promise<void> {
    const rest = new AbortController();
    this.#wake = () => {
      rest.abort();
    };
    await this.#clock.wait(ms, rest.signal).catch(() => undefined);
  }

  /** Ms until a read may be started; an end or a new wish wakes sooner. */
  #restMs(): number {
    const first = this.#first();
    if (first === null || this.#running >= mostAtOnce) return idleMs;
    const now = this.#clock.monotonic();
    return Math.max(first.dueAt - now, ...this.#budgets.map((budget) => budget.waitMs(now)), 0);
  }

  #first(): (Waiting & { readonly name: string }) | null {
    let first: (Waiting & { readonly name: string }) | null = null;
    for (const [name, waiting] of this.#waiting)
      if (first === null || waiting.dueAt < first.dueAt) first = { name, ...waiting };
    return first;
  }

  async #startFirst(signal: AbortSignal): Promise<void> {
    const first = this.#first();
    if (first === null) return;
    this.#waiting.delete(first.name);
    this.#remember(first.name);
    for (const budget of this.#budgets) budget.spend(this.#clock.monotonic());
    this.#running += 1;
    try {
      await first.read(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PlatformError) this.#log.debug({ read: first.name }, error.message);
      else this.#log.error({ err: error, read: first.name }, "a read after a push failed unexpectedly");
    } finally {
      this.#running -= 1;
      this.#wake();
    }
  }

  /** Names are bounded by what the mirror holds; a mirror that changes for months must not fill this. */
  #remember(name: string): void {
    if (this.#begunAt.size >= 10 * mostWaiting) this.#begunAt.clear();
    this.#begunAt.set(name, this.#clock.monotonic());
  }
}

const pauseMs = 60_000;

/**
 * Reads everything once after a channel was lost and after it is open again, for what changed meanwhile was pushed to nobody. However
 * often channels come and go, one round ends, and a pause passes, before the next begins.
 */
export class PushRecovery {
  readonly #clock: Clock;
  readonly #refresh: () => Promise<void>;
  #isWanted = false;
  #wake: () => void = () => undefined;

  /** `refresh` resolves when everything has been tried. */
  constructor(clock: Clock, refresh: () => Promise<void>) {
    this.#clock = clock;
    this.#refresh = refresh;
  }

  want(): void {
    this.#isWanted = true;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener(
        "abort",
        () => {
          resolve();
        },
        { once: true },
      );
    });
    const isOver = () => signal.aborted;
    while (!isOver()) {
      if (!this.#isWanted) await Promise.race([this.#wanted(), aborted]);
      if (isOver()) return;
      this.#isWanted = false;
      await Promise.race([this.#refresh(), aborted]);
      await this.#clock.wait(pauseMs, signal).catch(() => undefined);
    }
  }

  #wanted(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
