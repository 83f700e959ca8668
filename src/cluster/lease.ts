import { driftAllowance } from "../runtime/clock.js";
import { msg } from "../language/text.js";
import { PlatformError, type PlatformWriter } from "../greenhouse/ports.js";

/*
 * Who may act for an account. A lease is a key in a bucket of the coordination service, claimed and renewed by
 * compare-and-set. The clock of that service is not trusted: it may end a lease too early, so the next owner waits
 * until the last one's lease has run out at its holder.
 */

/** One instant by every clock of this computer. Clocks that go on during its sleep show that it slept. */
export interface Instant {
  /** Never jumps, but may stand still while the computer is suspended. */
  readonly mono: number;
  /** Since the computer started, including its sleep. */
  readonly up: number;
  /** May jump. */
  readonly wall: number;
}

/**
 * The time since `then`, ms, by the clock that advanced most. A wall clock set forward ends a lease until its next
 * renewal, seconds later; one set back prolongs none.
 */
export const ageMs = (then: Instant, now: Instant): number =>
  Math.max(now.mono - then.mono, now.up - then.up, now.wall - then.wall);

export interface LeaseTimes {
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number;
  /** The longest time that a POST takes. */
  readonly controlMs: number;
}

export interface Lease {
  /** The key's revision, without which it cannot be renewed. */
  readonly revision: number;
  /** When the request that last confirmed the lease was SENT; the service can only have counted from later on. */
  readonly confirmedAt: Instant;
  /** From when on nobody else holds a lease, monotonic ms. */
  readonly aloneFrom: number;
  /**
   * From when on no POST of another member is under way, monotonic ms; until then one may be, where the journal says
   * so.
   */
  readonly settledFrom: number;
  /**
   * A renewal after the claim has shown that only this member has the lease, even if a server accepted several claims
   * at once.
   */
  readonly isRenewed: boolean;
  /** The fencing record is in the journal, behind everything that others could write. */
  readonly isFenced: boolean;
}

interface Claim {
  readonly revision: number;
  readonly sentAt: Instant;
  /** Monotonic ms. */
  readonly answeredAt: number;
  /**
   * The holder before has no lease any more: it gave up in order, or this member has seen its last renewal for longer
   * than a lease. If the key had vanished, another member may have had it meanwhile.
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

/** After this time claims made together are decided, and only one of them can be renewed. */
export const provenMs = 500;

/** The lease after its key was found to be gone: until it is claimed again, others may own the account. */
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

/** Whether the lease is younger than its time, so that nobody else can have waited for its end. */
export const isConfirmed = (lease: Lease, now: Instant, { leaseMs }: LeaseTimes): boolean =>
  ageMs(lease.confirmedAt, now) < leaseMs;

/** Whether the fencing record may be written: a renewal has proven the lease, and nobody else holds one any more. */
export const mayFence = (lease: Lease, now: Instant, times: LeaseTimes): boolean =>
  lease.isRenewed && now.mono >= lease.aloneFrom && isConfirmed(lease, now, times);

/** To be asked with the present instant, immediately before the first byte of a POST. */
export const mayPost = (lease: Lease | null, now: Instant, times: LeaseTimes): boolean =>
  lease !== null && lease.isFenced && isConfirmed(lease, now, times);

/**
 * POSTs of this member that the platform may still carry out, under way or unanswered, and that the journal may lack.
 */
export class Posts {
  readonly #begun = new Map<symbol, number>();

  /** To be called as the first byte leaves; the function that it returns, once the platform has answered. */
  begin(mono: number, isRecorded: boolean): () => void {
    if (isRecorded) return () => undefined;
    const post = Symbol("a POST");
    this.#begun.set(post, mono);
    return () => this.#begun.delete(post);
  }

  /** From when on none of them is under way, monotonic ms; drops those that are over. */
  overFrom(now: number, { controlMs }: LeaseTimes): number {
    for (const [post, mono] of this.#begun) if (now >= mono + controlMs) this.#begun.delete(post);
    return Math.max(-Infinity, ...this.#begun.values()) + controlMs;
  }
}

/**
 * Whether the journal has every POST that the next owner must wait for. Then the account is given up with a mark that
 * says so.
 */
export const mayMark = (lease: Lease, posts: Posts, { mono }: Instant, times: LeaseTimes): boolean =>
  lease.isFenced && mono >= posts.overFrom(mono, times);

export const notConfirmed =
  "the NATS servers of the cluster do not confirm that this member runs the account; check them and the network.";

/**
 * Why no commands are taken, as a sentence; null if they are. A stop does not ask. `isBusy`: the last owner may have a
 * POST under way to this target.
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

/** The interval of renewals: two in a row may fail. */
export const renewEveryMs = ({ leaseMs }: LeaseTimes): number => leaseMs / 3;

/**
 * Limits of the bucket: how long a key lives after each write, with only its newest value kept. A TTL of single keys
 * would end with their first renewal. The bucket's TTL exceeds a lease, so that a lease renewed just before the servers
 * need a new leader can be renewed afterwards. Who takes over goes by what it has seen itself.
 */
export const bucketLimits = (leaseMs: number) => ({ ttl: leaseMs * 1.5, history: 1 }) as const;

/**
 * A platform that sends only what this member may send, judged when the connection stands, immediately before the first
 * byte. While the last owner may have something under way, only a stop is sent; what a rule sends is held back and
 * tried again.
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
    // What a rule sends does not wait for the journal either.
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
