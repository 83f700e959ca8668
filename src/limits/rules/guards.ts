import type { Guard, GuardCondition } from "../../greenhouse/limits.js";
import type { Quality } from "../../greenhouse/model.js";
import { type Attempts, firstAttempt } from "./terms.js";

/*
 * One guard over time. It holds while its condition is true or its input is not good. Instants are monotonic ms.
 */

export interface Instant {
  readonly mono: number;
  /** ISO time of a monotonic instant. */
  readonly iso: (mono: number) => string;
}

/** What an input shows. */
export interface Reading {
  readonly value: string | number | boolean | null;
  /** All that counts: of an actuator with an unfinished command also where it goes. */
  readonly values: readonly (string | number | boolean | null)[];
  readonly quality: Quality;
}

export const nothingRead: Reading = { value: null, values: [], quality: "stale" };

/**
 * `held`: the condition began, and `clear_after` has not passed since it ended. `unsure`: it was clear when its input was
 * lost; the first good value that is not between the two thresholds decides.
 */
type GuardPhase = "clear" | "unsure" | "held";

/** What the guard sends: not called for, called for by the condition that holds, or done with for this time. */
type SendState = "idle" | "due" | "done";

export interface GuardState {
  readonly phase: GuardPhase;
  /** Since when a good input shows that the condition has ended. */
  readonly clearSince: number | null;
  readonly reading: Reading;
  /** A good input was read in this run. */
  readonly isSeen: boolean;
  readonly sending: SendState;
  readonly attempts: Attempts;
}

/** Without a kept state it begins as holding. */
export const unjudged: GuardState = {
  phase: "held",
  clearSince: null,
  reading: nothingRead,
  isSeen: false,
  sending: "idle",
  attempts: firstAttempt,
};

/** What it sends is done with for this time. */
export const sent = (state: GuardState): GuardState => ({
  ...state,
  sending: "done",
  attempts: firstAttempt,
});

export const holds = ({ phase }: GuardState): boolean => phase !== "clear";

export const isBlind = ({ reading }: GuardState): boolean => reading.quality !== "good";

type Value = Reading["value"];

/** As people and stations write numbers; `Number` also takes no text at all and other bases. */
const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?\s*$/i;

const asNumber = (value: Value): Value =>
  typeof value === "string" && decimal.test(value) ? Number(value) : value;

/** As the condition can judge it; a value that it cannot judge is as bad as none. */
function judgeable({ type }: GuardCondition, { value, values, quality }: Reading): Reading {
  const wantsNumber = type === "above" || type === "below";
  const read = wantsNumber ? values.map(asNumber) : values;
  const isUsable =
    read.length > 0 && read.every((one) => (wantsNumber ? typeof one === "number" : one !== null));
  return {
    value: wantsNumber ? asNumber(value) : value,
    values: read,
    quality: quality === "good" && !isUsable ? "bad" : quality,
  };
}

const sameWord = (word: string, value: Value) =>
  value !== null && String(value).trim().toLowerCase() === word.trim().toLowerCase();

/** Whether the condition begins with this value: for thresholds beyond the limit. */
function begins(condition: GuardCondition, value: Value): boolean {
  switch (condition.type) {
    case "above":
      return Number(value) > condition.limit;
    case "below":
      return Number(value) < condition.limit;
    case "is":
      return condition.words.some((word) => sameWord(word, value));
    case "is_not":
      return !condition.words.some((word) => sameWord(word, value));
    case "moving":
      return value === true;
  }
}

/** Whether it goes on with this value once it has begun: for thresholds until the value is back beyond `clear_at`. */
function goesOn(condition: GuardCondition, value: Value): boolean {
  if (condition.type === "above") return Number(value) > condition.clearAt;
  if (condition.type === "below") return Number(value) < condition.clearAt;
  return begins(condition, value);
}

type Folded = Pick<Guard, "condition" | "clearAfterMs" | "sends">;

/**
 * The guard after its input was read, or after time has passed; the same object where nothing changed. `mayActBlind`: a lost
 * input calls for what it sends.
 */
export function foldReading(
  guard: Folded,
  before: GuardState,
  given: Reading,
  now: number,
  mayActBlind: boolean,
): GuardState {
  const reading = judgeable(guard.condition, given);
  const isSame = sameReading(reading, before.reading);
  // Time changes nothing but a guard that waits to be clear, and one whose lost input is to count.
  if (isSame && before.clearSince === null && !mayActBlind) return before;
  const after = folded(guard, before, reading, now, mayActBlind);
  const isAsBefore =
    isSame &&
    after.phase === before.phase &&
    after.clearSince === before.clearSince &&
    after.sending === before.sending;
  return isAsBefore ? before : after;
}

function folded(
  guard: Folded,
  before: GuardState,
  reading: Reading,
  now: number,
  mayActBlind: boolean,
): GuardState {
  const { condition } = guard;
  const called =
    guard.sends !== null && before.sending === "idle"
      ? ({ sending: "due", attempts: firstAttempt } as const)
      : null;
  if (reading.quality !== "good") {
    const phase = before.phase === "clear" ? "unsure" : before.phase;
    return { ...before, phase, clearSince: null, reading, ...(mayActBlind ? called : null) };
  }
  const state = { ...before, reading, isSeen: true };
  if (reading.values.some((value) => begins(condition, value)))
    return { ...state, phase: "held", clearSince: null, ...called };
  if (before.phase === "clear") return { ...state, clearSince: null };
  if (reading.values.some((value) => goesOn(condition, value))) return { ...state, clearSince: null };
  const clearSince = before.clearSince ?? now;
  if (before.phase !== "unsure" && now < clearSince + guard.clearAfterMs) return { ...state, clearSince };
  return { ...unjudged, reading, isSeen: true, phase: "clear" };
}

/** When time alone clears it; null where it does not. */
export const clearsAt = ({ clearAfterMs }: Pick<Guard, "clearAfterMs">, state: GuardState): number | null =>
  state.phase === "held" && state.clearSince !== null ? state.clearSince + clearAfterMs : null;

/** The limit as it was configured. */
export function limitOf(condition: GuardCondition): number | string | readonly string[] | true {
  switch (condition.type) {
    case "above":
    case "below":
      return condition.limit;
    case "is":
    case "is_not": {
      const [first] = condition.words;
      return condition.words.length === 1 && first !== undefined ? first : condition.words;
    }
    case "moving":
      return true;
  }
}

const sameReading = (one: Reading, other: Reading): boolean =>
  one === other ||
  (one.quality === other.quality &&
    one.value === other.value &&
    one.values.length === other.values.length &&
    one.values.every((value, at) => value === other.values[at]));
