import type { Via } from "../greenhouse/command/outcomes.js";
import { canonical, vocabulary, type Wanted } from "../greenhouse/command/words.js";
import type { Allowance, Allowed, DegreeRange, Guard, Interlock, Limits } from "../greenhouse/limits.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { clearsAt, type GuardState, holds, isBlind, limitOf, unjudged } from "./guards.js";
import {
  directionOf,
  type Instant,
  isStart,
  type Moves,
  neverMoved,
  type Pause,
  pauseEnds,
  pausesFor,
} from "./pauses.js";
import type { Hold } from "./terms.js";

/*
 * Whether a command may go now. Everything here narrows: no rule makes another allow more. Order: lock, guards, hold, pauses.
 */

interface Lock {
  readonly by: string;
  readonly via: Via;
  readonly reason: string | null;
  /** Epoch ms, as the end that was named. */
  readonly since: number;
  readonly until: number | null;
  /** Monotonic ms of its end; Infinity for none. */
  readonly endsAt: number;
}

/** What is known of one actuator. */
export interface Standing {
  readonly settings: ActuatorSettings;
  /** By the guard's name. */
  readonly guards: ReadonlyMap<string, GuardState>;
  readonly moves: Moves;
  readonly lock: Lock | null;
  readonly hold: Hold | null;
}

export interface Judged {
  readonly wanted: Wanted;
  /** Its lead-in goes now, which is judged by the word that it sends. */
  readonly isLeadIn: boolean;
  /** Who sends it: a person or program, a guard, or a lease that ends. */
  readonly source: "sender" | "guard" | "lease";
  readonly hasHold: boolean;
  /** What the actuator shows. */
  readonly shown: { readonly state: string | null; readonly position: number | null } | undefined;
}

export interface KeptBack {
  readonly type: "wait" | "refuse";
  /** Monotonic ms; Infinity where only an end can tell. */
  readonly until: number;
  readonly interlock: Interlock;
  readonly message: string;
}

export type Verdict = { readonly type: "go" } | KeptBack;

export const go: Verdict = { type: "go" };

const noLimits: Limits = {
  ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: null, atMostMs: null },
  ...{ endsWith: null, guards: [] },
};

export const limitsOf = ({ limits }: Pick<ActuatorSettings, "limits">): Limits => limits ?? noLimits;

export function judge(standing: Standing, judged: Judged, now: Instant): Verdict {
  if (judged.wanted.type === "stop") return go;
  const { settings, lock, hold } = standing;
  if (lock !== null && lock.endsAt > now.mono) return refused(lockInterlock(lock), lockedSentence(lock));
  for (const guard of limitsOf(settings).guards) {
    const state = stateOf(standing, guard);
    if (!passes(guard, state, judged))
      return refused(guardInterlock(guard, state, now), guardSentence(guard, state));
  }
  if (hold !== null && hold.until > now.mono && judged.source === "sender" && !judged.hasHold)
    return refused(holdInterlock(hold, now), heldSentence(hold));
  return judgePauses(standing, judged, now);
}

const refused = (interlock: Interlock, message: string): Verdict => ({
  type: "refuse",
  until: Infinity,
  interlock,
  message,
});

const stateOf = ({ guards }: Standing, { name }: Guard): GuardState => guards.get(name) ?? unjudged;

function passes({ allow }: Guard, state: GuardState, { wanted, isLeadIn }: Judged): boolean {
  if (!holds(state)) return true;
  return allows(allow, wanted) && (!isLeadIn || allow.words.includes("on"));
}

function allows({ words, degrees }: Allowance, wanted: Wanted): boolean {
  if (wanted.type === "stop") return true;
  if (wanted.type === "word") return words.includes(wanted.word);
  return degrees !== null && wanted.degree >= degrees.min && wanted.degree <= degrees.max;
}

/** Pauses delay; they never delay what ends something or what a rule sends. */
function judgePauses({ settings, moves }: Standing, judged: Judged, now: Instant): Verdict {
  const { limits } = settings;
  if (limits === undefined || moves === neverMoved || judged.source !== "sender") return go;
  if (!isStart(canonical(judged.wanted))) return go;
  const direction = directionOf(judged.wanted, judged.shown);
  if (Math.max(...pauseEnds(limits, moves, direction)) <= now.mono) return go;
  const [longest] = pausesFor(limits, moves, direction, now);
  return longest === undefined ? go : { type: "wait", ...longest, message: pauseSentence(longest) };
}

const lockInterlock = ({ by, until }: Lock): Interlock => ({
  ...{ rule: "lock", input: null, value: by, limit: null, quality: null },
  until: until === null ? null : new Date(until).toISOString(),
});

const holdInterlock = ({ by, until }: Hold, { iso }: Instant): Interlock => ({
  ...{ rule: "hold", input: null, value: by, limit: null, quality: null },
  until: iso(until),
});

function guardInterlock(guard: Guard, state: GuardState, { iso }: Instant): Interlock {
  const at = clearsAt(guard, state);
  const { value, quality } = state.reading;
  return {
    ...{ rule: guard.name, input: guard.from, value, limit: limitOf(guard.condition), quality },
    until: at === null ? null : iso(at),
  };
}

const lockedSentence = ({ by, reason }: Lock) =>
  `${by} has locked this actuator${reason === null ? "" : ` (${reason})`}; only stop passes until it is unlocked.`;

const heldSentence = ({ by }: Hold) =>
  `A command${by === null ? "" : ` of ${by}`} holds this actuator; send with "hold", or release it first.`;

const pauseSentences: Readonly<Record<string, (limit: string) => string>> = {
  rest: (limit) => `It rests ${limit} s from the end of one movement to the next.`,
  reversal: (limit) => `It waits ${limit} s before it goes the other way.`,
  starts_per_hour: (limit) => `It has made its ${limit} starts within the last hour.`,
};

function pauseSentence({ interlock }: Pause): string {
  const { rule, limit, until } = interlock;
  const why = pauseSentences[rule]?.(String(limit)) ?? "";
  return until === null ? why : `${why} It may go at ${until}.`;
}

export function guardSentence(guard: Guard, state: GuardState): string {
  const { value, quality } = state.reading;
  const shown = value === null ? "has no value" : `is ${String(value)}`;
  const why = isBlind(state)
    ? `${guard.from} is not good (${quality}), which counts as holding`
    : state.clearSince === null
      ? `${guard.from} ${shown}, and the limit is ${conditionText(guard)}`
      : `${guard.from} ${shown} again, not yet for long enough`;
  return `The guard "${guard.name}" holds: ${why}. Allowed: ${allowanceText(guard.allow)}.`;
}

function conditionText({ condition }: Guard): string {
  const limit = limitOf(condition);
  if (condition.type === "moving") return "that it does not move";
  return `${condition.type.replace("_", " ")} ${typeof limit === "object" ? limit.join(", ") : String(limit)}`;
}

/** `close, stop, 0 to 10`. */
function allowanceText({ words, degrees }: Allowance): string {
  const range = degrees === null ? [] : [`${degrees.min} to ${degrees.max}`];
  return [...words.filter((word) => word !== "stop"), ...range, "stop"].join(", ");
}

const readOnly: Interlock = {
  ...{ rule: "read_only", input: null, value: null, limit: null, quality: null, until: null },
};

/** What may be commanded now. Pauses stand among the reasons and narrow nothing. */
export function allowedNow(standing: Standing, isReadOnly: boolean, now: Instant): Allowed {
  const { settings, lock, hold, moves } = standing;
  const all = vocabulary(settings);
  const isLocked = lock !== null && lock.endsAt > now.mono;
  const locks = isLocked ? [lockInterlock(lock)] : [];
  if (isReadOnly) return { words: [], degrees: null, because: [readOnly, ...locks] };
  const holding = limitsOf(settings).guards.filter((guard) => holds(stateOf(standing, guard)));
  const isHeld = hold !== null && hold.until > now.mono;
  const because = [
    ...locks,
    ...holding.map((guard) => guardInterlock(guard, stateOf(standing, guard), now)),
    ...(isHeld ? [holdInterlock(hold, now)] : []),
    ...pausesFor(limitsOf(settings), moves, null, now).map(({ interlock }) => interlock),
  ];
  const isShut = isLocked || isHeld;
  const words = all.words.filter(
    (word) => word === "stop" || (!isShut && holding.every(({ allow }) => allow.words.includes(word))),
  );
  const ranges = holding.map(({ allow }) => allow.degrees);
  return { words, degrees: isShut ? null : ranges.reduce(overlap, all.degrees), because };
}

function overlap(one: DegreeRange | null, other: DegreeRange | null): DegreeRange | null {
  if (one === null || other === null) return null;
  const [min, max] = [Math.max(one.min, other.min), Math.min(one.max, other.max)];
  return min > max ? null : { min, max };
}
