import { driftAllowance } from "../runtime/clock.js";
import { msg } from "../language/text.js";
import { PlatformError, type PlatformWriter } from "../greenhouse/ports.js";

/*
 * Who may act for an account. A lease is a key in a bucket of the coordination service, claimed and renewed by compare-and-set.
 * Nothing here trusts the clock of that service: it may let a lease go too early, and whoever claims the next one waits until the
 * one before has run out at its holder.
 */

/** One instant by every clock of this computer. Those that go on while it sleeps show that it slept. */
export interface Instant {
  /** Never jumps, but may stand still while the computer is suspended. */
  readonly mono: number;
  /** Since the computer was started, its sleep included. */
  readonly up: number;
  /** May jump. */
  readonly wall: number;
}

/**
 * How long ago something was, at least: by the clock that says most. A wall clock that was set forward ends a lease until its next
 * renewal, seconds later; one that was set back lengthens none.
 */
export const ageMs = (then: Instant, now: Instant): number =>
  Math.max(now.mono - then.mono, now.up - then.up, now.wall - then.wall);

export interface LeaseTimes {
  /** How long a lease holds that is not renewed. */
  readonly leaseMs: number;
  /** The longest that a POST is under way. */
  readonly controlMs: number;
}

export interface Lease {
  /** Of the key, by which alone it is renewed. */
  readonly revision: number;
  /** When the request was SENT that confirmed it last: the service can only have let it begin later. */
  readonly confirmedAt: Instant;
  /** By the monotonic clock: from when on nobody else holds one any more. */
  readonly aloneFrom: number;
  /** From when on no POST of anybody else is under way any more; until then one may be where the journal says so. */
  readonly settledFrom: number;
  /** A renewal after the claim has shown that it is this member's alone, also where a server let several claim at once. */
  readonly isRenewed: boolean;
  /** The fencing record stands in the journal, behind everything that others could write. */
  readonly isFenced: boolean;
}

interface Claim {
  readonly revision: number;
  readonly sentAt: Instant;
  /** By the monotonic clock. */
  readonly answeredAt: number;
  /**
   * Whoever held it before holds none any more: it was given up in order, or what was claimed over is the very renewal that this member
   * has seen for longer than a lease. Where the key had vanished another may have had it meanwhile.
   */
  readonly isAlone: boolean;
}

export function leaseOf(
  { revision, sentAt, answeredAt, isAlone }: Claim,
  { leaseMs, controlMs }: LeaseTimes,
): Lease {
  const aloneFrom = isAlone ? answeredAt : answeredAt + leaseMs * driftAllowance;
  const settledFrom = aloneFrom + controlMs;
  return { revision, confirmedAt: sentAt, aloneFrom, settledFrom, isRenewed: false, isFenced: false };
}

/** So long after a claim whatever was claimed together with it is decided, and the renewal of but one succeeds. */
export const provenMs = 500;

/** The key was found to have vanished: from then until it is claimed anew others may own the account. */
export const leaseWithoutKey = (lease: Lease): Lease => ({
  ...lease,
  aloneFrom: Infinity,
  isRenewed: false,
  isFenced: false,
});

export const leaseAfterRenewal = (lease: Lease, revision: number, sentAt: Instant): Lease => ({
  ...lease,
  revision,
  confirmedAt: sentAt,
  isRenewed: true,
});

export const leaseAfterFence = (lease: Lease): Lease => ({ ...lease, isFenced: true });

/** Younger than its time: nobody else can have ended its waiting. */
export const isConfirmed = (lease: Lease, now: Instant, { leaseMs }: LeaseTimes): boolean =>
  ageMs(lease.confirmedAt, now) < leaseMs;

/** Whether the fencing record may be written: what was begun under the lease before has ended by then. */
export const mayFence = (lease: Lease, now: Instant, times: LeaseTimes): boolean =>
  lease.isRenewed && now.mono >= lease.aloneFrom && isConfirmed(lease, now, times);

/** To be asked immediately before the first byte of a POST, with the instant of asking. */
export const mayPost = (lease: Lease | null, now: Instant, times: LeaseTimes): boolean =>
  lease !== null && lease.isFenced && isConfirmed(lease, now, times);

/** POSTs of this member that the platform may still carry out, under way or without an answer, and that the journal may lack. */
export class Posts {
  readonly #begun = new Map<symbol, number>();

  /** To be called as the first byte leaves; what it returns, once the platform has answered. */
  begin(mono: number, isRecorded: boolean): () => void {
    if (isRecorded) return () => undefined;
    const post = Symbol("a POST");
    this.#begun.set(post, mono);
    return () => this.#begun.delete(post);
  }

  /** From when on none of them is under way any more; drops those of which that is known. */
  overFrom(now: number, { controlMs }: LeaseTimes): number {
    for (const [post, mono] of this.#begun) if (now >= mono + controlMs) this.#begun.delete(post);
    return Math.max(-Infinity, ...this.#begun.values()) + controlMs;
  }
}

/** Whether the journal has every POST that the next owner has to wait for. Then the account is given up with a mark that says so. */
export const mayMark = (lease: Lease, posts: Posts, { mono }: Instant, times: LeaseTimes): boolean =>
  lease.isFenced && mono >= posts.overFrom(mono, times);

export const notConfirmed =
  "the NATS servers of the cluster do not confirm that this member runs the account; check them and the network.";

/**
 * A sentence for people, why no commands are taken; null where they are. A stop does not ask. `isBusy`: of a target to which a POST of
 * the owner before may be under way.
 */
export function commandsProblem(
  lease: Lease | null,
  now: Instant,
  times: LeaseTimes,
  isBusy: boolean,
): string | null {
  if (lease === null) return "another member of the cluster runs this account.";
  if (!isConfirmed(lease, now, times)) return notConfirmed;
  if (!lease.isFenced)
    return "this member waits until no other one can run the account any more; try again in some seconds.";
  const leftMs = lease.settledFrom - now.mono;
  return isBusy && leftMs > 0
    ? `this member has just taken over, and waits ${Math.ceil(leftMs / 1_000)} s for what the one before may still have under way.`
    : null;
}

/** So often a lease is renewed: two renewals in a row may fail. */
export const renewEveryMs = ({ leaseMs }: LeaseTimes): number => leaseMs / 3;

/**
 * Of the bucket: each write lets a key live so long, and the newest value of each is kept. A time of single keys would end with their
 * first renewal. It is longer than a lease, so that one renewed just before the servers had to find another leader is renewed again
 * once they have; who takes over goes by what it has seen.
 */
export const bucketLimits = (leaseMs: number) => ({ ttl: leaseMs * 1.5, history: 1 }) as const;

/**
 * A platform to which nothing is sent that this member may not send: judged when its connection stands, immediately before the
 * first byte, whatever else is judged there. While the owner before may still have something under way only a stop is sent: what a
 * rule sends is kept back, and tried again.
 */
export function withLease<Platform extends PlatformWriter>(
  platform: Platform,
  ownership: {
    readonly mayPost: () => boolean;
    readonly postBegins: (isRecorded: boolean) => () => void;
    readonly commandsProblem: (lane?: string) => string | null;
  },
): Platform {
  const write: PlatformWriter["write"] = async (code, address, value, signal, manner = {}) => {
    const judged = { isOurs: true, answered: () => undefined as unknown };
    // What a rule sends need not wait for the journal either.
    const isRecorded = manner.isStop !== true && manner.pace !== "first";
    const mayPost = () => {
      const isSettled = manner.isStop === true || ownership.commandsProblem(manner.lane) === null;
      judged.isOurs = isSettled && ownership.mayPost();
      const isAllowed = judged.isOurs && manner.mayPost?.() !== false;
      if (isAllowed) judged.answered = ownership.postBegins(isRecorded);
      return isAllowed;
    };
    try {
      const accepted = await platform.write(code, address, value, signal, { ...manner, mayPost });
      judged.answered();
      return accepted;
    } catch (error) {
      if (error instanceof PlatformError && (!error.facts.sent || error.facts.kind === "rejected"))
        judged.answered();
      if (judged.isOurs || !(error instanceof PlatformError)) throw error;
      const why =
        ownership.commandsProblem(manner.lane) ??
        "the account was not confirmed to be this member's at that moment.";
      throw new PlatformError(msg`not sent: ${why}`, error.facts, { cause: error });
    }
  };
  return { ...platform, write };
}
