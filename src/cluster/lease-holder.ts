import { falseIfFailed, ignored } from "../runtime/failures.js";
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
  notConfirmed,
  mayPost,
  Posts,
  provenMs,
  leaseAfterRenewal,
  renewEveryMs,
  leaseWithoutKey,
  withLease,
} from "./lease.js";
import type { Registry } from "../runtime/metrics.js";
import type { Ownership } from "../feature/core.js";
import type { Reach } from "./membership.js";
import type { Bucket } from "./ports.js";

export type LeaseChange =
  "lost" | "handing back" | "reaching less" | "unconfirmed" | "confirmed" | "not fenced";

interface LeaseHolderPorts {
  readonly bucket: Bucket;
  readonly member: string;
  readonly key: string;
  readonly value: string;
  readonly times: LeaseTimes;
  readonly instant: () => Instant;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Puts the fencing record into the journal; rejects if it may not be there. */
  readonly fence: () => Promise<void>;
  /** For how long there has been no link to the NATS servers, ms; 0 while there is one. */
  readonly lostMs: () => number;
  /** Says that the journal has lost records; null otherwise. */
  readonly journalProblem: () => string | null;
  /** Why another member should get the account; null where none should. */
  readonly isToGoTo: () => "handing back" | "reaching less" | null;
  readonly onLack: (lacked: readonly Reach[]) => void;
  readonly metrics: () => Registry;
  readonly onChange: (what: LeaseChange) => void;
}

const retryMs = 500;
/** A renewal without an answer for this long is sent once more. */
const unansweredMs = 1_000;
/** Without a link for this long no command is taken: its result would wait for the next link. */
const lostForMs = 2_000;
/** Short, since each look before the bridge runs is at what is known here already. */
const fenceAgainMs = 50;

/** Keeps the lease of an account from its claim to its end, and says what may be done under it. */
export class LeaseHolder {
  readonly #ports: LeaseHolderPorts;
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
  /** Monotonic ms. */
  #fenceFailsSince: number | null = null;
  /** Lanes in which the last owner may have a POST under way; null, which means any, while unknown. */
  #underWay: ReadonlySet<string> | null = null;
  #wasConfirmed = true;
  readonly ownership: Ownership;

  constructor(lease: Lease, ports: LeaseHolderPorts) {
    this.#lease = lease;
    this.#ports = ports;
    const { instant, times } = ports;
    this.ownership = {
      member: ports.member,
      controlMs: times.controlMs,
      mayPost: () => !this.#isLost && mayPost(this.#lease, instant(), times),
      postBegins: (isRecorded) => this.#posts.begin(instant().mono, isRecorded),
      commandsProblem: (lane) => (ports.lostMs() >= lostForMs ? notConfirmed : this.#problem(lane)),
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
      // What the journal has already depends on the lease alone, not on the link.
      underLease: (platform) =>
        withLease(platform, { ...this.ownership, commandsProblem: (lane) => this.#problem(lane) }),
    };
  }

  #problem(lane: string | undefined): string | null {
    const { instant, times } = this.#ports;
    return commandsProblem(this.#isLost ? null : this.#lease, instant(), times, this.#isBusy(lane));
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

  /** Aborts when the bridge has to end. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Called when another member has the account, or may have it. */
  readonly onLost = (): void => {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#ports.onChange("lost");
    this.#cut.abort();
    this.#stop.abort();
  };

  /** Keeps the lease while `run` runs, then gives it up. `run` begins once nobody else can act for the account. */
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

  /** Waits until the fencing record may be written, and writes it; false if the bridge has to end before. */
  async #begin(): Promise<boolean> {
    const { wait, instant, times, onChange } = this.#ports;
    let isTold = false;
    while (!this.#stop.signal.aborted) {
      // A member that slept meanwhile must not take the link to the broker from the new owner.
      if ((this.#lease.isFenced || (await this.#fence())) && this.isConfirmed) break;
      const failingMs = instant().mono - (this.#fenceFailsSince ?? Infinity);
      if (!isTold && failingMs >= times.leaseMs) {
        isTold = true;
        onChange("not fenced");
      }
      await wait(fenceAgainMs, this.#stop.signal).catch(ignored);
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
      // After a new claim meanwhile there is more to wait for.
      if (this.#lease.aloneFrom === aloneFrom) this.#lease = leaseAfterFence(this.#lease);
    } catch {
      // The journal did not acknowledge the record; it is tried again.
      this.#fenceFailsSince ??= instant().mono;
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
      await wait(waitMs, this.#over.signal).catch(ignored);
      if (this.#isOver()) return;
      const isRenewed = await this.#attempt();
      waitMs = isRenewed ? renewEveryMs(times) : retryMs;
      this.#tell();
      if (!this.#isRunning || this.#stop.signal.aborted) continue;
      // Not awaited, as the lease has to be renewed meanwhile.
      if (!this.#lease.isFenced) void this.#fence();
      if (isRenewed && this.#mayMark() && this.#isSettled()) this.#goToOther();
    }
  }

  /**
   * Whether a renewal is answered at once. A server that is gone leaves one unanswered for long, so others are sent
   * beside it.
   */
  async #attempt(): Promise<boolean> {
    const answered = new AbortController();
    const renewing = this.#renew().catch(falseIfFailed);
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

  /** Whether no POST of the last owner is under way; before that, the next owner would have to wait for it again. */
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

  /** Renews the lease; resolves with whether it is confirmed now. */
  async #renew(): Promise<boolean> {
    const { bucket, key, value, instant } = this.#ports;
    if (!this.isConfirmed && (await this.#isOthers())) return false;
    const sentAt = instant();
    const revision = await bucket.renew(key, value, this.#lease.revision);
    if (revision !== null) {
      // A server that was behind had said that the key is gone.
      if (this.#lease.aloneFrom === Infinity) this.#ownAnew(revision, sentAt);
      // A later renewal may have been answered first.
      else if (revision > this.#lease.revision)
        this.#lease = leaseAfterRenewal(this.#lease, revision, sentAt);
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
    // A new claim or a renewal was carried out, but its answer was lost.
    else if (this.#lease.aloneFrom === Infinity) this.#ownAnew(found.revision, this.#lease.confirmedAt);
    else this.#lease = { ...this.#lease, revision: found.revision };
    return false;
  }

  /** Asked once the lease has run out: if the servers lost the key, its revision may be another member's now. */
  async #isOthers(): Promise<boolean> {
    const { bucket, key, value } = this.#ports;
    const found = await bucket.get(key);
    if (found === null || found.value === value) return false;
    this.onLost();
    return true;
  }

  /**
   * Claims a key that had vanished. What others may have begun meanwhile has to end first; the journal shows whether
   * they did.
   */
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
    // While the bridge runs, the next fence shows whether anybody else did something meanwhile.
    const settledFrom = this.#isRunning
      ? Math.max(this.#lease.settledFrom, anew.aloneFrom)
      : anew.settledFrom;
    this.#lease = { ...anew, settledFrom };
  }

  #mayMark(): boolean {
    const { instant, times } = this.#ports;
    return !this.#isLost && mayMark(this.#lease, this.#posts, instant(), times);
  }

  /**
   * Leaves no mark while something may be under way: then the lease runs out, and the next owner waits as after a
   * failure.
   */
  async #giveUp(): Promise<void> {
    const { bucket, key } = this.#ports;
    if (this.#mayMark()) await bucket.release(key, this.#lease.revision).catch(ignored);
  }
}
