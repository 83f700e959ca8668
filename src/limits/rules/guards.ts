import { stateOfWord } from "../../greenhouse/actuator-kinds.js";
import { canonical, type Wanted } from "../../greenhouse/command/words.js";
import type { Guard, GuardCondition } from "../../greenhouse/limits.js";
import type { Actuator, Controller, Quality } from "../../greenhouse/model.js";
import { type Attempts, firstAttempt } from "./attempts.js";

/*
 * One guard over time, and its input. It holds while its condition is true or its input not good. Times: monotonic ms.
 */

export interface Instant {
  readonly mono: number;
  /** Since when the process has run without a break; absent for always. */
  readonly watchedSince?: number;
  /** ISO time of a monotonic instant. */
  readonly iso: (mono: number) => string;
}

/** The values of an input. */
export interface Reading {
  /** All values that count, the shown one first; for an actuator with an unfinished command also its goal. */
  readonly values: readonly Value[];
  readonly quality: Quality;
}

type Value = string | number | boolean | null;

const nothingRead: Reading = { values: [], quality: "stale" };

/**
 * `held`: the condition began, and `clear_after` has not passed since it ended. `unsure`: the guard was clear when its
 * input was lost; the first good value outside the two thresholds decides.
 */
type GuardPhase = "clear" | "unsure" | "held";

/** The guard's command: not called for, called for by the condition, or done for this time. */
type SendState = "idle" | "due" | "done";

export interface GuardState {
  readonly phase: GuardPhase;
  /** Since when a good input shows that the condition has ended. */
  readonly clearSince: number | null;
  readonly reading: Reading;
  /** A good input was read in this run. */
  readonly isSeen: boolean;
  /** The condition began on a good input, and the guard was not clear since. */
  readonly isTripped: boolean;
  readonly sending: SendState;
  readonly attempts: Attempts;
}

/** A guard of an actuator, with its state. */
export interface GuardNow {
  readonly guard: Guard;
  readonly state: GuardState;
}

/** The initial state without a kept one: it holds. */
export const unjudged: GuardState = {
  phase: "held",
  clearSince: null,
  reading: nothingRead,
  isSeen: false,
  isTripped: false,
  sending: "idle",
  attempts: firstAttempt,
};

/** The state once its command is done for this time. */
export const sendDone = (state: GuardState): GuardState => ({
  ...state,
  sending: "done",
  attempts: firstAttempt,
});

export const holds = ({ phase }: GuardState): boolean => phase !== "clear";

export const isBlind = ({ reading }: GuardState): boolean => reading.quality !== "good";

/** Numbers as people and stations write them; `Number` would also accept an empty text and other bases. */
const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?\s*$/i;

/** The reading in a form that the condition can judge; a value it cannot judge counts as bad. */
function judgeable(condition: GuardCondition, { values, quality }: Reading): Reading {
  const wantsNumber = takesNumber(condition);
  const read: Value[] = [];
  let isUsable = values.length > 0;
  for (const value of values) {
    const isText = wantsNumber && typeof value === "string" && decimal.test(value);
    const one = isText ? Number(value) : value;
    read.push(one);
    if (wantsNumber ? typeof one !== "number" : one === null) isUsable = false;
  }
  return { values: read, quality: quality === "good" && !isUsable ? "bad" : quality };
}

const takesNumber = ({ type }: GuardCondition): boolean => type === "above" || type === "below";

const sameWord = (word: string, value: Value) =>
  value !== null && String(value).trim().toLowerCase() === word.trim().toLowerCase();

/** Whether the condition begins with this value; for thresholds beyond the limit. */
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

/** Whether it goes on with this value once begun; for thresholds as long as the value is beyond `clear_at`. */
function goesOn(condition: GuardCondition, value: Value): boolean {
  if (condition.type === "above") return Number(value) > condition.clearAt;
  if (condition.type === "below") return Number(value) < condition.clearAt;
  return begins(condition, value);
}

type Folded = Pick<Guard, "condition" | "clearAfterMs" | "sends">;

/**
 * The guard after its input was read, or time has passed; the same object if nothing changed. `mayActBlind`: a lost
 * input also calls for its command.
 */
export function foldReading(
  guard: Folded,
  before: GuardState,
  given: Reading,
  now: Pick<Instant, "mono" | "watchedSince">,
  mayActBlind: boolean,
): GuardState {
  const reading = judgeable(guard.condition, given);
  const isSame = sameReading(reading, before.reading);
  // Time matters only for a guard that waits to be clear, and for one whose lost input may count.
  if (isSame && before.clearSince === null && !mayActBlind) return before;
  const after = fold(guard, before, reading, now, mayActBlind);
  const isAsBefore =
    isSame &&
    after.phase === before.phase &&
    after.clearSince === before.clearSince &&
    after.isTripped === before.isTripped &&
    after.sending === before.sending;
  return isAsBefore ? before : after;
}

function fold(
  guard: Folded,
  before: GuardState,
  reading: Reading,
  { mono: now, watchedSince = -Infinity }: Pick<Instant, "mono" | "watchedSince">,
  mayActBlind: boolean,
): GuardState {
  const { condition } = guard;
  // A guard that trips calls for its command, and not again before it was clear.
  const tripped = guard.sends !== null && before.sending === "idle" ? "due" : before.sending;
  if (reading.quality !== "good") {
    const phase = before.phase === "clear" ? "unsure" : before.phase;
    const sending = mayActBlind ? tripped : before.sending;
    return { ...before, phase, clearSince: null, reading, sending };
  }
  const state = { ...before, reading, isSeen: true };
  if (reading.values.some((value) => begins(condition, value)))
    return { ...state, phase: "held", clearSince: null, isTripped: true, sending: tripped };
  if (before.phase === "clear") return { ...state, clearSince: null };
  if (reading.values.some((value) => goesOn(condition, value))) return { ...state, clearSince: null };
  // Nothing is known about values during a break.
  const clearSince = Math.max(before.clearSince ?? now, watchedSince);
  if (before.phase !== "unsure" && now < clearSince + guard.clearAfterMs) return { ...state, clearSince };
  return { ...unjudged, reading, isSeen: true, phase: "clear" };
}

/** When time alone clears it; null if it does not. */
export const clearsAt = ({ clearAfterMs }: Pick<Guard, "clearAfterMs">, state: GuardState): number | null =>
  state.phase === "held" && state.clearSince !== null ? state.clearSince + clearAfterMs : null;

/** The limit in its configured form. */
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

function sameReading(one: Reading, other: Reading): boolean {
  if (one.quality !== other.quality || one.values.length !== other.values.length) return false;
  for (const [at, value] of one.values.entries()) if (value !== other.values[at]) return false;
  return true;
}

/** The newest live message of a `weather` topic. */
export interface WeatherReading {
  readonly value: Value;
  /** When it is too old, in monotonic ms. */
  readonly staleAt: number;
}

/** The bridge's own commands and movement at an actuator. */
interface Activity {
  /** Accepted commands without a result that will send something. */
  readonly unfinished: readonly Wanted[];
  readonly isMoving: boolean;
}

/** Everything outside of an actuator that its limits look at, at one moment. */
export interface LimitContext {
  /** The greatest age of a platform's value, in ms, and of each configured `weather` by name. */
  readonly staleAfterMs: number;
  readonly weatherStaleAfterMs: ReadonlyMap<string, number>;
  /** When this run began. */
  readonly startedAt: number;
  readonly controller: (idOrCode: string) => Controller | undefined;
  /** `rules`: read-only by the user's own setting, which also stops rules from sending. */
  readonly readOnly: { readonly commands: boolean; readonly rules: boolean };
  /** The controller of the actuator. */
  readonly own: Controller;
  readonly weather: (name: string) => WeatherReading | null;
  readonly activity: (code: string, actuator: string) => Activity;
  readonly now: Instant;
  /** The lead of our clock over the platform's in ms, 0 if they agree; null if it is unknown whether ours is right. */
  readonly aheadMs: number | null;
}

const absentTexts = new Set(["", "null", "unknown", "unavailable"]);

/** The value in a payload: the field of a JSON object, else the text itself; null for none. */
export function weatherValue(payload: string, field: string | undefined): Value {
  const text = payload.trim();
  const said = parse(text);
  if (field === undefined) return plain(said ?? text, text);
  return plain(field.split(".").reduce(inside, said), "");
}

const inside = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? new Map<string, unknown>(Object.entries(value)).get(key)
    : undefined;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plain(value: unknown, text: string): Value {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.trim() : text;
  return absentTexts.has(word.toLowerCase()) ? null : word.slice(0, 200);
}

/** The present reading of a guard's input; not good if it does not exist. `id` is the guard's actuator. */
export function readInput({ input, condition }: Guard, id: string, context: LimitContext): Reading {
  if (input.type === "weather") return readWeather(input.name, context);
  const controller = input.controller === null ? context.own : context.controller(input.controller);
  switch (input.type) {
    case "sensor": {
      const sensor = controller?.sensors.get(input.id);
      return sensor === undefined ? nothingRead : { values: [sensor.value], quality: sensor.quality };
    }
    case "status": {
      const status = controller?.statuses.get(input.id);
      return status === undefined ? nothingRead : { values: [status.state], quality: status.quality };
    }
    case "actuator": {
      const actuator = controller?.actuators.get(input.id);
      if (controller === undefined || actuator === undefined) return nothingRead;
      // A guard on the actuator itself looks at its movement, not at the command being judged.
      const activity = context.activity(controller.info.code, input.id);
      const isOwn = controller === context.own && input.id === id;
      return readActuator(actuator, condition, isOwn ? { ...activity, unfinished: [] } : activity);
    }
  }
}

function readWeather(name: string, context: LimitContext): Reading {
  const newest = context.weather(name);
  if (newest === null) return nothingRead;
  return { values: [newest.value], quality: context.now.mono >= newest.staleAt ? "stale" : "good" };
}

function readActuator(
  { settings, quality, state, position }: Actuator,
  condition: GuardCondition,
  { unfinished, isMoving }: Activity,
): Reading {
  if (state === null) return nothingRead;
  const wantsNumber = takesNumber(condition);
  // Uncertainty of an actuator concerns its position; its word was read.
  const certainty = quality === "uncertain" && !wantsNumber ? "good" : quality;
  if (condition.type === "moving") return { values: [isMoving || unfinished.length > 0], quality: certainty };
  const value = wantsNumber ? degreeOf(state, position) : state;
  const goals = unfinished.map((wanted): Value => {
    if (wanted.type === "position") return wantsNumber ? wanted.degree : "position";
    const goal = stateOfWord(settings.kind, canonical(wanted));
    return wantsNumber ? degreeOf(goal, null) : goal;
  });
  return { values: [value, ...goals], quality: certainty };
}

/** The position in %; `open` and `closed` are its ends. */
export function degreeOf(state: string, position: number | null): number | null {
  if (position !== null) return position;
  return state === "open" ? 100 : state === "closed" ? 0 : null;
}
