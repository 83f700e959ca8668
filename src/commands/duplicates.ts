import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { fingerprint, isFingerprint } from "../runtime/mqtt.js";
import { at, emptyTable, having, type Table } from "../runtime/table.js";

/** A command that was taken, by which a repeated one is recognised. */
export interface Taken {
  readonly id: string;
  readonly canonical: string;
  readonly payloadKey: string;
  /** Once it was told; null while it is open. */
  readonly result: CommandResult | null;
  readonly endedMono: number | null;
  /** The pause that a newer command keeps from it. */
  readonly quietMs: number;
}

/** By lane and the sender's id. What was taken of late is young; when that is much, the old ones are forgotten. */
export interface Ids {
  readonly young: Table<Taken>;
  readonly old: Table<Taken>;
  readonly since: number;
}

/** What tells a command from another. `id` is the sender's. */
export interface Own {
  readonly id: string | null;
  readonly canonical: string;
  readonly payloadKey: string;
}

const ownIdMs = 12 * 3_600_000;
/** A command ends within minutes, so that what is older than this has ended more than 12 h ago. */
const generationMs = 13 * 3_600_000;
/** Far more than a greenhouse sends in 12 h; beyond it the oldest ids are forgotten first. */
const mostYoung = 20_000;
export const samePayloadMs = 2_000;

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
 * Whether it was taken before: by the sender's id within 12 h, and without one as the newest of its target while that is
 * open or within 2 s of its end.
 */
export function duplicateOf(
  own: Own,
  before: { readonly ids: Ids; readonly key: string; readonly newest: Taken | null },
  now: number,
): Duplicate {
  if (own.id === null) {
    // Somebody who presses stop again wants another one.
    if (own.canonical === "stop" || before.newest === null) return { type: "none" };
    const { endedMono, payloadKey: key, id, result } = before.newest;
    const isFresh = endedMono === null || now - endedMono <= samePayloadMs;
    return isFresh && key === own.payloadKey ? { type: "duplicate", id, original: result } : { type: "none" };
  }
  const seen = knownId(before.ids, before.key, own.id);
  if (!seen || (seen.endedMono !== null && now - seen.endedMono > ownIdMs)) return { type: "none" };
  return seen.canonical === own.canonical
    ? { type: "duplicate", id: seen.id, original: seen.result }
    : { type: "other_command" };
}

/** A sender may use one id for several actuators, as a scene does. */
const idKey = (key: string, id: string) => `${key} ${id}`;

export const knownId = ({ young, old }: Ids, key: string, id: string): Taken | undefined =>
  at(young, idKey(key, id)) ?? at(old, idKey(key, id));

export function withId(ids: Ids, key: string, taken: Taken, now: number): Ids {
  const isFull = ids.young.size >= mostYoung || now - ids.since > generationMs;
  const kept = isFull ? { young: emptyTable, old: ids.young, since: now } : ids;
  return { ...kept, young: having(kept.young, idKey(key, taken.id), taken) };
}

/** Tells payloads apart for recognising repeats, without keeping them; white space around the text says nothing. */
export const payloadKey = (payload: Uint8Array): string =>
  fingerprint(new TextDecoder().decode(payload).trim());

/** The same of what the journal holds, where earlier versions kept the text itself. */
export const recordedKey = (recorded: string): string =>
  isFingerprint(recorded) ? recorded : fingerprint(recorded);
