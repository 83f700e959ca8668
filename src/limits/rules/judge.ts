import {
  type ActuatorKind,
  decodeValue,
  isStart,
  kindRows,
  stateOfWord,
} from "../../greenhouse/actuator-kinds.js";
import { joined, msg, type Text, word } from "../../language/text.js";
import { guardInput } from "../../greenhouse/wording.js";
import { needsLeadIn } from "../../greenhouse/command/plan.js";
import { canonical, canStop, vocabulary, type Wanted } from "../../greenhouse/command/words.js";
import type {
  Allowance,
  Allowed,
  DegreeRange,
  Guard,
  Interlock,
  LeaseShown,
  LockShown,
  Restrictions,
} from "../../greenhouse/limits.js";
import type { Actuator } from "../../greenhouse/model.js";
import {
  type Direction,
  type Entry,
  type Hold,
  type Lease,
  type LimitedCommand,
  type Lock,
  type Moves,
  hasMoved,
  type Standing,
} from "./entry.js";
import { clearsAt, degreeOf, type GuardState, holds, type Instant, isBlind, limitOf } from "./guards.js";

/* Decides whether a command may go now. No rule allows what another forbids. Order: lock, guards, hold, pauses. */

export interface Judged {
  readonly wanted: Wanted;
  /** Whether its lead-in is sent now, which is judged by its own word. */
  readonly isLeadIn: boolean;
  /** Its sender: a person or program, a guard, or a lease that ends. */
  readonly source: "sender" | "guard" | "lease";
  readonly hasHold: boolean;
  /** What the actuator shows. */
  readonly shown: { readonly state: string | null; readonly position: number | null } | undefined;
}

interface KeptBack {
  readonly type: "wait" | "refuse";
  /** Monotonic ms; Infinity if only the end of something can tell. */
  readonly until: number;
  readonly interlock: Interlock;
  readonly message: Text;
}

export type Verdict = { readonly type: "go" } | KeptBack;

export const go: Verdict = { type: "go" };

/** A reason that forbids commands now. */
interface Reason {
  readonly interlock: Interlock;
  readonly message: () => Text;
  /** What it still allows. */
  readonly allow: Allowance;
  /** It concerns only commands of senders, except one that holds the actuator itself. */
  readonly isHold?: boolean;
}

const nothing: Allowance = { words: [], degrees: null };

/** The reasons in the order in which they are named: the lock, guards that hold, the hold. */
function reasonsNow(standing: Standing, now: Instant): readonly Reason[] {
  const { settings, lock, hold } = standing;
  const reasons: Reason[] = [];
  if (lock !== null)
    reasons.push({
      interlock: lockInterlock(lock),
      message: () => lockedSentence(lock, canStop(settings)),
      allow: nothing,
    });
  for (const { guard, state } of standing.guards) {
    if (!holds(state)) continue;
    const message = () => guardSentence(guard, state, canStop(settings));
    reasons.push({ interlock: guardInterlock(guard, state, now), message, allow: guard.allow });
  }
  if (hold !== null) {
    const message = () => heldSentence(hold);
    reasons.push({ interlock: holdInterlock(hold, now), message, allow: nothing, isHold: true });
  }
  return reasons;
}

export function judge(standing: Standing, judged: Judged, now: Instant): Verdict {
  const { settings, moves } = standing;
  const reason = reasonsNow(standing, now).find((one) => !passes(one, judged));
  if (reason !== undefined) {
    // The sentence may call this word itself allowed, so the lead-in has to be named.
    const isOfLeadIn = judged.isLeadIn && passes(reason, { ...judged, isLeadIn: false });
    const message = isOfLeadIn ? msg`${reason.message()} ${leadInSentence}` : reason.message();
    return { type: "refuse", until: Infinity, interlock: reason.interlock, message };
  }
  // Pauses never delay a command that ends something or comes from a rule.
  const word = canonical(judged.wanted);
  if (!hasMoved(moves) || judged.source !== "sender" || !isStart(settings.kind, word)) return go;
  const [longest] = pausesFor(standing, directionOf(settings.kind, word, judged.shown));
  if (longest === undefined || longest.until <= now.mono) return go;
  const interlock = pauseInterlock(longest, moves, now);
  return { type: "wait", until: longest.until, interlock, message: pauseSentence(interlock) };
}

type Shown = Actuator | undefined;

/**
 * Decides whether a command may go on. On acceptance and at each possible turn, one that would have to wait past its
 * deadline is refused. Immediately before a POST, or that of its lead-in, it can wait no more, and only a first POST
 * has to.
 */
export function mayGo(
  entry: Entry,
  command: LimitedCommand,
  before: "turn" | "post" | "lead_in",
  shown: Shown,
  now: Instant,
): Verdict {
  const { wanted, rule, term, deadlineMono: deadline } = command;
  const hasHold = (term?.holdMs ?? null) !== null;
  const judged = {
    wanted,
    isLeadIn: before === "lead_in",
    source: rule ?? "sender",
    hasHold,
    shown,
  } as const;
  const verdict = judge(entry, judged, now);
  if (verdict.type !== "wait") return verdict;
  if (before !== "turn") return entry.sent.has(command.id) ? go : { ...verdict, type: "refuse" };
  // Nothing would move.
  if (isThereFor(entry, command, shown)) return go;
  const isTooLong = now.mono > deadline || (Number.isFinite(verdict.until) && verdict.until > deadline);
  return isTooLong ? { ...verdict, type: "refuse" } : verdict;
}

/** Whether it shows what the command wants, or another sent command will bring it there. */
function isThereFor({ sent }: Entry, { id, wanted, force }: LimitedCommand, shown: Shown): boolean {
  if (force || !shown) return false;
  const word = canonical(wanted);
  const isOnItsWay = [...sent].some(([other, one]) => other !== id && one.word === word);
  return isOnItsWay || isThere(shown, wanted);
}

/** Whether a reliable read shows what is wanted. */
export function isThere(actuator: Actuator, wanted: Wanted): boolean {
  const { settings, state, position, quality, between, value } = actuator;
  if (quality !== "good" || between !== null || wanted.type === "stop") return false;
  // A command cut off between its steps leaves the old state; the value is what was read last.
  if (value === null || decodeValue(settings, value).state !== state) return false;
  if (wanted.type === "position")
    return position !== null && Math.abs(position - wanted.degree) <= settings.tolerance;
  return state === stateOfWord(settings.kind, wanted.word);
}

function passes({ allow, isHold = false }: Reason, { wanted, isLeadIn, source, hasHold }: Judged): boolean {
  if (isHold && (hasHold || source !== "sender")) return true;
  if (wanted.type === "stop") return true;
  if (isLeadIn && !allow.words.includes("on")) return false;
  if (wanted.type === "word") return allow.words.includes(wanted.word);
  const { degrees } = allow;
  return degrees !== null && wanted.degree >= degrees.min && wanted.degree <= degrees.max;
}

/* Rest, reversal and starts per hour. */

const hourMs = 3_600_000;

/**
 * The direction of a canonical word or a state: `open` or a greater degree is up. The words of a motor are configured,
 * so their direction is unknown.
 */
export function directionOf(
  kind: ActuatorKind,
  word: string,
  shown: { readonly state: string | null; readonly position: number | null } | undefined,
): Direction | null {
  if (kindRows[kind].configured) return null;
  if (word === "open") return "up";
  if (word === "close" || word === "closed") return "down";
  if (!/^\d{1,3}$/.test(word) || shown === undefined || shown.state === null) return null;
  const degree = Number(word);
  const before = degreeOf(shown.state, shown.position);
  if (before === null || degree === before) return null;
  return degree > before ? "up" : "down";
}

interface Pause {
  readonly rule: "rest" | "reversal" | "starts_per_hour";
  /** As configured: seconds or starts. */
  readonly limit: number;
  /** Monotonic ms; Infinity if only the end of a movement can tell. */
  readonly until: number;
}

/** The pauses for a movement in this direction, also past ones, the longest first. */
export function pausesFor(
  { settings: { limits }, moves: { endsAt, direction: before, starts } }: Standing,
  direction: Direction | null,
): readonly Pause[] {
  if (limits === undefined) return [];
  const { restMs, reversalMs, startsPerHour } = limits;
  const pauses: Pause[] = [];
  if (endsAt !== null && restMs > 0)
    pauses.push({ rule: "rest", limit: restMs / 1_000, until: endsAt + restMs });
  if (endsAt !== null && reversalMs > 0 && (direction === null || direction !== before))
    pauses.push({ rule: "reversal", limit: reversalMs / 1_000, until: endsAt + reversalMs });
  const oldest = startsPerHour === null ? undefined : starts.at(-startsPerHour);
  if (startsPerHour !== null && oldest !== undefined)
    pauses.push({ rule: "starts_per_hour", limit: startsPerHour, until: oldest.at + hourMs });
  return pauses.sort((one, other) => other.until - one.until);
}

/** When the shown pauses change: one ends, or a start is longer ago than an hour. */
export const pauseTimes = (standing: Standing): readonly number[] =>
  pausesFor(standing, null).flatMap(({ rule, until }) =>
    rule === "starts_per_hour" ? standing.moves.starts.map(({ at }) => at + hourMs) : [until],
  );

const startsWithinHour = ({ starts }: Moves, now: number): Moves["starts"] =>
  starts.filter(({ at }) => now - at < hourMs);

const interlock = (rule: string, numbers: Partial<Interlock> = {}): Interlock => ({
  rule,
  input: null,
  value: null,
  limit: null,
  quality: null,
  until: null,
  ...numbers,
});

const lockInterlock = ({ by, until }: Lock): Interlock =>
  interlock("lock", { value: by, until: until === null ? null : new Date(until).toISOString() });

const holdInterlock = ({ by, until }: Hold, { iso }: Instant): Interlock =>
  interlock("hold", { value: by, until: iso(until) });

function pauseInterlock({ rule, limit, until }: Pause, moves: Moves, { mono, iso }: Instant): Interlock {
  const value = rule === "starts_per_hour" ? startsWithinHour(moves, mono).length : null;
  return interlock(rule, { value, limit, until: Number.isFinite(until) ? iso(until) : null });
}

const valueOf = ({ reading }: GuardState) => reading.values[0] ?? null;

/** A guard's value and limit as plain values. */
export function guardFacts(guard: Guard, state: GuardState) {
  const limit = limitOf(guard.condition);
  return { value: valueOf(state), limit: typeof limit === "object" ? limit.join(", ") : limit };
}

/** `weather/wind is 14, and the limit is above 12`; `weather/rain is on, and the limit is "on"`. */
export const shownBy = (guard: Guard, state: GuardState): string =>
  `${guard.from} is ${String(valueOf(state))}, and the limit is ${String(conditionText(guard))}`;

function guardInterlock(guard: Guard, state: GuardState, { iso }: Instant): Interlock {
  const at = clearsAt(guard, state);
  const until = at === null ? null : iso(at);
  const value = valueOf(state);
  const limit = limitOf(guard.condition);
  return interlock(guard.name, { input: guard.from, value, limit, quality: state.reading.quality, until });
}

const leadInSentence = msg`This light gets "on" first (lead_in) unless it shows on, and "on" is not allowed.`;

function lockedSentence({ by, reason }: Lock, hasStop: boolean): Text {
  const why = reason === null ? "" : ` (${reason})`;
  return hasStop
    ? msg`${by} has locked this actuator${why}; only stop passes until it is unlocked.`
    : msg`${by} has locked this actuator${why}; nothing passes until it is unlocked.`;
}

const heldSentence = ({ by }: Hold): Text =>
  by === null
    ? msg`A command holds this actuator; send with "hold", or release it first.`
    : msg`A command of ${by} holds this actuator; send with "hold", or release it first.`;

const pauseSentences: Readonly<Record<string, (limit: string) => string>> = {
  rest: (limit) => `It rests ${limit} s from the end of one movement to the next.`,
  reversal: (limit) => `It waits ${limit} s before it goes the other way.`,
  starts_per_hour: (limit) => `It has made its ${limit} starts within the last hour.`,
};

function pauseSentence({ rule, limit, until }: Interlock): string {
  const why = pauseSentences[rule]?.(String(limit)) ?? "";
  return until === null ? why : `${why} It may go at ${until}.`;
}

/**
 * `hasStop`: whether the actuator has the word `stop`, which is always allowed. Naming it otherwise would mislead a
 * person in a storm.
 */
export function guardSentence(guard: Guard, state: GuardState, hasStop: boolean): Text {
  const { name } = guard;
  const from = guardInput(guard);
  const allowed = allowanceText(guard.allow, hasStop);
  if (isBlind(state))
    return msg`${from} has no good value (${word(state.reading.quality)}), so the guard "${name}" holds. Until it is back, allowed: ${allowed}.`;
  const value = valueOf(state);
  const shown = value === null ? msg`${from} has no value` : msg`${from} is ${shownWord(value)}`;
  return state.clearSince === null
    ? msg`The guard "${name}" holds: ${shown}, and the limit is ${conditionText(guard)}. Allowed: ${allowed}.`
    : msg`The guard "${name}" holds: ${shown} again, not yet for long enough. Allowed: ${allowed}.`;
}

/** A word with a name for people; programs get the English one. */
const shownWord = (value: unknown): Text =>
  typeof value === "string" ? word(value, `state.${value}`) : String(value);

function conditionText({ condition }: Guard): Text {
  const limit = limitOf(condition);
  const quoted = (one: unknown) => (typeof one === "string" ? msg`"${shownWord(one)}"` : shownWord(one));
  const shown = joined([limit].flat().map(quoted), ", ");
  switch (condition.type) {
    case "above":
      return msg`above ${shown}`;
    case "below":
      return msg`below ${shown}`;
    case "is":
      return shown;
    case "is_not":
      return msg`anything but ${shown}`;
    case "moving":
      return msg`that it does not move`;
  }
}

/** `close, 0 to 10, stop`. */
function allowanceText({ words, degrees }: Allowance, hasStop: boolean): Text {
  const range = degrees === null ? [] : [msg`${degrees.min} to ${degrees.max}`];
  const all = [...words.filter((one) => one !== "stop"), ...range, ...(hasStop ? ["stop"] : [])];
  return all.length === 0 ? msg`nothing` : joined(all, ", ");
}

/** The commands allowed now. Pauses are among the reasons and forbid no word. */
export function allowedNow(standing: Standing, isReadOnly: boolean, shown: Shown, now: Instant): Allowed {
  const { settings, moves } = standing;
  const reasons = reasonsNow(standing, now);
  const because = reasons.map((one) => one.interlock);
  if (isReadOnly) {
    const locks = because.filter(({ rule }) => rule === "lock");
    return { words: [], degrees: null, because: [interlock("read_only"), ...locks] };
  }
  const pauses = pausesFor(standing, null).filter(({ until }) => until > now.mono);
  const all = vocabulary(settings);
  const passesAll = (word: string) => reasons.every(({ allow }) => allow.words.includes(word));
  const needsOn = (word: string) =>
    shown?.state !== stateOfWord(settings.kind, word) && needsLeadIn(settings, word, shown?.value ?? null);
  const isAllowed = (word: string) =>
    word === "stop" || (passesAll(word) && (passesAll("on") || !needsOn(word)));
  return {
    words: all.words.filter(isAllowed),
    degrees: reasons.map(({ allow }) => allow.degrees).reduce(overlap, all.degrees),
    because: [...because, ...pauses.map((pause) => pauseInterlock(pause, moves, now))],
  };
}

function overlap(one: DegreeRange | null, other: DegreeRange | null): DegreeRange | null {
  if (one === null || other === null) return null;
  const min = Math.max(one.min, other.min);
  const max = Math.min(one.max, other.max);
  return min > max ? null : { min, max };
}

/** The restrictions as they are shown. */
export const restrictionsOf = (
  entry: Entry,
  isReadOnly: boolean,
  shown: Actuator | undefined,
  now: Instant,
): Restrictions => ({
  allowed: allowedNow(entry, isReadOnly || entry.settings.readOnly, shown, now),
  lock: entry.lock && shownLock(entry.lock),
  lease: entry.lease && shownLease(entry.lease, now),
});

const shownLock = ({ by, via, reason, since, until }: Lock): LockShown => ({
  by,
  via,
  reason,
  since: new Date(since).toISOString(),
  until: until === null ? null : new Date(until).toISOString(),
});

const shownLease = ({ id, by, command, endsWith, until }: Lease, { iso }: Instant): LeaseShown => ({
  command,
  until: iso(until),
  ends_with: endsWith,
  id,
  by,
});
