import {
  claimInMs,
  claimsOver,
  countOf,
  type Holding,
  isReachedElsewhere,
  isToHandBack,
  lackedIn,
  type Looking,
  type Member,
  type Reach,
  type ReachOf,
} from "./membership.js";
import type { BucketEntry } from "./ports.js";

export const ownerKey = (account: string): string => `owner.${account}`;
export const memberKey = (id: string): string => `member.${id}`;

/** The value of an account's key. `run` tells apart two members of one name, and a member's runs. */
interface OwnerValue {
  readonly member: string;
  readonly run: string;
}

interface MemberValue {
  readonly unfit: readonly string[];
  readonly lacks: ReachOf;
  readonly reaches: ReachOf;
  readonly moved: readonly string[];
}

export const ownerText = (value: OwnerValue): string => JSON.stringify(value);
/** Leaves out what is empty: most members have nothing to say of what they reach. */
export const memberText = ({ unfit, lacks, reaches, moved }: MemberValue): string =>
  JSON.stringify({
    unfit,
    ...(lacks.size > 0 && { lacks: reachRecord(lacks) }),
    ...(reaches.size > 0 && { reaches: reachRecord(reaches) }),
    ...(moved.length > 0 && { moved }),
  });

const reachRecord = (of: ReachOf) =>
  Object.fromEntries([...of].map(([account, reached]) => [account, [...reached]]));

/** Null for a text that no member wrote. */
function readOwner(text: string): OwnerValue | null {
  const value = parse(text);
  const { member, run } = value as Partial<OwnerValue>;
  return typeof member === "string" && typeof run === "string" ? { member, run } : null;
}

/** The member that an account's key names; null for a text that no member wrote. */
export const ownerOf = (text: string): string | null => readOwner(text)?.member ?? null;

/** What a member says of itself; any part may be missing or malformed. */
type Said = Partial<Readonly<Record<keyof MemberValue, unknown>>>;

const accountsIn = (value: unknown): ReadonlySet<string> =>
  new Set(Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

function reachIn(value: unknown): ReachOf {
  const record: Readonly<Record<string, unknown>> =
    typeof value === "object" && value !== null ? { ...value } : {};
  const isReach = (one: unknown): one is Reach => one === "broker" || one === "platform";
  return new Map(
    Object.entries(record).map(([account, list]) => [
      account,
      new Set(Array.isArray(list) ? list.filter(isReach) : []),
    ]),
  );
}

/** More than a member says of ten thousand accounts; parsing longer texts would cost time. */
const mostBytes = 512 * 1024;

function parse(text: string): object {
  if (text.length > mostBytes) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

interface ViewSettings {
  readonly self: string;
  readonly leaseMs: number;
  readonly hash: Looking["hash"];
}

/** Anybody who may write to the bucket can invent members and accounts. Above these numbers no new ones are taken. */
const most = { members: 1_000, accounts: 10_000 };

/** What this member has seen of the others and of who runs what. Times are its own monotonic ms. */
export class MembershipView {
  readonly #settings: ViewSettings;
  readonly #members = new Map<string, Member>();
  readonly #holdings = new Map<string, Holding>();
  #since = 0;

  constructor(settings: ViewSettings) {
    this.#settings = settings;
  }

  get members(): readonly Member[] {
    return [...this.#members.values()];
  }

  /** The number of members present, including this one. */
  count(now: number): number {
    return countOf(this.#looking("", now));
  }

  /** From `now` on every change is seen. */
  begin(now: number): void {
    this.#since = now;
  }

  take(key: string, { revision, value }: BucketEntry, now: number): void {
    const [, kind, name] = /^(owner|member)\.(.+)$/.exec(key) ?? [];
    if (name === undefined) return;
    if (kind === "owner") this.#hold(name, revision, value, now);
    else if (value === null) this.#members.delete(name);
    else this.#onMember(name, value, now);
  }

  #hold(account: string, revision: number, value: string | null, now: number): void {
    const known = this.#holdings.get(account);
    // After a reconnect the server repeats everything, which is no news.
    if (known?.revision === revision) return;
    if (known === undefined && this.#holdings.size >= most.accounts) return;
    const holder = value === null ? null : (readOwner(value)?.member ?? "");
    const left = holder === null ? (known?.holder ?? null) : null;
    this.#holdings.set(account, { revision, holder, seenAt: now, left });
  }

  #onMember(id: string, value: string, now: number): void {
    if (!this.#members.has(id)) this.#forgetGone(now);
    if (!this.#members.has(id) && this.#members.size >= most.members) return;
    const known = this.#members.get(id);
    const { unfit, lacks, reaches, moved }: Said = parse(value);
    this.#members.set(id, {
      id,
      firstSeenAt: known === undefined || this.#isGone(known, now) ? now : known.firstSeenAt,
      lastSeenAt: now,
      unfit: accountsIn(unfit),
      lacks: reachIn(lacks),
      reaches: reachIn(reaches),
      moved: accountsIn(moved),
    });
  }

  /** Keys expire without notice, and a container has another name after each start. */
  #forgetGone(now: number): void {
    for (const [id, member] of this.#members) if (this.#isGone(member, now)) this.#members.delete(id);
  }

  #isGone({ lastSeenAt }: Member, now: number): boolean {
    return now - lastSeenAt > 2 * this.#settings.leaseMs;
  }

  holding(account: string): Holding | null {
    return this.#holdings.get(account) ?? null;
  }

  /** The mark of a release has vanished. */
  forgetMark(account: string): void {
    if (this.#holdings.get(account)?.holder === null) this.#holdings.delete(account);
  }

  claimInMs(account: string, now: number, isUnfit: boolean): number {
    return claimInMs(this.#looking(account, now), this.holding(account), isUnfit);
  }

  claimsOver(account: string, now: number): readonly number[] {
    return claimsOver(this.#looking(account, now), this.holding(account));
  }

  isToHandBack(account: string, now: number, ownedSince: number): boolean {
    return isToHandBack(this.#looking(account, now), ownedSince);
  }

  /** What the account needs and some member does not reach. */
  lacked(account: string, now: number): ReadonlySet<Reach> {
    return lackedIn(this.#looking(account, now));
  }

  isReachedElsewhere(account: string, now: number, lacks: ReadonlySet<Reach>): boolean {
    return isReachedElsewhere(this.#looking(account, now), lacks);
  }

  #looking(account: string, now: number): Looking {
    return { account, now, members: this.members, since: this.#since, ...this.#settings };
  }
}
