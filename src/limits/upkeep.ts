import { decodeValue, stateOfWord } from "../greenhouse/actuator-values.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { readWanted, type Wanted } from "../greenhouse/command/words.js";
import type { AlarmType, Guard } from "../greenhouse/limits.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import { attemptAfter } from "./course.js";
import { type Entry, guardState } from "./entry.js";
import { clearsAt, foldReading, type GuardState, holds, isBlind } from "./guards.js";
import { type InputSource, readInput, weatherStaleAt } from "./inputs.js";
import { guardSentence, judge, limitsOf } from "./judge.js";
import { type Instant, pauseEnds } from "./pauses.js";
import { type Attempts, firstAttempt, isGivenUp } from "./terms.js";

/* What time and inputs do to an actuator's limits, and what its rules send. Instants are monotonic ms. */

export interface Surroundings {
  readonly own: Controller | undefined;
  readonly source: InputSource;
  readonly now: number;
  /** When this run began. */
  readonly startedAt: number;
  readonly isReadOnly: boolean;
  /** How old a reading of the platform may be. */
  readonly staleAfterMs: number;
}

/** So long after a start nobody wonders about an input that was not read yet. */
function graceEnds({ input }: Guard, { source, startedAt, staleAfterMs }: Surroundings): number {
  const weather = input.type === "weather" ? source.staleAfterMs(input.name) : null;
  return startedAt + (weather ?? staleAfterMs);
}

/** Reads the inputs of all guards; the same entry when nothing changed. */
export function readGuards(entry: Entry, around: Surroundings): Entry {
  const { own, source, now } = around;
  if (own === undefined) return entry;
  const judging = { own, id: entry.id };
  let guards: Map<string, GuardState> | null = null;
  for (const guard of limitsOf(entry.settings).guards) {
    const before = guardState(entry, guard);
    const mayActBlind = guard.actsBlind && (before.isSeen || now >= graceEnds(guard, around));
    const reading = readInput(guard, before.reading, judging, source, now);
    const after = foldReading(guard, before, reading, now, mayActBlind);
    if (after !== before) guards = (guards ?? new Map(entry.guards)).set(guard.name, after);
  }
  return guards === null ? entry : { ...entry, guards };
}

/** Locks and holds end by themselves. */
export function expire(entry: Entry, now: number): Entry {
  const { lock, hold } = entry;
  const isLockOver = lock !== null && lock.endsAt <= now;
  const isHoldOver = hold !== null && hold.until <= now;
  if (!isLockOver && !isHoldOver) return entry;
  return { ...entry, lock: isLockOver ? null : lock, hold: isHoldOver ? null : hold };
}

/** Whether it shows what is wanted, by a read that can be trusted. */
export function isThere(actuator: Actuator, wanted: Wanted): boolean {
  const { settings, state, position, quality, between, value } = actuator;
  if (quality !== "good" || between !== null || wanted.type === "stop") return false;
  // A command that was cut off between its steps leaves the state as it was before; the value is what was read last.
  if (value === null || decodeValue(settings, value).state !== state) return false;
  if (wanted.type === "position")
    return position !== null && Math.abs(position - wanted.degree) <= settings.tolerance;
  return state === stateOfWord(settings.kind, wanted.word);
}

/** A command that a rule wants sent now. */
export interface DueSend {
  readonly rule: "guard" | "lease";
  readonly command: string;
  readonly id: string;
  readonly by: string;
}

/** What is to be sent now; what is kept back says why. */
export function dueSends(
  entry: Entry,
  around: Surroundings,
  now: Instant,
  newId: () => string,
): { readonly entry: Entry; readonly sends: readonly DueSend[] } {
  const found: DueSend[] = [];
  const attempt = (before: Attempts, rule: DueSend["rule"], command: string, by: string): Attempts => {
    if (before.id !== null || now.mono < before.nextAt) return before;
    const problem = hindrance(entry, rule, command, around, now);
    if (problem !== null) return { ...before, problem, isKeptBack: true };
    const send = { rule, command, id: newId(), by };
    found.push(send);
    return { ...before, id: send.id, tries: before.tries + 1 };
  };
  const sends = new Map<string, Attempts>();
  const guards = new Map(entry.guards);
  for (const guard of limitsOf(entry.settings).guards) {
    const state = guardState(entry, guard);
    if (guard.sends === null || state.sending !== "due") continue;
    const before = entry.sends.get(guard.name) ?? firstAttempt(now.mono);
    const isBegun = before.tries > 0 && before.id === null;
    if (isBegun && shows(entry, guard.sends, around)) guards.set(guard.name, { ...state, sending: "done" });
    // After a start only once the value is known: a guard that begins as holding sends nothing for that.
    else if (!state.isSeen && !(guard.actsBlind && now.mono >= graceEnds(guard, around)))
      sends.set(guard.name, before);
    else sends.set(guard.name, attempt(before, "guard", guard.sends, `rule ${guard.name}`));
  }
  const { lease, leaseEnd } = entry;
  const next = { ...entry, sends, guards };
  if (lease === null || now.mono < lease.until) return { entry: next, sends: found };
  const before = leaseEnd ?? firstAttempt(now.mono);
  if (before.tries > 0 && before.id === null && shows(entry, lease.endsWith, around))
    return { entry: { ...next, lease: null, leaseEnd: null }, sends: found };
  return {
    entry: { ...next, leaseEnd: attempt(before, "lease", lease.endsWith, `lease ${lease.id}`) },
    sends: found,
  };
}

function shows({ settings, id }: Entry, command: string, { own }: Surroundings): boolean {
  const wanted = readWanted(command, settings);
  const actuator = own?.actuators.get(id);
  return !("reason" in wanted) && actuator !== undefined && isThere(actuator, wanted);
}

/** Why a rule's command cannot be sent now; null when it can. */
function hindrance(
  entry: Entry,
  source: DueSend["rule"],
  command: string,
  { own, isReadOnly }: Surroundings,
  now: Instant,
): string | null {
  const { settings } = entry;
  if (isReadOnly || settings.readOnly) return "The bridge is read-only, so no rule sends anything.";
  if (own === undefined || !own.platformReachable) return "The platform cannot be reached.";
  if (own.availability === "offline") return "The platform says that the controller is offline.";
  const wanted = readWanted(command, settings);
  if ("reason" in wanted) return wanted.message;
  const judged = { wanted, isLeadIn: false, source, hasHold: false, shown: own.actuators.get(entry.id) };
  const verdict = judge(entry, judged, now);
  return verdict.type === "go" ? null : verdict.message;
}

/** How a command ended, as far as the limits ask. */
export type Ended = Pick<CommandResult, "id" | "outcome" | "reason" | "message">;

/** A command has ended: where a rule had sent it, it is done with or sent again. */
export function sentAs(entry: Entry, result: Ended, now: number): Entry {
  if (entry.leaseEnd?.id === result.id)
    return { ...entry, leaseEnd: attemptAfter(entry.leaseEnd, "lease", result, now) };
  const [name] = [...entry.sends].find(([, { id }]) => id === result.id) ?? [];
  const attempts = name === undefined ? undefined : entry.sends.get(name);
  const state = name === undefined ? undefined : entry.guards.get(name);
  if (name === undefined || attempts === undefined || state === undefined) return entry;
  const next = attemptAfter(attempts, "guard", result, now);
  const sends = new Map(entry.sends);
  if (next !== null) return { ...entry, sends: sends.set(name, next) };
  sends.delete(name);
  const guards = new Map(entry.guards).set(name, { ...state, sending: "done" as const });
  return { ...entry, sends, guards };
}

const lookAgainMs = 30_000;

/** When time alone changes something next; null while nothing does. */
export function dueAt(entry: Entry, around: Surroundings, now: Instant): number | null {
  const { lock, hold, lease, leaseEnd, moves, sends } = entry;
  const times: number[] = [];
  for (const guard of limitsOf(entry.settings).guards) {
    const state = guardState(entry, guard);
    const clears = clearsAt(guard, state);
    if (clears !== null) times.push(clears);
    if (!state.isSeen) times.push(graceEnds(guard, around));
    const { input } = guard;
    const staleAt = input.type === "weather" ? weatherStaleAt(input.name, around.source) : null;
    if (staleAt !== null) times.push(staleAt);
  }
  if (lock !== null) times.push(lock.endsAt);
  if (hold !== null) times.push(hold.until);
  if (lease !== null) times.push(leaseEnd === null ? lease.until : leaseEnd.nextAt);
  for (const { id, nextAt } of sends.values()) if (id === null) times.push(nextAt);
  if (moves.endsAt !== null) times.push(moves.endsAt);
  times.push(...pauseEnds(limitsOf(entry.settings), moves, null));
  // What keeps it back may end without a word to us.
  if (isKeptBack(entry)) times.push(now.mono + lookAgainMs);
  const next = Math.min(...times.filter((at) => at > now.mono));
  return Number.isFinite(next) ? next : null;
}

/** Whether something that a rule sends is due and was not sent. */
export const isKeptBack = ({ leaseEnd, sends }: Entry): boolean =>
  [leaseEnd, ...sends.values()].some((one) => one !== null && one.id === null && one.problem !== null);

type EntryAlarm = Extract<AlarmType, "guard_blind" | "guard_unmet" | "lease_overrun">;

/** What of it somebody should know: null for what is well, undefined where this run cannot tell yet and nothing changes. */
export function problemsOf(
  entry: Entry,
  around: Surroundings,
): Readonly<Record<EntryAlarm, string | null | undefined>> {
  const { guards } = limitsOf(entry.settings);
  const { now } = around;
  const unread = guards.filter((guard) => isBlind(guardState(entry, guard)));
  const blind = unread.filter((guard) => guardState(entry, guard).isSeen || now >= graceEnds(guard, around));
  const unmet = guards.flatMap((guard) => {
    const state = guardState(entry, guard);
    const sends = entry.sends.get(guard.name);
    if (!sends || sends.problem === null || !holds(state) || state.sending !== "due") return [];
    const isUnmet = sends.isKeptBack || (isGivenUp(sends.tries) && sends.id === null);
    return isUnmet ? [`The guard "${guard.name}" sends ${guard.sends ?? ""}: ${sends.problem}`] : [];
  });
  const isDue = guards.some((guard) => {
    const state = guardState(entry, guard);
    return state.sending === "due" && holds(state);
  });
  const overrun = entry.lease !== null ? (entry.leaseEnd?.problem ?? null) : null;
  const isOver = entry.lease !== null && entry.lease.until <= now;
  return {
    guard_blind:
      blind.length === 0
        ? orUnknown(unread.length > 0)
        : blind.map((guard) => guardSentence(guard, guardState(entry, guard))).join(" "),
    guard_unmet: unmet.length === 0 ? orUnknown(isDue) : unmet.join(" "),
    lease_overrun:
      overrun === null
        ? orUnknown(isOver)
        : `${entry.lease?.endsWith ?? ""} was to end "${entry.lease?.command ?? ""}": ${overrun}`,
  };
}

const orUnknown = (isUnknown: boolean): null | undefined => (isUnknown ? undefined : null);
