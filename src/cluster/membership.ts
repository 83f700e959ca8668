import { driftAllowance } from "../runtime/clock.js";

/*
 * Which member runs which account: by rendezvous rank, so that a member more or less moves only what is its own. The rank decides
 * who tries first; that only one succeeds is decided by the bucket.
 */

/** What an account needs beside NATS. */
export type Reach = "broker" | "platform";

export type ReachOf = ReadonlyMap<string, ReadonlySet<Reach>>;

/** A member of the cluster as the others see it. */
export interface Member {
  readonly id: string;
  /** By the monotonic clock of who looks. */
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Accounts that failed there lately: others go first. */
  readonly unfit: ReadonlySet<string>;
  /** Of accounts that it runs, or gave up for that: what it does not reach. */
  readonly lacks: ReachOf;
  /** Of accounts of which another member lacks something: what it found that it reaches. */
  readonly reaches: ReachOf;
  /** Accounts that it gave up lately for what it does not reach. */
  readonly moved: ReadonlySet<string>;
}

/** What the bucket holds about an account, as far as it was seen. */
export interface Holding {
  readonly revision: number;
  /** Null where it was given up in order. */
  readonly holder: string | null;
  /** By the monotonic clock of who looks. */
  readonly seenAt: number;
  /** Who gave it up, where that was seen: others go first. */
  readonly left?: string | null;
}

/** Behind the time of a lease: until the service has noticed its end. */
const noticeMs = 200;
/** Each place further back in the order waits so much longer. */
const perRankMs = 2_000;
/** Where an account failed it is tried again only when no other member took it, of those that are there. */
const unfitMs = 30_000;
/** A member that has just come is not given anything yet: it may go as quickly. */
const settledMs = 30_000;

export interface Looking {
  readonly account: string;
  readonly self: string;
  readonly members: readonly Member[];
  readonly now: number;
  /** Since when it has seen what the bucket holds. */
  readonly since: number;
  readonly leaseMs: number;
  readonly hash: (text: string) => number;
}

const isThere = ({ lastSeenAt }: Member, { now, leaseMs }: Looking): boolean =>
  now - lastSeenAt < leaseMs + noticeMs;

/** Members that are there, with the one that looks. */
export const countOf = (looking: Looking): number =>
  1 + looking.members.filter((one) => one.id !== looking.self && isThere(one, looking)).length;

/**
 * Those that could run the account, the best first; the one that looks is always among them. Who reaches what is wanted goes before all
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

/** Longer than an owner that renews is silent, by whichever clock. */
const silentFor = (leaseMs: number): number => leaseMs * driftAllowance + noticeMs;

/** In how many ms this member may try to claim the account; 0 for now. */
export function claimInMs(looking: Looking, holding: Holding | null, isUnfit: boolean): number {
  const { self, now, since, leaseMs } = looking;
  const isHeld = holding !== null && holding.holder !== null;
  const freeAt = isHeld ? holding.seenAt + silentFor(leaseMs) : (holding?.seenAt ?? since);
  // Whoever had it is gone by then, or gave it up.
  const before = holding?.holder ?? holding?.left ?? null;
  const others = looking.members.filter(({ id }) => id !== before);
  const place = rank({ ...looking, members: others }, lackedIn(looking)).indexOf(self);
  const isToWait = isUnfit && countOf({ ...looking, members: others }) > 1;
  const turnAt = freeAt + place * perRankMs + (isToWait ? unfitMs : 0);
  return Math.max(0, turnAt - now);
}

/**
 * The revisions over which to claim the account, one after the other; 0 where nothing may stand there. What has not changed for longer
 * than a lease is nobody's any more, also where the clock of the servers keeps it: then it was set back. It comes first: who claims over
 * what it has seen knows that nobody had the account since.
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
 * Whether the account is to be handed to a member that ranks before this one, and has been there for a while. Where somebody does not
 * reach what the account needs, it has to be one that does.
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

/** What members say that they do not reach, of those that are there and run the account, or gave it up for that. */
export const lackedIn = (looking: Looking): ReadonlySet<Reach> =>
  new Set(
    looking.members
      .filter((one) => isThere(one, looking))
      .flatMap(({ lacks }) => [...(lacks.get(looking.account) ?? [])]),
  );

/**
 * Whether a member that could run the account reaches all that this one does not. Where the account has just come from another one for
 * that, it stays.
 */
export function isReachedElsewhere(looking: Looking, lacks: ReadonlySet<Reach>): boolean {
  const { account, self, members } = looking;
  const others = members.filter((one) => one.id !== self && isThere(one, looking));
  if (others.some(({ moved }) => moved.has(account))) return false;
  return others.some((one) => !one.unfit.has(account) && isReaching(one, account, lacks));
}
