import {
  ageMs,
  commandsProblem,
  leaseOf,
  leaseAfterFence,
  type Instant,
  isConfirmed,
  type Lease,
  type LeaseTimes,
  mayFence,
  mayMark,
  mayPost,
  Posts,
  provenMs,
  leaseAfterRenewal,
  renewEveryMs,
  leaseWithoutKey,
} from "./lease.js";
import type { Registry } from "../runtime/metrics.js";
import type { Reach } from "./membership.js";
import type { Bucket } from "./ports.js";

/** What of a time of owning the bridge of the account asks. */
export interface Ownership {
  /** The member that this is. */
  readonly member: string;
  /** Whether a POST may leave at this moment. */
  readonly mayPost: () => boolean;
  /**
   * To be called as the first byte of a POST leaves, with whether the journal has it; what it returns, once the platform has answered.
   */
  readonly postBegins: (isRecorded: boolean) => () => void;
  /** A sentence, why no commands are taken, of that target or of any; null where they are. */
  readonly commandsProblem: (lane?: string) => string | null;
  /** The journal was read: to these targets alone a POST of the owner before may be under way. */
  readonly foundUnderWay: (lanes: ReadonlySet<string>) => void;
  /** A sentence while nobody confirms that the account is run here; null otherwise. */
  readonly alarm: () => string | null;
  /** Ms since the lease was confirmed. */
  readonly leaseAgeMs: () => number;
  /** Aborts when links are to end at once, and not to be made again: another member has the account. */
  readonly cut: AbortSignal;
  /** What the account does not reach now. */
  readonly lack: (lacked: readonly Reach[]) => void;
  /** The link to the broker is lost. Without a lease it may be another member that is connected now. */
  readonly linkLost: () => void;
  readonly metrics: () => Registry;
}

interface TenurePorts {
  readonly bucket: Bucket;
  readonly member: string;
  readonly key: string;
  readonly value: string;
  readonly times: LeaseTimes;
  readonly instant: () => Instant;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Puts the fencing record into the journal; rejects where it is not known to be there. */
  readonly fence: () => Promise<void>;
  /** A sentence where the journal is not what it was; null otherwise. */
  readonly journalProblem: () => string | null;
  /** Why another member is to have the account; null where none is. */
  readonly isToGoTo: () => "handing back" | "reaching less" | null;
  readonly onLack: (lacked: readonly Reach[]) => void;
  readonly metrics: () => Registry;
  readonly onChange: (what: "lost" | "handing back" | "reaching less" | "unconfirmed" | "confirmed") => void;
}

const retryMs = 500;
/** Without an answer for so long a renewal is tried once more. */
const unansweredMs = 1_000;
/** Before the bridge runs each look is at what is known here already. */
const fenceAgainMs = 50;

/** The time from the claim of an account to its end: keeps the lease, and says what may be done under it. */
export class Tenure {
  readonly #ports: TenurePorts;
  readonly #stop = new AbortController();
  readonly #cut = new AbortController();
  readonly #over = new AbortController();
  readonly #posts = new Posts();
  #lease: Lease;
  /** The journal was read, and the bridge runs. */
  #isRunning = false;
  #isLost = false;
  readonly #renewing = new Set<Promise<boolean>>();
  #isFencing = false;
  /** Null where it is not known, so that it may be any. */
  #underWay: ReadonlySet<string> | null = null;
  #wasConfirmed = true;
  readonly ownership: Ownership;

  constructor(lease: Lease, ports: TenurePorts) {
    this.#lease = lease;
    this.#ports = ports;
    const { instant, times } = ports;
    this.ownership = {
      member: ports.member,
      mayPost: () => !this.#isLost && mayPost(this.#lease, instant(), times),
      postBegins: (isRecorded) => this.#posts.begin(instant().mono, isRecorded),
      commandsProblem: (lane) =>
        commandsProblem(this.#isLost ? null : this.#lease, instant(), times, this.#isBusy(lane)),
      foundUnderWay: (lanes) => {
        this.#underWay = lanes;
      },
      alarm: () =>
        isConfirmed(this.#lease, instant(), times)
          ? ports.journalProblem()
          : commandsProblem(this.#lease, instant(), times, false),
      leaseAgeMs: () => ageMs(this.#lease.confirmedAt, instant()),
      cut: this.#cut.signal,
      lack: ports.onLack,
      linkLost: () => {
        if (!isConfirmed(this.#lease, instant(), times)) this.onLost();
      },
      metrics: ports.metrics,
    };
  }

  #isBusy(lane: string | undefined): boolean {
    if (this.#underWay === null) return true;
    return lane !== undefined && this.#underWay.has(lane);
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get isConfirmed(): boolean {
    return !this.#isLost && isConfirmed(this.#lease, this.#ports.instant(), this.#ports.times);
  }

  /** Aborts when the bridge is to end. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Somebody else has the account, or may have it. */
  readonly onLost = (): void => {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#ports.onChange("lost");
    this.#cut.abort();
    this.#stop.abort();
  };

  /** Keeps the lease while `run` runs, which begins once nobody else can act for the account; then gives it up. */
  async hold(run: (stop: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
    const end = () => this.#stop.abort();
    stop.addEventListener("abort", end);
    if (stop.aborted) end();
    const keeping = this.#keep();
    try {
      if (await this.#begin()) {
        this.#isRunning = true;
        await run(this.#stop.signal);
      }
    } finally {
      stop.removeEventListener("abort", end);
      this.#over.abort();
      await keeping;
      await Promise.allSettled(this.#renewing);
      await this.#giveUp();
    }
  }

  /** Waits until the fencing record may stand, and stands; false where it is over before. */
  async #begin(): Promise<boolean> {
    const { wait } = this.#ports;
    while (!this.#stop.signal.aborted) {
      if (await this.#fence()) break;
      await wait(fenceAgainMs, this.#stop.signal).catch(() => undefined);
    }
    return !this.#stop.signal.aborted;
  }

  async #fence(): Promise<boolean> {
    const { fence, instant, times } = this.#ports;
    const { aloneFrom } = this.#lease;
    if (this.#isFencing || !mayFence(this.#lease, instant(), times)) return false;
    this.#isFencing = true;
    try {
      await fence();
      // Claimed anew meanwhile, there is more to be waited for.
      if (this.#lease.aloneFrom === aloneFrom) this.#lease = leaseAfterFence(this.#lease);
    } catch {
      // The journal does not acknowledge it; it is tried again.
    } finally {
      this.#isFencing = false;
    }
    return this.#lease.isFenced;
  }

  #isOver(): boolean {
    return this.#isLost || this.#over.signal.aborted;
  }

  async #keep(): Promise<void> {
    const { wait, times } = this.#ports;
    let waitMs = provenMs;
    while (!this.#isOver()) {
      await wait(waitMs, this.#over.signal).catch(() => undefined);
      if (this.#isOver()) return;
      const isRenewed = await this.#attempt();
      waitMs = isRenewed ? renewEveryMs(times) : retryMs;
      this.#tell();
      if (!this.#isRunning || this.#stop.signal.aborted) continue;
      // Not waited for: the lease has to be renewed meanwhile.
      if (!this.#lease.isFenced) void this.#fence();
      if (isRenewed && this.#mayMark() && this.#isSettled()) this.#goToOther();
    }
  }

  /** Whether a renewal is answered at once. A server that is gone leaves one for long without an answer, and others are made beside it. */
  async #attempt(): Promise<boolean> {
    const answered = new AbortController();
    const renewing = this.#renew().catch(() => false);
    this.#renewing.add(renewing);
    void renewing.then(() => {
      this.#renewing.delete(renewing);
      answered.abort();
    });
    const late = this.#ports.wait(unansweredMs, answered.signal).then(
      () => false,
      () => false,
    );
    return Promise.race([renewing, late]);
  }

  /** Whoever has it next would wait anew for what the owner before may have under way. */
  #isSettled(): boolean {
    return this.#ports.instant().mono >= this.#lease.settledFrom;
  }

  #goToOther(): void {
    const why = this.#ports.isToGoTo();
    if (why === null) return;
    this.#ports.onChange(why);
    this.#stop.abort();
  }

  #tell(): void {
    const { instant, times, onChange } = this.#ports;
    const now = isConfirmed(this.#lease, instant(), times);
    if (now !== this.#wasConfirmed) onChange(now ? "confirmed" : "unconfirmed");
    this.#wasConfirmed = now;
  }

  /** Whether it is confirmed for now. */
  async #renew(): Promise<boolean> {
    const { bucket, key, value, instant } = this.#ports;
    if (!this.isConfirmed && (await this.#isOthers())) return false;
    const sentAt = instant();
    const revision = await bucket.renew(key, value, this.#lease.revision);
    if (revision !== null) {
      // The answer to one that was made later may have come before.
      if (revision > this.#lease.revision) this.#lease = leaseAfterRenewal(this.#lease, revision, sentAt);
      return true;
    }
    const found = await bucket.get(key);
    if (found === null) {
      this.#lease = leaseWithoutKey(this.#lease);
      return this.#claimAnew();
    }
    // Read from a server that is behind.
    if (found.revision <= this.#lease.revision) return false;
    if (found.value !== value) this.onLost();
    // A claim anew of which the answer was lost has been carried out, or else a renewal.
    else if (this.#lease.aloneFrom === Infinity) this.#ownAnew(found.revision, this.#lease.confirmedAt);
    else this.#lease = { ...this.#lease, revision: found.revision };
    return false;
  }

  /** Asked once the lease has run out: where the servers have lost the key its numbers may be another member's by now. */
  async #isOthers(): Promise<boolean> {
    const { bucket, key, value } = this.#ports;
    const found = await bucket.get(key);
    if (found === null || found.value === value) return false;
    this.onLost();
    return true;
  }

  /** It had vanished. What others could have begun meanwhile has to end first, and the journal tells whether they did. */
  async #claimAnew(): Promise<boolean> {
    const { bucket, key, value, instant } = this.#ports;
    const sentAt = instant();
    const revision = await bucket.claim(key, value, 0);
    if (revision === null) return false;
    this.#ownAnew(revision, sentAt);
    return true;
  }

  #ownAnew(revision: number, sentAt: Instant): void {
    const { instant, times } = this.#ports;
    const answeredAt = instant().mono;
    const anew = leaseOf({ revision, sentAt, answeredAt, isAlone: false }, times);
    // While it runs, the next fence tells whether anybody else did anything meanwhile.
    const settledFrom = this.#isRunning
      ? Math.max(this.#lease.settledFrom, anew.aloneFrom)
      : anew.settledFrom;
    this.#lease = { ...anew, settledFrom };
  }

  #mayMark(): boolean {
    const { instant, times } = this.#ports;
    return !this.#isLost && mayMark(this.#lease, this.#posts, instant(), times);
  }

  /** Where something may still be under way there is no mark: the lease runs out, and the next owner waits as after a failure. */
  async #giveUp(): Promise<void> {
    const { bucket, key } = this.#ports;
    if (this.#mayMark()) await bucket.release(key, this.#lease.revision).catch(() => undefined);
  }
}
