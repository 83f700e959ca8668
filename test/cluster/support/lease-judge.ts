import { trustedSkewMs } from "../../../src/runtime/clock.js";
import type { ModelLease } from "./model-bridge.js";
import { endOf } from "./model-leases.js";
import type { Process } from "./process.js";

interface Judged {
  readonly id: string;
  readonly lease: ModelLease;
  readonly sentAt: number;
  isCarriedOut: boolean;
  /** By how much the clocks of those that ran the account were ahead of a right one since its newest owner began, at least. */
  leastAheadMs: number;
  /** What earlier owners may have made of its time: each writes it by its own clock, and has it by that of the one before. */
  earlierMs: number;
  /** An owner began whose clock was so far behind a record's that how much time has passed is not known. */
  isUnknown: boolean;
  ends: number;
  isRecorded: boolean;
}

interface Began {
  readonly aheadMs: number;
  readonly forwardMs: number;
  /** By how much the journal's newest record may be ahead of its clock: so much counts as gone by. */
  readonly newestMs: number;
}

/** By how much too early an owner may have a time: its clock is trusted, it believes the newest record, and was set forward. */
const byOwner = ({ forwardMs }: Process, began: Began): number =>
  Math.min(trustedSkewMs, Math.max(0, began.aheadMs)) + began.newestMs + forwardMs - began.forwardMs;

/** Clocks run apart by a hundredth or two, and begin some seconds apart. */
const slackMs = 15_000;
const drift = 0.04;
/** From its time on until it is ended in calm: what is under way is waited for, and it is tried again. */
const longestMs = 400_000;

/**
 * What a lease promises over all owners: whoever runs the account ends it, not before its time by more than its clock and the one that
 * wrote the time may be wrong, and none once the journal has the end.
 */
export class LeaseJudge {
  readonly #leases = new Map<string, Judged>();
  readonly #began = new Map<Process, Began>();
  /** The clock that was furthest ahead of all that may have written. */
  #newestAheadMs = -Infinity;

  sent(id: string, lease: ModelLease, sentAt: number): void {
    this.#leases.set(endOf(id), {
      ...{ id, lease, sentAt, isCarriedOut: false, isUnknown: false, ends: 0, isRecorded: false },
      ...{ leastAheadMs: Infinity, earlierMs: 0 },
    });
    this.look();
  }

  commandOf(actuator: string): string | null {
    return [...this.#leases.values()].find(({ lease }) => lease.actuator === actuator)?.id ?? null;
  }

  /** The name of a lease that this ends; null for another command. */
  leaseOfEnd(id: string): string | null {
    return this.#leases.has(id) ? id : null;
  }

  carriedOut(id: string): void {
    const one = this.#leases.get(endOf(id));
    if (one !== undefined) one.isCarriedOut = true;
  }

  /** A process begins to run the account. */
  begins(process: Process): void {
    const { aheadMs, forwardMs } = process;
    this.look();
    const before = [...this.#began].at(-1);
    for (const one of this.#leases.values()) {
      one.earlierMs += this.#writtenBy(one) + (before === undefined ? 0 : byOwner(...before));
      one.leastAheadMs = Infinity;
    }
    const newestMs = Math.max(0, this.#newestAheadMs - aheadMs);
    this.#began.set(process, { aheadMs, forwardMs, newestMs });
    const isBehind = newestMs > trustedSkewMs - slackMs;
    for (const one of this.#leases.values()) one.isUnknown ||= isBehind;
    this.look();
  }

  /** To be called around each change of a clock; who ran the account may have written by it. */
  look(): void {
    for (const { aheadMs } of this.#began.keys()) {
      this.#newestAheadMs = Math.max(this.#newestAheadMs, aheadMs);
      for (const one of this.#leases.values()) one.leastAheadMs = Math.min(one.leastAheadMs, aheadMs);
    }
  }

  /** What is wrong with an end that is sent now; null for nothing. */
  ends(name: string, process: Process, now: number): string | null {
    const one = this.#leases.get(name);
    if (one === undefined) return null;
    one.ends += 1;
    if (one.isRecorded) return `ends ${one.id} again, whose end the journal has`;
    const { sentAt, lease, isUnknown, earlierMs } = one;
    const began = this.#began.get(process);
    if (isUnknown || began === undefined) return null;
    const earlyMs = sentAt + lease.forMs - now;
    const mayMs =
      byOwner(process, began) +
      this.#writtenBy(one) +
      earlierMs +
      slackMs +
      drift * Math.max(lease.forMs, now - sentAt);
    return earlyMs > mayMs
      ? `ends ${one.id} ${Math.round(earlyMs / 1_000)} s before its time, and the clocks account for ${Math.round(mayMs / 1_000)} s`
      : null;
  }

  /** By how much too early a time may be that was written since by a clock that was behind. */
  #writtenBy({ leastAheadMs }: Judged): number {
    return leastAheadMs === Infinity ? 0 : Math.max(0, -leastAheadMs);
  }

  recorded(name: string): void {
    const one = this.#leases.get(name);
    if (one !== undefined) one.isRecorded = true;
  }

  get count(): number {
    return [...this.#leases.values()].filter(({ isCarriedOut }) => isCarriedOut).length;
  }

  /** Leases whose time is long over, and that nobody ended. */
  missing(now: number): readonly string[] {
    return [...this.#leases.values()]
      .filter(({ isCarriedOut, ends }) => isCarriedOut && ends === 0)
      .filter(({ sentAt, lease }) => now > sentAt + lease.forMs + longestMs)
      .map(({ id, lease }) => `${id} for ${Math.round(lease.forMs / 1_000)} s was never ended`);
  }
}
