import type { Clock } from "../runtime/clock.js";
import { Names } from "../runtime/names.js";
import { RequestBudget, Semaphore } from "../runtime/schedule.js";

/**
 * Polls of all accounts under way at one host at once. Each account waits with no more than its own concurrency in one line, so
 * that none gets more than its share of the places however much it asks.
 */
const placesOfHost = 128;
/** A refusal for asking too much is the host's, and not the account's own, where two accounts get it within this time. */
const bothWithinMs = 60_000;
/** What one account was told to wait may be its own matter, a day long: the others come back sooner and see for themselves. */
const longestForOthersMs = 60_000;

/** Leaves a host alone for so long. */
type Hold = (ms: number) => void;

/** What the accounts of one process share of a platform host. */
export class SharedHost {
  readonly budget: RequestBudget;
  readonly places = new Semaphore(placesOfHost);
  readonly #clock: Pick<Clock, "monotonic">;
  /** When each was told to wait. */
  readonly #accounts = new Map<Hold, number>();

  constructor(perMinute: number, clock: Pick<Clock, "monotonic">) {
    this.budget = new RequestBudget(perMinute);
    this.#clock = clock;
  }

  /** What is called takes the account away again. */
  join(hold: Hold): () => void {
    this.#accounts.set(hold, -Infinity);
    return () => this.#accounts.delete(hold);
  }

  /** The host asked an account to wait so long. */
  onAskedToWait(who: Hold, ms: number): void {
    const now = this.#clock.monotonic();
    if (this.#accounts.has(who)) this.#accounts.set(who, now);
    const others = [...this.#accounts].filter(([hold]) => hold !== who);
    if (!others.some(([, at]) => now - at <= bothWithinMs)) return;
    for (const [hold] of others) hold(Math.min(ms, longestForOthersMs));
  }
}

/** The hosts of all accounts of one process, by origin. */
export class SharedHosts {
  readonly names = new Names();
  readonly #perMinute: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #hosts = new Map<string, SharedHost>();

  /** `perMinute`: polls of all accounts at one host together; 0 means no limit. */
  constructor(perMinute: number, clock: Pick<Clock, "monotonic">) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  at(url: string): SharedHost {
    const { origin } = new URL(url);
    const host = this.#hosts.get(origin) ?? new SharedHost(this.#perMinute, this.#clock);
    this.#hosts.set(origin, host);
    return host;
  }
}

/** An account's own budget beside the one that it shares: what is smaller at the moment counts. */
export class JointBudget extends RequestBudget {
  readonly #shared: RequestBudget;

  constructor(perMinute: number, shared: RequestBudget) {
    super(perMinute);
    this.#shared = shared;
  }

  override waitMs(monotonicMs: number): number {
    return Math.max(super.waitMs(monotonicMs), this.#shared.waitMs(monotonicMs));
  }

  override spend(monotonicMs: number): void {
    super.spend(monotonicMs);
    this.#shared.spend(monotonicMs);
  }

  override remaining(monotonicMs: number): number | null {
    const own = super.remaining(monotonicMs);
    const shared = this.#shared.remaining(monotonicMs);
    return own === null ? shared : shared === null ? own : Math.min(own, shared);
  }
}

/** An account's own places, and one of the host's for each. */
export class JointPlaces extends Semaphore {
  readonly #shared: Semaphore;

  constructor(size: number, shared: Semaphore) {
    super(size);
    this.#shared = shared;
  }

  override take(): boolean {
    if (!super.take()) return false;
    if (this.#shared.take()) return true;
    super.leave();
    return false;
  }

  override async wait(signal: AbortSignal): Promise<void> {
    if (!super.take()) await super.wait(signal);
    if (this.#shared.take()) return;
    try {
      await this.#shared.wait(signal);
    } catch (error) {
      super.leave();
      throw error;
    }
  }

  override leave(): void {
    this.#shared.leave();
    super.leave();
  }
}
