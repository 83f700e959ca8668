import { canStop, readWanted } from "../../greenhouse/command/words.js";
import type { AlarmFacts, AlarmType, Guard } from "../../greenhouse/limits.js";
import { withInputNames } from "../../greenhouse/wording.js";
import { row, type Text } from "../../language/text.js";
import { type Attempts, firstAttempt, isOverdue } from "./attempts.js";
import { awaitsClock, type Entry, isLeaseOver, judgedByClock, type Lease, leaseJudged } from "./entry.js";
import {
  type LimitContext,
  clearsAt,
  foldReading,
  type GuardNow,
  holds,
  isBlind,
  readInput,
  sendDone,
} from "./guards.js";
import { guardSentence, isThere, judge, pauseTimes } from "./judge.js";

/* What time and inputs do to an actuator's limits, and what its rules send. Instants are monotonic ms. */

/** The end of the time after a start in which an unread input is no fault. */
function graceEnds({ input }: Guard, { weatherStaleAfterMs, startedAt, staleAfterMs }: LimitContext): number {
  const weather = input.type === "weather" ? weatherStaleAfterMs.get(input.name) : undefined;
  return startedAt + (weather ?? staleAfterMs);
}

/** Whether this run knows what the guard's input shows, or that it is lost. */
const isKnown = ({ guard, state }: GuardNow, context: LimitContext): boolean =>
  state.isSeen || context.now.mono >= graceEnds(guard, context);

/**
 * The limits with their inputs at this moment; the same entry if nothing changed. Locks and holds end by themselves,
 * those of an earlier run only once the clock is known to be right.
 */
export function inForceNow(before: Entry, context: LimitContext): Entry {
  const { now, startedAt } = context;
  const aheadMs = awaitsClock(before) ? context.aheadMs : null;
  const entry = withLeaseJudged(
    aheadMs === null ? before : judgedByClock(before, startedAt, aheadMs),
    context,
  );
  let { guards } = entry;
  for (const [place, one] of entry.guards.entries()) {
    const { guard } = one;
    const mayActBlind = guard.actsBlind && isKnown(one, context);
    const reading = readInput(guard, entry.id, context);
    const state = foldReading(guard, one.state, reading, now, mayActBlind);
    if (state !== one.state) guards = guards.with(place, { guard, state });
  }
  const byClock = aheadMs === null ? -Infinity : now.mono - aheadMs;
  const isOver = ({ isKept = false }: { readonly isKept?: boolean }, end: number) =>
    end <= (isKept ? byClock : now.mono);
  const lock = entry.lock && isOver(entry.lock, entry.lock.endsAt) ? null : entry.lock;
  const hold = entry.hold && isOver(entry.hold, entry.hold.until) ? null : entry.hold;
  const isSame = guards === entry.guards && lock === entry.lock && hold === entry.hold;
  return isSame ? entry : { ...entry, guards, lock, hold };
}

/**
 * Judges a lease from another computer, which waits for the platform's time. If the platform answers without a time, it
 * waits no longer than the first answer may take.
 */
function withLeaseJudged(entry: Entry, context: LimitContext): Entry {
  const { lease } = entry;
  if (lease?.isUnjudged !== true) return entry;
  const { own, now, startedAt } = context;
  const isSilent = own.platformAnswers && now.mono >= startedAt + firstAnswerMs;
  const aheadMs = context.aheadMs ?? (isSilent ? 0 : null);
  return aheadMs === null ? entry : { ...entry, lease: leaseJudged(lease, aheadMs) };
}

/** Whether a tripped guard or an ended lease calls for a command. */
export function isRuleDue({ guards, lease }: Entry, now: number): boolean {
  for (const { state } of guards) if (state.sending === "due") return true;
  return lease !== null && isLeaseOver(lease, now);
}

/** A command that a rule wants sent now. */
export interface DueSend {
  readonly rule: "guard" | "lease";
  readonly command: string;
  readonly id: string;
  readonly by: string;
}

/** The commands to send now. `moved`: somebody changed the value while the bridge was down, which ended the lease. */
export interface Due {
  readonly entry: Entry;
  readonly sends: readonly DueSend[];
  readonly moved: { readonly from: string; readonly to: string } | null;
}

/** The commands to send now for tripped guards (`fold` says when) and ended leases; those that wait have a reason. */
export function dueSends(entry: Entry, context: LimitContext, newId: () => string): Due {
  const sends: DueSend[] = [];
  const now = context.now.mono;
  const next: Next = (before, mayGo, send, found = "own") => {
    if (before.id !== null) return before;
    if (before.tries > 0 && shows(entry, send.command, context)) return null;
    // If nothing was tried yet, it only waited for a first reading, which is here.
    const isRead = found === "own" && before.tries + before.unsent === 0;
    if (!mayGo || (now < before.nextAt && !isRead) || isUnasked(context)) return before;
    const problem = hindrance(entry, send, context);
    if (problem !== null) return { ...before, problem, isKeptBack: true };
    if (found === "busy") return before;
    // A hindrance also prevented the first reading; a command that was sent has read the value itself.
    const isNew = before.isKeptBack || (found === "unread" && before.nextAt === firstAttempt.nextAt);
    if (found !== "own" && isNew && before.unsent === 0)
      return { ...before, isKeptBack: false, nextAt: now + firstReadMs };
    const id = newId();
    sends.push({ ...send, id });
    return { ...before, id, tries: before.tries + 1 };
  };
  let { guards } = entry;
  for (const [place, one] of entry.guards.entries()) {
    const { guard, state } = one;
    if (guard.sends === null || state.sending !== "due") continue;
    // After a start only once the value is known: a guard that begins as holding sends nothing for that.
    const mayGo = state.isSeen || (guard.actsBlind && isKnown(one, context));
    const send = { rule: "guard", command: guard.sends, by: `rule ${guard.name}` } as const;
    const attempts = next(state.attempts, mayGo, send);
    if (attempts === state.attempts) continue;
    const after = attempts === null ? sendDone(state) : { ...state, attempts };
    guards = guards.with(place, { guard, state: after });
  }
  const { lease, moved } =
    entry.lease !== null && isLeaseOver(entry.lease, now)
      ? leaseOver(entry, entry.lease, context, next)
      : { lease: entry.lease, moved: null };
  const isSame = guards === entry.guards && lease === entry.lease;
  return { entry: isSame ? entry : { ...entry, guards, lease }, sends, moved };
}

/**
 * Returns the attempts; null once the actuator shows what was sent. `found`: its state after a lease that ended while
 * the bridge was down.
 */
type Next = (before: Attempts, mayGo: boolean, send: Omit<DueSend, "id">, found?: Found) => Attempts | null;

type Found = "own" | "unread" | "busy" | "unknown";

/** A lease that is over, after sending its end; null if somebody changed the value while the bridge was down. */
function leaseOver(
  entry: Entry,
  lease: Lease,
  context: LimitContext,
  next: Next,
): Pick<Due, "moved"> & Pick<Entry, "lease"> {
  const found = foundAtStart(entry, lease, context);
  if (typeof found === "object") return { lease: null, moved: { from: lease.command, to: found.to } };
  const send = { rule: "lease", command: lease.endsWith, by: `lease ${lease.id}` } as const;
  const end = next(lease.end, true, send, found);
  return { lease: end === null ? null : end === lease.end ? lease : { ...lease, end }, moved: null };
}

/**
 * What the actuator shows after a lease that ended while the bridge was down: its own value, or another (`to`), set by
 * somebody meanwhile. `unread`: this run has not read it yet; `unknown`: it had time to, without success; `busy`: an
 * earlier run's command is being read back.
 */
function foundAtStart(
  { settings, code, id, sent, pending }: Entry,
  { isKept, until, end, command }: Lease,
  context: LimitContext,
): Found | { readonly to: string } {
  const { own, now, startedAt, staleAfterMs } = context;
  // The read before its first end may also be the first read at all.
  const isAsked = end.id !== null && !sent.has(end.id) && pending?.command.id !== end.id;
  const tries = isAsked ? end.tries - 1 : end.tries;
  if (isKept !== true || until > startedAt || tries > 0 || (end.id !== null && !isAsked)) return "own";
  const actuator = own.actuators.get(id);
  const { state = null, position = null, quality = "stale", between = null } = actuator ?? {};
  if (state === null || between !== null) return now.mono < startedAt + staleAfterMs ? "unread" : "unknown";
  // An old reading proves nothing.
  if (quality !== "good") return "unknown";
  const wanted = readWanted(command, settings);
  const isOwn = "reason" in wanted || actuator === undefined || isThere(actuator, wanted);
  if (isOwn || state === "unknown") return "own";
  // The earlier run's command that is being read back may be the lease's own.
  return context.activity(code, id).unfinished.length > Number(isAsked)
    ? "busy"
    : { to: position === null ? state : String(position) };
}

function shows({ settings, id }: Entry, command: string, { own }: LimitContext): boolean {
  const wanted = readWanted(command, settings);
  const actuator = own.actuators.get(id);
  return !("reason" in wanted) && actuator !== undefined && isThere(actuator, wanted);
}

/** The time for a first reading after the platform answers again, before something is ended. */
const firstReadMs = 30_000;

/** How long after a start a platform may be silent before it counts as unreachable. */
const firstAnswerMs = 30_000;

const isUnasked = ({ own, now, startedAt }: LimitContext): boolean =>
  !own.platformAnswers && now.mono < startedAt + firstAnswerMs;

/** Why a rule's command cannot be sent now; null if it can. */
function hindrance(
  entry: Entry,
  { rule: source, command }: Omit<DueSend, "id">,
  { own, readOnly, now }: LimitContext,
): Text | null {
  const { settings } = entry;
  if (readOnly.rules || settings.readOnly) return "The bridge is read-only, so no rule sends anything.";
  if (!own.platformAnswers) return "The platform cannot be reached.";
  if (own.availability === "offline") return "The platform says that the controller is offline.";
  const wanted = readWanted(command, settings);
  if ("reason" in wanted) return wanted.message;
  const judged = { wanted, isLeadIn: false, source, hasHold: false, shown: own.actuators.get(entry.id) };
  const verdict = judge(entry, judged, now);
  return verdict.type === "go" ? null : verdict.message;
}

const lookAgainMs = 30_000;
const lookAtClockMs = 1_000;

/** When time alone changes something next; Infinity for never. */
export function dueAt(entry: Entry, context: LimitContext): number {
  const { lock, hold, lease, moves } = entry;
  const now = context.now.mono;
  const times = [...pauseTimes(entry)];
  for (const { guard, state } of entry.guards) {
    const { input } = guard;
    const weather = input.type === "weather" ? context.weather(input.name) : null;
    times.push(clearsAt(guard, state) ?? Infinity, weather?.staleAt ?? Infinity);
    if (!state.isSeen) times.push(graceEnds(guard, context));
    if (state.attempts.id === null) times.push(state.attempts.nextAt);
  }
  if (lease !== null) times.push(lease.until);
  if (lease?.isKept === true) times.push(context.startedAt + context.staleAfterMs);
  if (lease?.end.id === null) times.push(lease.end.nextAt);
  times.push(context.startedAt + firstAnswerMs);
  times.push(lock?.endsAt ?? Infinity, hold?.until ?? Infinity, moves.endsAt ?? Infinity);
  const aheadMs = awaitsClock(entry) ? context.aheadMs : 0;
  if (aheadMs === null) times.push(now + lookAtClockMs, context.startedAt + context.staleAfterMs);
  else if (aheadMs !== 0) times.push(now + lookAgainMs);
  // A hindrance for something that is due may end without notice.
  if (isRuleDue(entry, now)) times.push(now + lookAgainMs);
  let next = Infinity;
  for (const at of times) if (at > now && at < next) next = at;
  return next;
}

type EntryAlarm = Extract<AlarmType, "guard_blind" | "guard_unmet" | "lease_overrun">;
type EntryProblem = Readonly<{ message: string; facts: AlarmFacts }>;

/** The problems to report: null for none; types that this run cannot judge yet are absent. */
export function problemsOf(
  entry: Entry,
  context: LimitContext,
): readonly (readonly [EntryAlarm, EntryProblem | null])[] {
  const { lease } = entry;
  const blind: GuardNow[] = [];
  const unmet: GuardNow[] = [];
  let isUnread = false;
  let isDue = false;
  for (const one of entry.guards) {
    const { state } = one;
    const { id, tries, problem, isKeptBack } = state.attempts;
    if (isBlind(state)) {
      isUnread = true;
      if (isKnown(one, context)) blind.push(one);
    }
    if (state.sending !== "due" || !holds(state)) continue;
    isDue = true;
    if (problem !== null && (isKeptBack || (isOverdue(tries) && id === null))) unmet.push(one);
  }
  const isOver = lease !== null && isLeaseOver(lease, context.now.mono);
  const problems: (readonly [EntryAlarm, EntryProblem | null])[] = [];
  if (blind.length > 0) problems.push(["guard_blind", ofGuards(entry, blind, "blind")]);
  else if (!isUnread) problems.push(["guard_blind", null]);
  if (unmet.length > 0) problems.push(["guard_unmet", ofGuards(entry, unmet, "unmet")]);
  else if (!isDue) problems.push(["guard_unmet", null]);
  const overrun = lease && overrunOf(lease);
  if (overrun !== null || !isOver) problems.push(["lease_overrun", overrun]);
  return problems;
}

function ofGuards(
  { settings, lock }: Entry,
  guards: readonly GuardNow[],
  are: "blind" | "unmet",
): EntryProblem {
  const sentences = guards.map(({ guard, state }) =>
    are === "blind"
      ? guardSentence(guard, state, canStop(settings))
      : row`The guard "${guard.name}" sends ${guard.sends ?? ""}: ${state.attempts.problem ?? ""}`,
  );
  const named = guards.map(({ guard, state }) => ({
    rule: guard.name,
    input: guard.from,
    sends: are === "unmet" ? guard.sends : null,
    quality: state.reading.quality,
  }));
  const isLocked = are === "unmet" && lock !== null;
  return problemOf(sentences, { guards: named, ...(isLocked && { locked_by: lock.by }) });
}

/** The message as programs get it, and in the facts as people do. */
function problemOf(sentences: readonly Text[], facts: AlarmFacts): EntryProblem {
  const message = sentences.join(" ");
  const said = sentences.map((one) => String(withInputNames(one))).join(" ");
  return { message, facts: said === message ? facts : { ...facts, said } };
}

const overrunOf = ({ command, endsWith, end: { problem } }: Lease): EntryProblem | null =>
  problem === null
    ? null
    : problemOf([row`${endsWith} was to end "${command}": ${problem}`], { command, ends_with: endsWith });
