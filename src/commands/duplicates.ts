import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { fingerprint, isFingerprint } from "../runtime/user-properties.js";

interface Seen {
  readonly id: string;
  readonly canonical: string;
  readonly payloadKey: string;
  result: CommandResult | null;
  endedMono: number | null;
}

/** What tells a command from another. `id` is the sender's. */
interface Own {
  readonly id: string | null;
  readonly canonical: string;
  readonly payloadKey: string;
}

const ownIdMs = 12 * 3_600_000;
const samePayloadMs = 2_000;

export type Duplicate =
  | { readonly type: "none" }
  | {
      readonly type: "duplicate";
      /** Of the first. */
      readonly id: string;
      /** Null while the first is open. */
      readonly original: CommandResult | null;
    }
  /** The id was used for another command. */
  | { readonly type: "other_command" };

/**
 * Which commands were taken before: by the sender's id for 12 h, and without one the newest of an actuator while it is
 * open or within 2 s of its end.
 */
export class Duplicates {
  readonly #byId = new Map<string, Seen>();
  readonly #newest = new Map<string, Seen>();

  /** Results of earlier runs that still count. `agoMs` is how long ago they ended. */
  remember(
    lane: string,
    id: string,
    canonical: string,
    result: CommandResult,
    agoMs: number,
    monoNow: number,
  ): void {
    this.#byId.set(`${lane} ${id}`, { id, canonical, payloadKey: "", result, endedMono: monoNow - agoMs });
  }

  find(lane: string, own: Own, monoNow: number): Duplicate {
    if (own.id === null) {
      // Somebody who presses stop again wants another one.
      if (own.canonical === "stop") return { type: "none" };
      const newest = this.#newest.get(lane);
      const fresh = newest && (newest.endedMono === null || monoNow - newest.endedMono <= samePayloadMs);
      return fresh && newest.payloadKey === own.payloadKey
        ? { type: "duplicate", id: newest.id, original: newest.result }
        : { type: "none" };
    }
    const seen = this.#byId.get(`${lane} ${own.id}`);
    if (!seen || (seen.endedMono !== null && monoNow - seen.endedMono > ownIdMs)) return { type: "none" };
    return seen.canonical === own.canonical
      ? { type: "duplicate", id: seen.id, original: seen.result }
      : { type: "other_command" };
  }

  /** `id` is the one it goes by, whoever gave it. */
  taken(lane: string, own: Own, id: string): Seen {
    const seen: Seen = {
      id,
      canonical: own.canonical,
      payloadKey: own.payloadKey,
      result: null,
      endedMono: null,
    };
    this.#newest.set(lane, seen);
    if (own.id !== null) this.#byId.set(`${lane} ${own.id}`, seen);
    return seen;
  }

  ended(seen: Seen, result: CommandResult, monoNow: number): void {
    seen.result = result;
    seen.endedMono = monoNow;
    if (this.#byId.size > maxIds) this.#forgetOld(monoNow);
  }

  #forgetOld(monoNow: number): void {
    for (const [key, seen] of this.#byId) {
      const old = seen.endedMono !== null && monoNow - seen.endedMono > ownIdMs;
      if (old || this.#byId.size > 2 * maxIds) this.#byId.delete(key);
    }
  }
}

/** Far more than a greenhouse sends in 12 h; beyond it the oldest ids are forgotten first. */
const maxIds = 20_000;

/** Tells payloads apart for recognising repeats, without keeping them; white space around the text says nothing. */
export const payloadKey = (payload: Uint8Array): string =>
  fingerprint(new TextDecoder().decode(payload).trim());

/** The same of what the journal holds, where earlier versions kept the text itself. */
export const recordedKey = (recorded: string): string =>
  isFingerprint(recorded) ? recorded : fingerprint(recorded);

/** Which journaled results the broker has taken: everything up to `through` needs no repeating after a restart. */
export class DeliveryMarks {
  readonly #open = new Set<number>();
  #last = 0;

  sent(sequence: number): void {
    this.#open.add(sequence);
    this.#last = Math.max(this.#last, sequence);
  }

  delivered(sequence: number): void {
    this.#open.delete(sequence);
  }

  /** The newest number below which nothing is open; 0 while nothing was delivered. */
  get through(): number {
    return this.#open.size === 0 ? this.#last : Math.min(...this.#open) - 1;
  }
}
