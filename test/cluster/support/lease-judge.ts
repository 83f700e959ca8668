import { trustedSkewMs } from "../../../src/runtime/clock.js";
import type { ModelLease } from "./model-bridge.js";
import { endOf } from "./model-leases.js";
import type { Process } from "./process.js";

interface Judged {
  readonly id: string;
  readonly lease: ModelLease;
  readonly sentAt: number;
  isCarriedOut: boolean;
  /**
   * The least by which the clocks of all that ran the account were ahead of a right clock since its newest owner began.
   */
  leastAheadMs: number;
  /**
   * The error that earlier owners may have added to its time: each writes it by its own clock, and takes it over from
   * the one before.
   */
  earlierMs: number;
  /** Set once an owner began whose clock was so far behind a record that the time passed is unknown. */
  isUnknown: boolean;
  ends: number;
  isRecorded: boolean;
}

interface Began {
  readonly aheadMs: number;
  readonly forwardMs: number;
  /** How far the journal's newest record may be ahead of its clock; that much counts as passed. */
  readonly newestMs: number;
}

/**
 * How much too early an owner may have a time: it trusts its clock, believes the newest record, and was set forward.
 */
const byOwner = ({ forwardMs }: Process, began: Began): number =>
  Math.min(trustedSkewMs, Math.max(0, began.aheadMs)) + began.newestMs + forwardMs - began.forwardMs;

/** Clocks run apart by one or two percent, and begin some seconds apart. */
const slackMs = 15_000;
const drift = 0.04;
/**
 * The longest time from its due time until it is ended in calm: commands in progress are waited for, and it is retried.
 */
const longestMs = 400_000;

/**
 * Judges what a lease promises across owners: whoever runs the account ends it, not before its time beyond the errors
 * of the clocks that wrote and read it, and never once the journal has the end.
 */
export class LeaseJudge {
  readonly #leases = new Map<string, Judged>();
  readonly #began = new Map<Process, Began>();
  /** The furthest that any clock that may have written was ahead. */
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

  /** The lease that this command ends; null for another command. */
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

  /** To be called around each change of a clock, as the process that ran the account may have written by it. */
  look(): void {
    for (const { aheadMs } of this.#began.keys()) {
      this.#newestAheadMs = Math.max(this.#newestAheadMs, aheadMs);
      for (const one of this.#leases.values()) one.leastAheadMs = Math.min(one.leastAheadMs, aheadMs);
    }
  }

  /** What is wrong with an end that is sent now; null without a fault. */
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

  /** How much too early a time may be that a slow clock has written since. */
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

  /** Leases that are long due, and that nobody ended. */
  missing(now: number): readonly string[] {
    return [...this.#leases.values()]
      .filter(({ isCarriedOut, ends }) => isCarriedOut && ends === 0)
      .filter(({ sentAt, lease }) => now > sentAt + lease.forMs + longestMs)
      .map(({ id, lease }) => `${id} for ${Math.round(lease.forMs / 1_000)} s was never ended`);
  }
}
