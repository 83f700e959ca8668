import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { About } from "../journal/records.js";
import { fingerprint, isFingerprint } from "../runtime/mqtt.js";
import { at, emptyTable, entries, having, type Table, without } from "../runtime/table.js";
import { laneKey, type Target } from "./command.js";

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
    // A person who presses stop again wants another one.
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

/* What a sender cannot exceed: commands a minute of one target, and refusals a minute in the journal. */

const minuteMs = 60_000;
const commandsPerMinute = 60;
const journaledPerMinute = 60;
/** Keys may be invented by a sender; beyond this many they share one count. */
const mostKeys = 1_000;
const others = "";

/** When the newest commands of each target were taken, oldest first. Stops have an allowance of their own. */
export interface Allowances {
  readonly configured: Table<readonly number[]>;
  readonly addresses: Table<readonly number[]>;
  readonly stops: Table<readonly number[]>;
}

/**
 * Takes a place of the target's allowance; null while there is none. What exceeds it does not count. Targets that do not
 * exist share one allowance, and raw addresses, of which there is no end either, have a thousand.
 */
export function takePlace(
  allowances: Allowances,
  about: Target,
  { isKnown, isStop }: { readonly isKnown: boolean; readonly isStop: boolean },
  now: number,
): Allowances | null {
  const kind = isStop ? "stops" : about.target === "address" ? "addresses" : "configured";
  const key = isKnown ? laneKey(about) : others;
  const table = kind === "addresses" ? withRoom(allowances[kind], key, now) : allowances[kind];
  const own = kind !== "addresses" || at(table, key) || table.size < mostKeys ? key : others;
  const taken = at(table, own) ?? [];
  const [oldest] = taken;
  const isFull = oldest !== undefined && taken.length >= commandsPerMinute;
  if (isFull && now - oldest < minuteMs) return null;
  return { ...allowances, [kind]: having(table, own, [...(isFull ? taken.slice(1) : taken), now]) };
}

function withRoom(table: Table<readonly number[]>, key: string, now: number): Table<readonly number[]> {
  if (table.size < mostKeys || at(table, key)) return table;
  let kept = table;
  for (const [old, taken] of entries(table))
    if (now - (taken.at(-1) ?? -Infinity) >= minuteMs) kept = without(kept, old);
  return kept;
}

/** Refusals of this minute, and those that were only counted. */
export interface Refusals {
  readonly minute: number;
  readonly journaled: Table<number>;
  readonly counted: Table<Counted>;
}

export interface Counted {
  readonly controller: string;
  readonly actuator: string;
  readonly since: string;
  readonly minute: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly count: number;
}

const minuteOf = (now: number) => Math.floor(now / minuteMs);
const keyOf = ({ controller, target, actuator }: About) => `${controller} ${target ?? ""} ${actuator}`;

/** One more of the target in this minute, and whether that is too many to be journaled. */
export function countMinute(
  refusals: Refusals,
  about: About,
  now: number,
): { readonly refusals: Refusals; readonly isTooMany: boolean } {
  const minute = minuteOf(now);
  const before = minute === refusals.minute ? refusals.journaled : emptyTable;
  const key = at(before, keyOf(about)) !== undefined || before.size < mostKeys ? keyOf(about) : others;
  const count = (at(before, key) ?? 0) + 1;
  return {
    refusals: { ...refusals, minute, journaled: having(before, key, count) },
    isTooMany: count > journaledPerMinute,
  };
}

/** Only counts it. */
export function countOnly(refusals: Refusals, about: About, result: CommandResult, now: number): Refusals {
  const { counted } = refusals;
  const isNamed = at(counted, keyOf(about)) !== undefined || counted.size < mostKeys;
  const key = isNamed ? keyOf(about) : others;
  const { controller, actuator } = isNamed ? about : { controller: "*", actuator: "*" };
  const first = {
    controller,
    actuator,
    since: result.received_at,
    minute: minuteOf(now),
    reasons: {},
    count: 0,
  };
  const held: Counted = at(counted, key) ?? first;
  const reason = result.reason ?? "unknown";
  const reasons = { ...held.reasons, [reason]: (held.reasons[reason] ?? 0) + 1 };
  return { ...refusals, counted: having(counted, key, { ...held, reasons, count: held.count + 1 }) };
}

/** Takes out the counts of minutes that are over; with the end of the program of this one too. */
export function countsOver(
  refusals: Refusals,
  now: number,
): { readonly refusals: Refusals; readonly over: readonly Omit<Counted, "minute">[] } {
  let { counted } = refusals;
  const over: Omit<Counted, "minute">[] = [];
  for (const [key, { minute, ...count }] of entries(refusals.counted)) {
    if (minute >= minuteOf(now)) continue;
    counted = without(counted, key);
    over.push(count);
  }
  return { refusals: counted === refusals.counted ? refusals : { ...refusals, counted }, over };
}
