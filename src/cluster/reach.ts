import type { Clock } from "../runtime/clock.js";
import type { Reach, ReachOf } from "./membership.js";

/*
 * An owner that alone is cut from the broker or the platform says so in the bucket. Members that stand by look then whether they reach
 * what it does not, and say that; where one does, the owner gives the account up in order.
 */

/** A link that is away for less comes back by itself. */
const lackedForMs = 20_000;
/** So often at most an account goes to another member for this. */
const reachEveryMs = 300_000;
/** So often a member that stands by looks again. */
const lookEveryMs = 10_000;

interface ReachPorts {
  readonly clock: Pick<Clock, "monotonic">;
  /** Whether one of an account's hosts can be reached from here. */
  readonly reaches: (account: string, what: Reach) => Promise<boolean>;
}

/** What this member reaches of accounts, and lacks. */
export class Reaches {
  readonly #ports: ReachPorts;
  readonly #lackedSince = new Map<string, ReadonlyMap<Reach, number>>();
  readonly #reached = new Map<string, ReadonlySet<Reach>>();
  readonly #lookedAt = new Map<string, number>();
  readonly #gaveUpAt = new Map<string, number>();

  constructor(ports: ReachPorts) {
    this.#ports = ports;
  }

  /** An account that runs here does not reach this now. */
  lack(account: string, now: readonly Reach[]): void {
    const since = this.#lackedSince.get(account);
    const at = this.#ports.clock.monotonic();
    if (now.length === 0) this.#lackedSince.delete(account);
    else this.#lackedSince.set(account, new Map(now.map((what) => [what, since?.get(what) ?? at])));
  }

  /** It runs here no more. */
  forget(account: string): void {
    this.#lackedSince.delete(account);
  }

  lackedBy(account: string): ReadonlySet<Reach> {
    const now = this.#ports.clock.monotonic();
    const since = this.#lackedSince.get(account) ?? new Map<Reach, number>();
    return new Set([...since].flatMap(([what, at]) => (now - at >= lackedForMs ? [what] : [])));
  }

  get lacks(): ReachOf {
    const all = [...this.#lackedSince.keys()].map((account) => [account, this.lackedBy(account)] as const);
    return new Map(all.filter(([, lacked]) => lacked.size > 0));
  }

  get reaches(): ReachOf {
    return this.#reached;
  }

  /** Another member runs it, and lacks this. */
  look(account: string, lacked: ReadonlySet<Reach>): void {
    const now = this.#ports.clock.monotonic();
    if (lacked.size === 0) {
      this.#reached.delete(account);
      this.#lookedAt.delete(account);
    } else if (now - (this.#lookedAt.get(account) ?? -Infinity) >= lookEveryMs) {
      this.#lookedAt.set(account, now);
      void this.#lookAt(account, [...lacked]);
    }
  }

  async #lookAt(account: string, lacked: readonly Reach[]): Promise<void> {
    const answers = await Promise.all(
      lacked.map(async (what) =>
        (await this.#ports.reaches(account, what).catch(() => false)) ? [what] : [],
      ),
    );
    if (this.#lookedAt.has(account)) this.#reached.set(account, new Set(answers.flat()));
  }

  /** Whether it may be given up for this now; not often, as what one member reaches may change as fast as what another does. */
  mayGiveUp(account: string): boolean {
    return this.#ports.clock.monotonic() - (this.#gaveUpAt.get(account) ?? -Infinity) >= reachEveryMs;
  }

  gaveUp(account: string): void {
    this.#gaveUpAt.set(account, this.#ports.clock.monotonic());
  }

  /** Others go first with what this member gave up of late. */
  isUnfit(account: string): boolean {
    return !this.mayGiveUp(account);
  }

  /** Accounts with which others go first. */
  get unfit(): readonly string[] {
    return [...this.#gaveUpAt.keys()].filter((account) => this.isUnfit(account));
  }
}
