import { falseIfFailed } from "../runtime/failures.js";
import type { Clock } from "../runtime/clock.js";
import type { Reach, ReachOf } from "./membership.js";

/*
 * An owner that alone is cut off from the broker or platform says so in the bucket. Members that stand by then check
 * whether they reach it, and say so; if one does, the owner gives the account up in order.
 */

/** A link that is away for less comes back by itself. */
const lackedForMs = 20_000;
/** Least time between two moves of an account for this reason. */
const reachEveryMs = 300_000;
/** Pause between checks of a member that stands by. */
const lookEveryMs = 10_000;

/** Whether all hosts of this kind that an account needs can be reached from here. */
type Reaches = (account: string, what: Reach) => Promise<boolean>;

/** A check for an account that does not run here. */
interface Look {
  readonly at: number;
  isOpen: boolean;
  /** The result of the check before, until this one has ended. */
  reached: ReadonlySet<Reach>;
}

/** An account that was given up for another member. */
interface GivenUp {
  readonly at: number;
  readonly lacked: ReadonlySet<Reach>;
}

const nothing: ReadonlySet<Reach> = new Set();

/** What this member reaches and lacks, by account. */
export class Reachability {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #reaches: Reaches;
  readonly #lackedSince = new Map<string, ReadonlyMap<Reach, number>>();
  readonly #looks = new Map<string, Look>();
  readonly #givenUp = new Map<string, GivenUp>();

  constructor(clock: Pick<Clock, "monotonic">, reaches: Reaches) {
    this.#clock = clock;
    this.#reaches = reaches;
  }

  /** Notes what an account that runs here does not reach now. */
  lack(account: string, now: readonly Reach[]): void {
    const since = this.#lackedSince.get(account);
    const at = this.#clock.monotonic();
    if (now.length === 0) this.#reachesAll(account);
    else this.#lackedSince.set(account, new Map(now.map((what) => [what, since?.get(what) ?? at])));
  }

  #reachesAll(account: string): void {
    this.#lackedSince.delete(account);
    if (this.mayGiveUp(account)) this.#givenUp.delete(account);
  }

  /** The account runs here no more. */
  forget(account: string): void {
    this.#lackedSince.delete(account);
  }

  lackedBy(account: string): ReadonlySet<Reach> {
    const now = this.#clock.monotonic();
    const since = this.#lackedSince.get(account) ?? new Map<Reach, number>();
    return new Set([...since].flatMap(([what, at]) => (now - at >= lackedForMs ? [what] : [])));
  }

  /** What is not reached, by account that runs here or was given up for that reason. */
  get lacks(): ReachOf {
    const all = new Map([...this.#givenUp].map(([account, { lacked }]) => [account, lacked]));
    for (const account of this.#lackedSince.keys()) all.set(account, this.lackedBy(account));
    return new Map([...all].filter(([, lacked]) => lacked.size > 0));
  }

  get reaches(): ReachOf {
    const all = [...this.#looks].map(([account, { reached }]) => [account, reached] as const);
    return new Map(all.filter(([, reached]) => reached.size > 0));
  }

  /** Checks what somebody lacks for an account that does not run here, and what this member gave it up for. */
  look(account: string, lackedBySome: ReadonlySet<Reach>): void {
    const now = this.#clock.monotonic();
    const lacked = new Set([...lackedBySome, ...(this.#givenUp.get(account)?.lacked ?? [])]);
    const before = this.#looks.get(account);
    if (lacked.size === 0) this.#looks.delete(account);
    else if (before === undefined || (!before.isOpen && now - before.at >= lookEveryMs)) {
      const look = { at: now, isOpen: true, reached: before?.reached ?? nothing };
      this.#looks.set(account, look);
      void this.#lookAt(account, look, [...lacked]);
    }
  }

  /** The account runs here, where its own links show what is reached. */
  runs(account: string): void {
    this.#looks.delete(account);
  }

  async #lookAt(account: string, look: Look, lacked: readonly Reach[]): Promise<void> {
    const answers = await Promise.all(
      lacked.map(async (what) => ((await this.#reaches(account, what).catch(falseIfFailed)) ? [what] : [])),
    );
    look.isOpen = false;
    look.reached = new Set(answers.flat());
    if (this.#looks.get(account) === look) this.#mend(account, look);
  }

  /** Forgets that the account was given up once everything it lacked is reached again. */
  #mend(account: string, { reached }: Look): void {
    const given = this.#givenUp.get(account);
    if (given !== undefined && this.mayGiveUp(account) && [...given.lacked].every((one) => reached.has(one)))
      this.#givenUp.delete(account);
  }

  /**
   * Whether the account may be given up for this reason now: seldom, as what each member reaches may change quickly.
   */
  mayGiveUp(account: string): boolean {
    return this.#clock.monotonic() - (this.#givenUp.get(account)?.at ?? -Infinity) >= reachEveryMs;
  }

  gaveUp(account: string): void {
    this.#givenUp.set(account, { at: this.#clock.monotonic(), lacked: this.lackedBy(account) });
  }

  /**
   * Whether others go first with the account: after this member gave it up, for a while and until it reaches what it
   * lacked.
   */
  isUnfit(account: string): boolean {
    return this.#givenUp.has(account);
  }

  /** Accounts for which others go first. */
  get unfit(): readonly string[] {
    return [...this.#givenUp.keys()];
  }

  /** Accounts that moved to another member so recently that they stay there. */
  get moved(): readonly string[] {
    return this.unfit.filter((account) => !this.mayGiveUp(account));
  }
}
