import { endsByItself, kindRows, stateOfWord } from "../greenhouse/actuator-kinds.js";
import {
  type BadOutcome,
  type CommandResult,
  isBad,
  isGood,
  type Outcome,
} from "../greenhouse/command/outcomes.js";
import { shows, showsModeOfDegree, type Step, stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import { type Actuator, type Register, targetKinds } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";
import { isLookedAtTwice, lookedAt, proofAddress } from "../greenhouse/readings.js";
import { at, having } from "../runtime/table.js";
import {
  ask,
  type Awaited,
  isSent,
  type Lane,
  type LaneProblem,
  laneKey,
  note,
  type Now,
  type ProblemReason,
  raiseEvent,
  recordOf,
  type Run,
  type SecondLook,
  type SentCommand,
  type Turn,
  type Unconfirmed,
} from "./book.js";
import type { Addressed, Command, Resting, Target } from "./command.js";
import type { Read } from "./confirm.js";
import { type Ending, spell } from "./endings.js";
import { limitsAfterForeignMove } from "./lane-limits.js";

/*
 * What follows the end of a command: an event with what to check, its target's problem, and the meaning of later reads.
 * These may show a move from elsewhere, our own value coming late, or a confirmed value set back.
 */

/** The event for each bad end. */
const events: Readonly<Record<BadOutcome, BridgeEvent["type"]>> = {
  rejected: "command_rejected",
  unconfirmed: "command_unconfirmed",
  failed: "command_failed",
  unknown: "command_unconfirmed",
};

/** The event for a command's end, with what to check; null if it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  if (!isBad(result.outcome)) return null;
  const type = events[result.outcome];
  const { controller, actuator, command, id, reason, request_id, read_back } = result;
  const message = `${controller}/${actuator} ${command ?? ""}: ${String(result.message ?? result.outcome)}`;
  return {
    type,
    severity: "error",
    message,
    at,
    facts: { controller, actuator, command, id, reason, request_id, read_back },
  };
}

/* Targets whose newest sent command ended badly; a controller's flag is on while it has any. */

export function problemEnded(turn: Turn, about: Target, result: CommandResult): void {
  const { outcome, steps } = result;
  // The problem is that of the newest command sent; one that failed before sending does not count.
  if (outcome === "failed" && steps.length === 0) return;
  if (isBad(outcome)) raiseProblem(turn, about, { ...reasonOf(result), at: turn.now.at });
  else if (isGood(outcome)) clearProblem(turn, about);
}

const reasonOf = ({ command, outcome, reason, message }: CommandResult) => ({
  command,
  outcome,
  reason,
  message: message === null ? null : String(message),
});

export function raiseProblem(turn: Turn, about: Target, why: ProblemReason): void {
  const lane = laneKey(about);
  const others = (at(turn.book.problems, about.code) ?? []).filter((one) => one.lane !== lane);
  replaceProblems(turn, about.code, [...others, { lane, problem: { actuator: about.targetId, ...why } }]);
}

function clearProblem(turn: Turn, about: Target): void {
  const open = at(turn.book.problems, about.code) ?? [];
  if (open.length === 0) return;
  replaceProblems(
    turn,
    about.code,
    open.filter(({ lane }) => lane !== laneKey(about)),
  );
}

/** A person has acknowledged one target's problem, or all of the controller's. */
export function acknowledge(turn: Turn, code: string, targetId: string | null): void {
  const seen = targetId === null ? null : targetKinds.map((target) => laneKey({ code, target, targetId }));
  const open = at(turn.book.problems, code) ?? [];
  replaceProblems(turn, code, seen === null ? [] : open.filter(({ lane }) => !seen.includes(lane)));
}

function replaceProblems(turn: Turn, code: string, open: readonly LaneProblem[]): void {
  for (const { lane } of [...(at(turn.book.problems, code) ?? []), ...open]) turn.touched.add(lane);
  turn.book.problems = having(turn.book.problems, code, open);
  showProblem(turn, code);
}

/** Updates the controller's flag, also when it was only just admitted. */
export function showProblem(turn: Turn, code: string): void {
  const open = (at(turn.book.problems, code) ?? []).map(({ problem }) => problem);
  turn.effects.push({ type: "problem", code, open });
}

/* What reads show of a target after its commands have ended. */

/** What a read shows. */
export interface Observation extends Pick<Actuator, "state" | "position"> {
  /** A readable value that no table of the kind has. */
  readonly foreign?: string | null;
}

export interface Observed {
  readonly resting: Resting | null;
  /** Set if it was moved from elsewhere. */
  readonly moved: { readonly from: string; readonly to: string } | null;
}

/**
 * A read in the form that is judged. Only a number outside the kind's table is foreign. Configured tables list only
 * values to send, so other values there may be anything.
 */
export function observationOf({ settings, state, position, value }: Actuator): Observation {
  const isForeign =
    settings.pulse !== true &&
    state === "unknown" &&
    !kindRows[settings.kind].configured &&
    value !== null &&
    /^\d+$/.test(value);
  // The position counts only without a word; the configuration may give a degree a word.
  return { state, position: state === "position" ? position : null, foreign: isForeign ? value : null };
}

const nameOf = ({ state, position }: Pick<Resting, "state" | "position">) =>
  position === null ? state : String(position);

/**
 * Judges one more read of an actuator. `ours`: a command of ours is open or its travel time is not over, so the read
 * counts as its effect. A degree or foreign value counts only when two reads in a row show it, because a moving window
 * shows degrees at which it does not stop.
 */
export function judgeObservation(resting: Resting | null, sight: Observation, ours: boolean): Observed {
  const { state, position, foreign = null } = sight;
  if (state === null || (state === "unknown" && foreign === null)) return { resting, moved: null };
  const now: Resting = { state, position, passing: null };
  const isSame = resting?.state === state && resting.position === position;
  // Most reads repeat the one before and change nothing.
  if (isSame) return { resting: resting.passing === null ? resting : now, moved: null };
  if (ours || resting === null) return { resting: now, moved: null };
  const maybePassing = foreign ?? position;
  if (maybePassing !== null && resting.passing !== maybePassing)
    return { resting: { ...resting, passing: maybePassing }, moved: null };
  if (!isSettled(resting) || isModeOnly(resting, state)) return { resting: now, moved: null };
  return { resting: now, moved: { from: nameOf(resting), to: nameOf(now) } };
}

const isSettled = ({ state }: Resting) => state !== "auto" && state !== "unknown";

const isModeOnly = (resting: Resting, state: string) =>
  resting.state === "position" && resting.position === null && state === "position";

/** Whether people are told when the value of a command with this outcome appears later. */
const isToldWhenLate = ({ outcome, reason }: Pick<CommandResult, "outcome" | "reason">): boolean =>
  outcome === "unconfirmed" && reason === null;

/**
 * The value to watch for after this end; the newest command sent counts. A value that the platform refused, by its
 * answer or by a read, may still come for a while, and then it was not set elsewhere.
 */
export function awaitedAfter(lane: Lane, command: Command, result: CommandResult, now: Now): Awaited | null {
  const { outcome, sent_at: sentAt, steps } = result;
  // A command of an earlier run may have lost the record of its first POST.
  const isUnrecorded = command.isRecovered === true && isBad(outcome) && steps.length === 0;
  if (sentAt === null && !isUnrecorded) return lane.awaited;
  if (!isBad(outcome)) return null;
  const isTold = isToldWhenLate(result);
  const planned = stepsOf(command.settings, command.wanted, null);
  const last = steps.at(-1);
  const sent = planned.findLast(({ address, value }) => address === last?.address && value === last.value);
  const step = isTold ? planned.at(-1) : isUnrecorded ? planned[0] : sent;
  if (!step) return null;
  return {
    command,
    word: canonical(command.wanted),
    step,
    isTold,
    until: oursUntil(outcome, command, now.mono),
    endedAt: now.at,
  };
}

const lateMs = 3_600_000;
const mostLate = 8;

/**
 * Values of the last hour that were sent and not confirmed: a platform may keep a refused one and carry it out later.
 */
export function unconfirmedAfter(
  { unconfirmed }: Lane,
  { id, wanted, settings, target }: Command,
  { outcome, sent_at: sentAt }: CommandResult,
  { mono }: Now,
): Lane["unconfirmed"] {
  const isLeft = target === "actuator" && sentAt !== null && isBad(outcome);
  if (!isLeft) return unconfirmed;
  const word = canonical(wanted);
  const to = wanted.type === "position" ? word : stateOfWord(settings.kind, word);
  const ofLate = unconfirmed.filter((one) => agoMs(one, mono) <= lateMs);
  return [...ofLate, { id, to, outcome, endedAt: mono }].slice(-mostLate);
}

/** When they all are too old by this run's own time; until then the clock may be corrected. */
export const lateUntil = (unconfirmed: Lane["unconfirmed"]): number =>
  Math.max(...unconfirmed.map(({ endedAt, keptSince = endedAt }) => keptSince + lateMs));

/** Drops values older than an hour: nothing is known of a platform that carries them out later still. */
export function dropTooLate({ lane, now }: Turn): void {
  const ofLate = lane.unconfirmed.filter((one) => lateUntil([one]) >= now.mono);
  if (ofLate.length < lane.unconfirmed.length) lane.unconfirmed = ofLate;
}

const agoMs = ({ endedAt, keptSince = Infinity }: Unconfirmed, mono: number): number =>
  mono - Math.min(endedAt, keptSince);

/** Their times after the clock was set by `byMs` (positive: forward); the clock alone dates those of an earlier run. */
export const unconfirmedAfterClockSet = (
  unconfirmed: Lane["unconfirmed"],
  byMs: number,
): Lane["unconfirmed"] =>
  unconfirmed.length === 0
    ? unconfirmed
    : unconfirmed.map((one) => (one.keptSince === undefined ? one : { ...one, endedAt: one.endedAt - byMs }));

/** Until when the value counts as ours after this end. */
function oursUntil(outcome: Outcome, { settings }: SentCommand, endedAt: number): number {
  const isTaken = outcome === "unknown" || outcome === "unconfirmed";
  return isTaken ? Infinity : endedAt + settings.confirmWithinMs;
}

/** Handles a read of a target. A parameter or raw address has no resting state: only our own value matters. */
export function onRead(turn: Turn, about: Addressed, target: Actuator | Register): void {
  const { lane, now } = turn;
  const awaited = lane.awaited !== null && now.mono <= lane.awaited.until ? lane.awaited : null;
  if (!("settings" in target)) {
    if (awaited && shows(awaited.command.settings, awaited.step, target.raw)) cameLate(turn, awaited);
    return;
  }
  const register = awaited && target.registers[proofAddress(target.settings, awaited.step) ?? ""];
  if (awaited && register && shows(target.settings, awaited.step, register.raw)) {
    const { state, position } = observationOf(target);
    const before = lane.resting;
    lane.resting = { state: state ?? "unknown", position, passing: null };
    cameLate(turn, awaited);
    if (before !== null) showsAllTheSame(turn, about, target, nameOf(before), nameOf(lane.resting), awaited);
  }
  // Whether a command of ours may be moving the actuator; one that waits or is being checked does nothing yet.
  const { running, confirming, secondLook, posts } = lane;
  const isOurs =
    confirming !== null ||
    (running !== null && isSent(running)) ||
    secondLook !== null ||
    (posts.endedAt !== null && now.mono - posts.endedAt < target.settings.travelMs);
  const { resting, moved } = judgeObservation(lane.resting, observationOf(target), isOurs);
  lane.resting = resting;
  if (moved) movedElsewhere(turn, about, target, moved);
}

/**
 * Notes the state after our command when no further read shows it: a mode without its degree, or the word of a pulse.
 */
export function restAfterCommand({ lane }: Turn, actuator: Actuator): void {
  lane.resting = judgeObservation(lane.resting, observationOf(actuator), true).resting;
}

function cameLate(turn: Turn, { command, word, step, isTold }: Awaited): void {
  turn.lane.awaited = null;
  const { id, controllerId, targetId } = command;
  // Recorded so that a restart does not look for it again.
  const seen = { ...recordOf(command), address: step.address, value: step.value };
  note(turn, { type: isTold ? "confirmed_late" : "read_back", ...seen }, { quiet: true });
  if (!isTold) return;
  clearProblem(turn, command);
  raiseEvent(turn, {
    type: "confirmed_late",
    severity: "info",
    message: `${controllerId}/${targetId} shows ${word} now, after the command had ended unconfirmed.`,
    facts: { id, controller: controllerId, actuator: targetId },
  });
}

/**
 * The value of a rejected or failed command has come after all, which has to be reported. Its movement was counted with
 * its POST.
 */
function showsAllTheSame(
  turn: Turn,
  { code, controllerId }: Addressed,
  { settings }: Actuator,
  from: string,
  to: string,
  { command }: Awaited,
): void {
  const late = turn.lane.unconfirmed.find(
    (one) =>
      one.id === command.id && one.to === to && (one.outcome === "rejected" || one.outcome === "failed"),
  );
  if (late !== undefined && from !== to)
    executedLate(turn, { code, controllerId, actuator: settings.id, from, to }, late);
}

function movedElsewhere(
  turn: Turn,
  { code, controllerId }: Addressed,
  { settings, value }: Actuator,
  { from, to }: { readonly from: string; readonly to: string },
): void {
  const late = turn.lane.unconfirmed.findLast((one) => one.to === to && agoMs(one, turn.now.mono) <= lateMs);
  if (late !== undefined) {
    limitsAfterForeignMove(turn, from, to, late);
    executedLate(turn, { code, controllerId, actuator: settings.id, from, to }, late);
    return;
  }
  const type = endsByItself(settings.kind, from, to) ? "ended_by_itself" : "changed_elsewhere";
  note(turn, { type, controller: code, actuator: settings.id, from, to }, { quiet: true });
  limitsAfterForeignMove(turn, from, to);
  const facts = { controller: controllerId, actuator: settings.id, from, to };
  if (type === "ended_by_itself") {
    const message = `${controllerId}/${settings.id} went from ${from} to ${to}: its plan ended by itself, or somebody ended it.`;
    raiseEvent(turn, { type, severity: "info", message, facts });
    return;
  }
  const shows = to === "unknown" ? `a value in no table of its kind, ${value ?? ""},` : to;
  raiseEvent(turn, {
    type,
    severity: "warning",
    message: `${controllerId}/${settings.id} went from ${from} to ${shows} without a command of this bridge: another user, a wall switch, or the controller's own protection.`,
    facts,
  });
}

interface Moved {
  readonly code: string;
  readonly controllerId: string;
  readonly actuator: string;
  readonly from: string;
  readonly to: string;
}

/** The value is one of ours that was not confirmed: the platform kept it and has carried it out now. */
function executedLate(
  turn: Turn,
  { code, controllerId, actuator, from, to }: Moved,
  late: Unconfirmed,
): void {
  const { id, outcome } = late;
  turn.lane.unconfirmed = turn.lane.unconfirmed.filter((one) => one !== late);
  note(turn, { type: "late_execution", controller: code, actuator, id, from, to }, { quiet: true });
  const minutes = Math.round(agoMs(late, turn.now.mono) / 60_000);
  raiseEvent(turn, {
    type: "late_execution",
    severity: "warning",
    message: `${controllerId}/${actuator} went from ${from} to ${to}: command ${id}, which had ended ${outcome} ${minutes} min before, seems to have been carried out now. The platform keeps what it refuses or cannot deliver; send the opposite where it is not wanted any more.`,
    facts: { id, controller: controllerId, actuator, from, to },
  });
}

/*
 * `confirmed` means that the register showed the value. What travels is read again after its travel time: the
 * controller's protection or a person may have set it back meanwhile.
 */

const againMs = 30_000;
/** How long an unreadable platform is asked again. */
const giveUpMs = 600_000;

type Look = Pick<SecondLook, "command" | "step" | "endedAt">;

/** Plans one more read after the travel time, if the confirming read began before that was over. */
export function planSecondLook(turn: Turn, run: Run, { outcome }: Ending): void {
  const { posts } = turn.lane;
  const step = run.steps.at(-1);
  const { command } = run;
  if (outcome !== "confirmed" || turn.book.closed || step === undefined || posts.endedAt === null) return;
  const at = posts.endedAt + command.settings.travelMs;
  // When that read began, or earlier if unknown: its answer may have come much later.
  let readAt = turn.now.mono;
  if (run.at === "confirming") readAt = run.readBack.readAt;
  else if (run.at === "before_second") readAt = run.first.endedAt;
  if (readAt < at) lookAgainAt(turn, { command, step, endedAt: turn.now.at }, at);
}

/** Plans the read for a command that an earlier run confirmed; that run may have ended before it. */
export function takeUpSecondLook(turn: Turn, look: Look): void {
  lookAgainAt(turn, look, turn.now.mono);
  // No clock tells how long ago the last run sent it, so until the travel time is over nothing counts as reached.
  turn.lane.posts = { ...turn.lane.posts, endedAt: turn.now.mono };
}

function lookAgainAt(turn: Turn, { command, step, endedAt }: Look, at: number): void {
  if (!isLookedAtTwice(command.settings, step)) return;
  turn.lane.secondLook = { command, step, endedAt, at, until: at + giveUpMs, token: null };
}

/** Awaits no read any more and leaves it to the next start. */
export function leaveSecondLook(turn: Turn): void {
  const { secondLook } = turn.lane;
  if (secondLook === null) return;
  if (secondLook.token !== null) turn.effects.push({ type: "forget", token: secondLook.token });
  turn.lane.secondLook = { ...secondLook, at: Infinity, token: null };
}

/** Begins the read after the travel time. */
export function beginSecondLook(turn: Turn): void {
  const { secondLook } = turn.lane;
  if (secondLook === null || secondLook.token !== null || turn.now.mono < secondLook.at) return;
  const { command, step } = secondLook;
  const token = ask(turn, { type: "read", command, address: lookedAt(command.settings, step) });
  turn.lane.secondLook = { ...secondLook, token };
}

/** Handles the read; null if a defect of the bridge ended it. */
export function onSecondLookRead(turn: Turn, secondLook: SecondLook, read: Read | null): void {
  const { command, step, until } = secondLook;
  if (read?.type !== "value") {
    const at = turn.now.mono + againMs;
    turn.lane.secondLook = at > until ? null : { ...secondLook, token: null, at };
    return;
  }
  turn.lane.secondLook = null;
  const { raw } = read;
  const isThere = shows(command.settings, step, raw) || showsModeOfDegree(command.settings, step, raw);
  if (!isThere) onReverted(turn, command, step, raw);
  // Recorded so that a restart does not look again.
  else {
    const address = lookedAt(command.settings, step);
    note(turn, { type: "read_back", ...recordOf(command), address, value: String(raw) });
  }
}

/** A confirmed value was set back before its travel time was over. */
function onReverted(turn: Turn, command: SentCommand, step: Step, raw: RawValue): void {
  const { id, controllerId, targetId, settings } = command;
  const value = spell(settings, raw);
  const message = `${controllerId}/${targetId} was confirmed at ${step.value} and shows ${value ?? "nothing"} now that its travel time is over: another user, a wall switch, or the controller's own protection set it back. Nothing is sent again: check the actuator.`;
  note(turn, { type: "reverted", ...recordOf(command), value: value ?? "", message }, { quiet: true });
  raiseProblem(turn, command, {
    command: null,
    outcome: "reverted",
    reason: null,
    message,
    at: turn.now.at,
  });
  raiseEvent(turn, {
    type: "reverted",
    severity: "error",
    message,
    facts: { id, controller: controllerId, actuator: targetId, value: step.value, read_back: value },
  });
}
