import { driftAllowance } from "../runtime/clock.js";

/*
 * Which member runs which account, by rendezvous hashing: a new or missing member moves only its own accounts. The rank
 * decides who tries first; the bucket decides that only one succeeds.
 */

/** What an account needs beside NATS. */
export type Reach = "broker" | "platform";

export type ReachOf = ReadonlyMap<string, ReadonlySet<Reach>>;

/** A member of the cluster as the others see it. */
export interface Member {
  readonly id: string;
  /** Monotonic ms of the observer. */
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Accounts that failed there lately; other members go first. */
  readonly unfit: ReadonlySet<string>;
  /** What it does not reach, by account that it runs or gave up for that reason. */
  readonly lacks: ReachOf;
  /** What it found that it reaches, by account for which another member lacks something. */
  readonly reaches: ReachOf;
  /** Accounts that it gave up lately because it lacked something. */
  readonly moved: ReadonlySet<string>;
}

/** What the bucket holds about an account, as last seen. */
export interface Holding {
  readonly revision: number;
  /** Null if it was given up in order. */
  readonly holder: string | null;
  /** Monotonic ms of the observer. */
  readonly seenAt: number;
  /** The member that gave it up, if that was seen; others go first. */
  readonly left?: string | null;
}

/** Time for the service to notice the end of a lease. */
const noticeMs = 200;
/** Each further place in the rank waits this much longer. */
const perRankMs = 2_000;
/** Where an account failed, it is tried again only if no other member present has taken it for this long. */
const unfitMs = 30_000;
/** A new member is given nothing for this long, as it may go as quickly as it came. */
const settledMs = 30_000;

export interface Looking {
  readonly account: string;
  readonly self: string;
  readonly members: readonly Member[];
  readonly now: number;
  /** Since when the observer has seen what the bucket holds. */
  readonly since: number;
  readonly leaseMs: number;
  readonly hash: (text: string) => number;
}

const isThere = ({ lastSeenAt }: Member, { now, leaseMs }: Looking): boolean =>
  now - lastSeenAt < leaseMs + noticeMs;

/** The number of members present, including the observer. */
export const countOf = (looking: Looking): number =>
  1 + looking.members.filter((one) => one.id !== looking.self && isThere(one, looking)).length;

/**
 * The members that could run the account, best first, always with the observer. Those that reach `wanted` go before all
 * others.
 */
export function rank(looking: Looking, wanted: ReadonlySet<Reach> = new Set()): readonly string[] {
  const { account, self, members, hash } = looking;
  const others = members.filter((one) => one.id !== self && isThere(one, looking));
  const ids = [self, ...others.filter(({ unfit }) => !unfit.has(account)).map(({ id }) => id)];
  const reaching = new Set(members.flatMap((one) => (isReaching(one, account, wanted) ? [one.id] : [])));
  const places = ids.map((id) => [id, Number(reaching.has(id)), hash(`${account}/${id}`)] as const);
  places.sort(
    ([one, oneReaches, oneWeight], [other, otherReaches, otherWeight]) =>
      otherReaches - oneReaches || otherWeight - oneWeight || (one < other ? -1 : 1),
  );
  return places.map(([id]) => id);
}

const isReaching = ({ reaches }: Member, account: string, wanted: ReadonlySet<Reach>): boolean =>
  wanted.size > 0 && [...wanted].every((one) => reaches.get(account)?.has(one) === true);

/** Longer than an owner that renews can be silent, by any clock. */
const silentFor = (leaseMs: number): number => leaseMs * driftAllowance + noticeMs;

/** Ms until this member may try to claim the account; 0 for now. */
export function claimInMs(looking: Looking, holding: Holding | null, isUnfit: boolean): number {
  const { self, now, since, leaseMs } = looking;
  const isHeld = holding !== null && holding.holder !== null;
  const freeAt = isHeld ? holding.seenAt + silentFor(leaseMs) : (holding?.seenAt ?? since);
  // At `freeAt` the last owner is gone, or has given the account up.
  const before = holding?.holder ?? holding?.left ?? null;
  const others = looking.members.filter(({ id }) => id !== before);
  const place = rank({ ...looking, members: others }, lackedIn(looking)).indexOf(self);
  const isToWait = isUnfit && countOf({ ...looking, members: others }) > 1;
  const turnAt = freeAt + place * perRankMs + (isToWait ? unfitMs : 0);
  return Math.max(0, turnAt - now);
}

/**
 * The revisions over which to claim the account, in order; 0 where no key may exist. A key unchanged for longer than a
 * lease is nobody's, even if the servers keep it because their clock was set back. It comes first: a claim over what
 * was seen proves that nobody had the account since.
 */
export function claimsOver(
  { now, leaseMs }: Pick<Looking, "now" | "leaseMs">,
  holding: Holding | null,
): readonly number[] {
  if (holding === null) return [0];
  if (holding.holder === null) return [holding.revision];
  return now - holding.seenAt < silentFor(leaseMs) ? [0] : [holding.revision, 0];
}

/**
 * Whether the account should go to a member that ranks before this one and has been there for a while. If somebody does
 * not reach what the account needs, that member has to reach it.
 */
export function isToHandBack(looking: Looking, ownedSince: number): boolean {
  const { account, self, members, now } = looking;
  if (now - ownedSince < settledMs) return false;
  const ranked = rank(looking);
  const lacked = lackedIn(looking);
  const [best] = ranked
    .slice(0, ranked.indexOf(self))
    .flatMap((id) => members.filter((one) => one.id === id))
    .filter((one) => lacked.size === 0 || isReaching(one, account, lacked));
  return best !== undefined && now - best.firstSeenAt >= settledMs;
}

/** What present members do not reach, if they run the account or gave it up for that reason. */
export const lackedIn = (looking: Looking): ReadonlySet<Reach> =>
  new Set(
    looking.members
      .filter((one) => isThere(one, looking))
      .flatMap(({ lacks }) => [...(lacks.get(looking.account) ?? [])]),
  );

/**
 * Whether a member that could run the account reaches all that this one does not. An account that has just moved for
 * that reason stays.
 */
export function isReachedElsewhere(looking: Looking, lacks: ReadonlySet<Reach>): boolean {
  const { account, self, members } = looking;
  const others = members.filter((one) => one.id !== self && isThere(one, looking));
  if (others.some(({ moved }) => moved.has(account))) return false;
  return others.some((one) => !one.unfit.has(account) && isReaching(one, account, lacks));
}
