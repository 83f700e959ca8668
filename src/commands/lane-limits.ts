import { endsByItself } from "../greenhouse/actuator-kinds.js";
import type { Refusal } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { type Interlock, wholeController } from "../greenhouse/limits.js";
import type { Ended } from "../limits/rules/attempts.js";
import { type Due, dueAt, dueSends, inForceNow, isRuleDue } from "../limits/rules/due.js";
import {
  asForbidden,
  type Entry,
  isEmpty,
  isMoving,
  keyOf,
  type LimitedCommand,
  type LimitInput,
  type Moment,
} from "../limits/rules/entry.js";
import type { LimitContext } from "../limits/rules/guards.js";
import { go, mayGo, pausesFor, type Verdict } from "../limits/rules/judge.js";
import {
  afterForeignMove,
  afterRuleSend,
  deadlineWith,
  type GivenTerm,
  termOf,
} from "../limits/rules/lease.js";
import type { RestoredLimits } from "../limits/restored-limits.js";
import type { KeptLimits } from "../journal/records.js";
import { clockAgrees } from "../runtime/clock.js";
import { at } from "../runtime/table.js";
import {
  type Environment,
  type Lane,
  laneKey,
  note,
  openCommands,
  type Turn,
  type Unconfirmed,
} from "./book.js";
import type { LimitSettings } from "../limits/rules/settings.js";
import type { Command, CommandRules } from "./command.js";

/*
 * The limits of an actuator are part of its lane: readings of its guards, lock, hold, lease, and movements. Here its
 * commands change the limits, and the limits judge its commands. The rules themselves are in `limits/rules`.
 */

/** The actuator's limits to be remembered; null for none. */
function limitsOf(turn: Turn, key = turn.key): Entry | null {
  const lane = key === turn.key ? turn.lane : at(turn.book.lanes, key);
  return lane?.limits ?? turn.limits.limitsAtFirst.get(key) ?? null;
}

/** The same for an actuator that is followed even without limits. */
const limitsFollowed = (turn: Turn): Entry | null =>
  limitsOf(turn) ?? turn.limits.unlimited.get(turn.key) ?? null;

/**
 * The limits that this command of the lane changes; null for none. An actuator without limits is followed if the
 * command has a time of its own, or guards look at it.
 */
export function limitsChangedBy(
  turn: Turn,
  { target, term }: Pick<Command, "target" | "term">,
): Entry | null {
  if (target !== "actuator") return null;
  return term !== null || turn.limits.watched.has(turn.key) ? limitsFollowed(turn) : limitsOf(turn);
}

/** Changes the actuator's limits after an event of the command. */
export function limitsWith<Given extends readonly unknown[]>(
  turn: Turn,
  command: Command,
  change: (limits: Entry, command: LimitedCommand, moment: Moment, ...given: Given) => Entry,
  ...given: Given
): void {
  const limits = limitsChangedBy(turn, command);
  if (limits === null) return;
  const shown = turn.now.controller(command.code)?.actuators.get(command.targetId);
  const after = change(limits, command, { shown, mono: turn.now.mono }, ...given);
  if (after !== limits) put(turn, limits, after);
}

/** Whether nothing may be sent, and whether by the user's own setting, which also stops rules. */
export const readOnlyBy = ({
  read_only: commands,
  readOnlyForRules: rules,
}: Pick<CommandRules, "read_only" | "readOnlyForRules">): LimitContext["readOnly"] => ({ commands, rules });

/** What the limits of a controller's actuators look at now, also within a turn; null for an unknown controller. */
export function contextIn(
  {
    book,
    limits,
    now,
    key: openKey,
    lane,
  }: Pick<Turn, "book" | "limits" | "now"> & Partial<Pick<Turn, "key" | "lane">>,
  code: string,
): LimitContext | null {
  const own = now.controller(code);
  if (own === undefined) return null;
  // Each by name: this is made for each step of each command, and copying everything would take ten times as long.
  const { staleAfterMs, weatherStaleAfterMs, startedAt } = limits;
  return {
    staleAfterMs,
    weatherStaleAfterMs,
    startedAt,
    own,
    controller: now.controller,
    readOnly: readOnlyBy(now.rules),
    aheadMs: clockAheadMs(limits, now),
    now: {
      mono: now.mono,
      watchedSince: now.awakeSince,
      // Whole seconds, so that clocks that differ slightly give the same text.
      iso: (then) => new Date(Math.round((then + now.at - now.mono) / 1_000) * 1_000).toISOString(),
    },
    weather: (name) => at(book.weather, name) ?? null,
    activity: (of, actuator) => {
      const key = keyOf(of, actuator);
      return activityOf(key === openKey ? lane : at(book.lanes, key), now.mono);
    },
  };
}

/** Our clock's lead in ms. After the platform gave no time for as long as readings may be old, ours counts as right. */
function clockAheadMs(
  { startedAt, staleAfterMs }: LimitSettings,
  { mono, skewMs }: Environment,
): LimitContext["aheadMs"] {
  if (skewMs === null) return mono >= startedAt + staleAfterMs ? 0 : null;
  return clockAgrees(skewMs) === true ? 0 : Math.max(0, -skewMs);
}

/** What goes on at an actuator that guards look at. */
function activityOf(lane: Lane | undefined, mono: number): ReturnType<LimitContext["activity"]> {
  const open = lane === undefined ? [] : openCommands(lane).filter(({ dryRun }) => !dryRun);
  const unfinished = open.map(({ wanted }) => wanted).filter(({ type }) => type !== "stop");
  const moves = lane?.limits?.moves;
  return { unfinished, isMoving: moves !== undefined && isMoving(moves, mono) };
}

type Taking =
  Pick<Command, "term" | "deadlineMono"> | { readonly refusal: Refusal; readonly interlock?: Interlock };

/** On acceptance: the command's times, or why it is refused. */
export function takeWithLimits(turn: Turn, command: Command, given: GivenTerm): Taking {
  const { wanted, target, settings } = command;
  const { forMs = null, atMostMs = null } = settings.limits ?? {};
  const isTimed = (given.forMs ?? given.holdMs ?? forMs ?? atMostMs) !== null;
  const term = isTimed ? termOf(wanted, target, settings, given) : null;
  if (term !== null && "reason" in term) return { refusal: term };
  const deadlineMono = term === null ? command.deadlineMono : deadlineWith(term, command);
  const verdict = limitsVerdict(turn, { ...command, term, deadlineMono }, "turn");
  if (verdict.type !== "refuse") return { term, deadlineMono };
  const { message, interlock } = verdict;
  return { refusal: { reason: "interlock", message }, interlock };
}

/**
 * The limits' verdict on a command, with their inputs at this moment: at each possible turn, or immediately before a
 * POST or its lead-in. Stops are never limited.
 */
export function limitsVerdict(turn: Turn, command: Command, before: "turn" | "post" | "lead_in"): Verdict {
  const { code, target, targetId, wanted } = command;
  if (target !== "actuator" || wanted.type === "stop") return go;
  const limits = limitsOf(turn, laneKey(command));
  const context = limits && contextIn(turn, code);
  if (limits === null || context === null) return go;
  const shown = context.own.actuators.get(targetId);
  return mayGo(asForbidden(inForceNow(limits, context)), command, before, shown, context.now);
}

/** Sets the limits of the lane; they become null if nothing is in force or has to be remembered. */
function put(turn: Turn, before: Entry, after: Entry): void {
  const { guards, lock, hold, lease, sent, pending, planned, formerLease } = after;
  const isNothing = isEmpty(after) && sent.size === 0 && pending === null && planned.length === 0;
  const isForgotten = isNothing && formerLease === null && !turn.limits.watched.has(turn.key);
  turn.lane.limits = isForgotten ? null : after;
  const isOtherwise =
    guards !== before.guards || lock !== before.lock || hold !== before.hold || lease !== before.lease;
  // Movements are not shown, only the pauses after them.
  if (isOtherwise || pausesFor(after, null).length > 0) turn.effects.push({ type: "limits", lane: turn.key });
}

/** A rule's command was refused before it was accepted. */
export function limitsAfterRefusal(turn: Turn, result: Ended): void {
  const entry = limitsOf(turn);
  if (entry !== null) put(turn, entry, afterRuleSend(entry, result, turn.now.mono));
}

/** The actuator was moved from elsewhere, or late by a command of ours. */
export function limitsAfterForeignMove(
  turn: Turn,
  from: string,
  to: string,
  late: Unconfirmed | null = null,
): void {
  const entry = turn.limits.watched.has(turn.key) ? limitsFollowed(turn) : limitsOf(turn);
  if (entry !== null) put(turn, entry, afterForeignMove(entry, from, to, turn.now.mono, late));
}

/** A request sets or ends a lock or hold. The caller writes a planned change to the disk. */
export function changeLimits(
  turn: Turn,
  { request, change, is }: Extract<LimitInput, { readonly type: "lock_or_hold" }>,
): void {
  const entry = limitsFollowed(turn);
  if (entry === null) return;
  const others = entry.planned.filter((one) => one.request !== request);
  if (is === "planned") put(turn, entry, { ...entry, planned: [...others, { request, change }] });
  else put(turn, entry, { ...entry, ...(is === "on_disk" ? change : {}), planned: others });
  if (is === "planned") turn.onDisk.set(turn.key, turn.lane.limits);
}

/** Starts with the limits of an earlier run. */
export function restoreLimits(turn: Turn, { now: limits, onDisk }: RestoredLimits): void {
  turn.lane.limits = limits;
  turn.onDisk.set(turn.key, onDisk);
  turn.touched.add(turn.key);
  if (limits !== null) turn.effects.push({ type: "limits", lane: turn.key });
}

/** Applies the present inputs and time to the lane's limits, and emits what their rules send. */
export function settleLimits(turn: Turn): void {
  const { limitsDueAt: dueBefore } = turn.lane;
  turn.lane.limitsDueAt = null;
  const before = limitsOf(turn);
  const context = before && contextIn(turn, before.code);
  if (before === null || context === null) return;
  const inForce = inForceNow(before, context);
  const maySend = isRuleDue(inForce, turn.now.mono) && turn.now.mayRulesSend && !turn.book.closed;
  const { entry, sends, moved } = maySend
    ? dueSends(inForce, context, () => `${turn.limits.run}-${(turn.book.sends += 1)}`)
    : { entry: inForce, sends: [], moved: null };
  const about = { controller: context.own.info.id, actuator: entry.id };
  if (before.lock !== null && entry.lock === null && entry.id !== wholeController)
    turn.effects.push({ type: "event", event: unlockedEvent(before.lock, about, turn.now.at) });
  if (entry !== before) put(turn, before, entry);
  // After its due time what is shown may change although the limits are the same.
  if (dueBefore !== null && dueBefore <= turn.now.mono) turn.effects.push({ type: "limits", lane: turn.key });
  if (moved !== null) onMovedMeanwhile(turn, entry, moved, about);
  for (const send of sends)
    turn.effects.push({
      type: "rule",
      send: { ...send, controllerId: about.controller, actuator: entry.id },
    });
  const after = turn.book.closed ? null : limitsOf(turn);
  const due = after === null ? Infinity : dueAt(after, context);
  if (due !== Infinity) turn.lane.limitsDueAt = due;
}

interface AboutLimits {
  readonly controller: string;
  readonly actuator: string;
}

/** A lock ended at the time named with it; for a whole controller each actuator reports it. */
export function unlockedEvent(
  { by }: Pick<NonNullable<KeptLimits["lock"]>, "by">,
  about: AboutLimits,
  at: number,
): BridgeEvent {
  const message = `The lock of ${by} on ${about.controller}/${about.actuator} has run out.`;
  return { type: "unlocked", severity: "info", message, at, facts: { ...about, by, ran_out: true } };
}

/** Somebody moved the actuator while the bridge was down, which ended its lease. */
function onMovedMeanwhile(
  turn: Turn,
  { settings, code, id }: Entry,
  moved: NonNullable<Due["moved"]>,
  about: AboutLimits,
): void {
  const { from, to } = moved;
  const isItself = endsByItself(settings.kind, from, to);
  const type = isItself ? "ended_by_itself" : "changed_elsewhere";
  note(turn, { type, controller: code, actuator: id, from, to }, { quiet: true });
  limitsAfterForeignMove(turn, from, to);
  turn.effects.push({ type: "event", event: movedMeanwhileEvent(about, moved, isItself, turn.now.at) });
}

/** A lease ended unsent: somebody set another value while the bridge was down, or its command ended by itself. */
function movedMeanwhileEvent(
  about: AboutLimits,
  { from, to }: { readonly from: string; readonly to: string },
  isItself: boolean,
  at: number,
): BridgeEvent {
  const facts = { ...about, from, to };
  if (isItself) {
    const ended = `${about.controller}/${about.actuator} went from ${from} to ${to} while the bridge was down: its plan ended by itself, or somebody ended it. Nothing is sent.`;
    return { type: "ended_by_itself", severity: "info", message: ended, at, facts };
  }
  const message = `${about.controller}/${about.actuator} went from ${from} to ${to} while the bridge was down: another user, a wall switch, or the controller's own protection. What was to end it is not sent.`;
  return { type: "changed_elsewhere", severity: "warning", message, at, facts };
}

/** Whether guards that look at the lane see something else now. */
export function isSeenOtherwise(before: Lane, after: Lane): boolean {
  const one = openCommands(before);
  const other = openCommands(after);
  const isOtherwiseOpen =
    one.length !== other.length || one.some((command, place) => command !== other[place]);
  return isOtherwiseOpen || before.limits?.moves !== after.limits?.moves;
}
