import type { DeviceList } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { Names } from "../runtime/host-names.js";
import { RequestBudget, Semaphore, Semaphores } from "../runtime/schedule.js";
import { isHostRefusing, noPauses, pauseHost } from "./host-pauses.js";

/**
 * Concurrent polls of all accounts at one host. Each account waits in the common line with at most its own concurrency,
 * so that none gets more than its share.
 */
const placesOfHost = 128;
/** A long pause of one account may be its own matter, up to a day; the others return sooner to see for themselves. */
const longestForOthersMs = 60_000;
/** How long one account tries before all others. */
const triesAheadMs = 2_000;

/** Makes an account pause for this host. */
type Hold = (ms: number) => void;

/** An account that does not come for this long after its turn has left the line. */
const goneMs = 5_000;

/** A budget for many accounts. Each waiting account has its own turn, else all would wake for one request. */
export class HostBudget extends RequestBudget {
  /** When each waiting account asks again, monotonic ms. */
  readonly #line = new Map<object, number>();

  /** Ms until an account may send a request; 0 for now. */
  turnOf(account: object, now: number): number {
    let ahead = 0;
    for (const [other, againAt] of this.#line) {
      if (other === account) break;
      if (againAt >= now) ahead += 1;
      else if (now - againAt > goneMs) this.#line.delete(other);
    }
    const ms = this.waitMs(now, ahead);
    if (ms > 0) this.#line.set(account, now + ms);
    return ms;
  }

  spendBy(account: object, now: number): void {
    this.#line.delete(account);
    this.spend(now);
  }
}

/** What the accounts of one process share for a platform host. */
export class SharedHost {
  readonly budget: HostBudget;
  readonly places = new Semaphore(placesOfHost);
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #accounts = new Set<Hold>();
  readonly #pauses = noPauses<Hold>();

  constructor(perMinute: number, clock: Pick<Clock, "monotonic">) {
    this.budget = new HostBudget(perMinute);
    this.#clock = clock;
  }

  /** Adds an account; the returned function removes it. */
  join(hold: Hold): () => void {
    this.#accounts.add(hold);
    return () => {
      this.#accounts.delete(hold);
      this.#pauses.refused.delete(hold);
    };
  }

  /** Notes the host's answer to an account's poll, or its request to wait. */
  onAnswer(who: Hold, waitMs: number | null): void {
    if (!this.#accounts.has(who)) return;
    const now = this.#clock.monotonic();
    const heard = { accounts: this.#accounts.size, now };
    if (!isHostRefusing(this.#pauses, who, waitMs === null ? "answered" : "refused", heard)) return;
    const pauseMs = Math.min(waitMs ?? 0, longestForOthersMs);
    pauseHost(this.#pauses, now + pauseMs);
    const others = [...this.#accounts].filter((hold) => hold !== who);
    const first = others.find((hold) => this.#pauses.refusedItself?.has(hold) !== true);
    for (const hold of others) hold(pauseMs + (hold === first || first === undefined ? 0 : triesAheadMs));
  }
}

const linksAtOnce = 8;

/** The greatest age of a shared answer. */
const listsStandMs = 5_000;

/**
 * Shares recently read lists between accounts with the same credential, which would otherwise each read and keep the
 * whole list. Nobody waits for another's request, and only good answers are shared.
 */
export class SharedLists {
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #lists = new Map<string, { readonly askedAt: number; readonly list: DeviceList }>();

  constructor(clock: Pick<Clock, "monotonic" | "after">) {
    this.#clock = clock;
  }

  /** `onTaken` is called where another account's answer is used. */
  async read(key: string, ask: () => Promise<DeviceList>, onTaken: () => void): Promise<DeviceList> {
    const askedAt = this.#clock.monotonic();
    const known = this.#lists.get(key);
    if (known !== undefined && askedAt - known.askedAt <= listsStandMs) {
      onTaken();
      return known.list;
    }
    const list = await ask();
    const kept = { askedAt, list };
    this.#lists.set(key, kept);
    this.#clock.after(listsStandMs, () => {
      if (this.#lists.get(key) === kept) this.#lists.delete(key);
    });
    return list;
  }
}

/** The hosts of all accounts of a process, by origin. */
export class SharedHosts {
  readonly lists: SharedLists;
  /** By broker address: bounds the links that connect at once. */
  readonly greetings = new Semaphores(linksAtOnce);
  readonly names = new Names();
  readonly #perMinute: number;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #hosts = new Map<string, SharedHost>();

  /** `perMinute`: polls of all accounts at one host; 0 for no limit. */
  constructor(perMinute: number, clock: Pick<Clock, "monotonic" | "after">) {
    this.#perMinute = perMinute;
    this.#clock = clock;
    this.lists = new SharedLists(clock);
  }

  at(url: string): SharedHost {
    const { origin } = new URL(url);
    const host = this.#hosts.get(origin) ?? new SharedHost(this.#perMinute, this.#clock);
    this.#hosts.set(origin, host);
    return host;
  }
}

/** An account's own budget together with the shared one; the smaller one counts. */
export class JointBudget extends RequestBudget {
  readonly #shared: HostBudget;

  constructor(perMinute: number, shared: HostBudget) {
    super(perMinute);
    this.#shared = shared;
  }

  override waitMs(monotonicMs: number): number {
    const own = super.waitMs(monotonicMs);
    return own > 0 ? own : this.#shared.turnOf(this, monotonicMs);
  }

  override spend(monotonicMs: number): void {
    super.spend(monotonicMs);
    this.#shared.spendBy(this, monotonicMs);
  }

  override remaining(monotonicMs: number): number | null {
    const own = super.remaining(monotonicMs);
    const shared = this.#shared.remaining(monotonicMs);
    return own === null ? shared : shared === null ? own : Math.min(own, shared);
  }
}

/** An account's own places, each with one of the host's. */
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
