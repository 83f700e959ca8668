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

/** An earlier command that this one repeats, or whose id it uses for another command. */
export interface Duplicate {
  readonly first: Taken;
  readonly isSame: boolean;
}

/**
 * Whether it was taken before: by the sender's id within 12 h, and without one as the newest of its target while that is
 * open or within 2 s of its end. `before` is what is known by the id, or without one the newest; null for a command of its own.
 */
export function duplicateOf(own: Own, before: Taken | null, now: number): Duplicate | null {
  if (before === null) return null;
  const endedMs = before.endedMono === null ? 0 : now - before.endedMono;
  if (own.id !== null)
    return endedMs > ownIdMs ? null : { first: before, isSame: before.canonical === own.canonical };
  // A person who presses stop again wants another one.
  const isRepeated =
    own.canonical !== "stop" && endedMs <= samePayloadMs && before.payloadKey === own.payloadKey;
  return isRepeated ? { first: before, isSame: true } : null;
}

/** A sender may use one id for several actuators, as a scene does. */
const idKey = (key: string, id: string) => `${key} ${id}`;

export const knownId = ({ young, old }: Ids, key: string, id: string): Taken | null =>
  at(young, idKey(key, id)) ?? at(old, idKey(key, id)) ?? null;

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

/** Refusals of one minute, of each target. */
export interface Refusals {
  readonly minute: number;
  readonly targets: Table<{ readonly journaled: number; readonly counted: Counted | null }>;
}

/** Those that are not journaled each. */
export interface Counted {
  readonly controller: string;
  readonly actuator: string;
  /** When the first of them came. */
  readonly since: string;
  readonly reasons: Readonly<Record<string, number>>;
  readonly count: number;
}

const minuteOf = (now: number) => Math.floor(now / minuteMs);
const keyOf = ({ controller, target, actuator }: About) => `${controller} ${target ?? ""} ${actuator}`;

/** One more in this minute, and whether it is only counted: from the 61st of a target on, and where `isOneOfMany`. */
export function countRefusal(
  refusals: Refusals,
  about: About,
  { received_at: since, reason }: CommandResult,
  isOneOfMany = false,
): { readonly refusals: Refusals; readonly isOnlyCounted: boolean } {
  const { targets } = refusals;
  const isNamed = at(targets, keyOf(about)) !== undefined || targets.size < mostKeys;
  const key = isNamed ? keyOf(about) : others;
  const { journaled, counted } = at(targets, key) ?? { journaled: 0, counted: null };
  if (!isOneOfMany && journaled < journaledPerMinute) {
    const one = { journaled: journaled + 1, counted };
    return { refusals: { ...refusals, targets: having(targets, key, one) }, isOnlyCounted: false };
  }
  const { controller, actuator } = isNamed ? about : { controller: "*", actuator: "*" };
  const held: Counted = counted ?? { controller, actuator, since, reasons: {}, count: 0 };
  const why = reason ?? "unknown";
  const reasons = { ...held.reasons, [why]: (held.reasons[why] ?? 0) + 1 };
  const one = { journaled, counted: { ...held, reasons, count: held.count + 1 } };
  return { refusals: { ...refusals, targets: having(targets, key, one) }, isOnlyCounted: true };
}

/** Takes out the counts of a minute that is over; with the end of the program of this one too. */
export function countsOver(
  refusals: Refusals,
  now: number,
): { readonly refusals: Refusals; readonly over: readonly Counted[] } {
  const minute = minuteOf(now);
  if (minute <= refusals.minute) return { refusals, over: [] };
  const over = [...entries(refusals.targets)].flatMap(([, { counted }]) => counted ?? []);
  return { refusals: { minute, targets: emptyTable }, over };
}
