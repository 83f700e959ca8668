import { endsByItself, kindRows } from "../greenhouse/actuator-kinds.js";
import { type CommandResult, isToldWhenLate, type Outcome } from "../greenhouse/command/outcomes.js";
import { shows, stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, Register } from "../greenhouse/model.js";
import { at, having } from "../runtime/table.js";
import { limitsAfterForeignMove } from "./limits.js";
import {
  type Awaited,
  isOpen,
  type Lane,
  type LaneProblem,
  note,
  type Now,
  type ProblemReason,
  type SentCommand,
  tell,
  type Turn,
} from "./book.js";
import { type Addressed, type Command, laneKey, recordOf, type Resting, type Target } from "./command.js";

/** What a read shows. */
export interface Sight extends Pick<Actuator, "state" | "position"> {
  /** A readable value that is in no table of the kind. */
  readonly foreign?: string | null;
}

export interface Seen {
  readonly resting: Resting | null;
  /** Set when it was moved elsewhere. */
  readonly moved: { readonly from: string; readonly to: string } | null;
}

/**
 * Kinds whose tables the configuration makes list only what is to be sent, so that another value may be anything; and
 * what is no digits is no control value but something unreadable.
 */
export function sightOf({ settings, state, position, value }: Actuator): Sight {
  const isForeign =
    state === "unknown" && !kindRows[settings.kind].configured && value !== null && /^\d+$/.test(value);
  // How far it is open says nothing more where a word is told, as the configuration may have it of a degree.
  return { state, position: state === "position" ? position : null, foreign: isForeign ? value : null };
}

const nameOf = ({ state, position }: Pick<Resting, "state" | "position">) =>
  position === null ? state : String(position);

/**
 * Judges one more read of an actuator. `ours` means a command of ours is open or its travel time is not over: then
 * whatever is read is taken for its doing. A degree or a foreign value counts only when two reads in a row show it,
 * because a window on its way shows degrees it does not stop at.
 */
export function seeActuator(resting: Resting | null, sight: Sight, ours: boolean): Seen {
  const { state, position, foreign = null } = sight;
  if (state === null || (state === "unknown" && foreign === null)) return { resting, moved: null };
  const now: Resting = { state, position, passing: null };
  const isSame = resting?.state === state && resting.position === position;
  // Most reads show what the one before has shown, and change nothing at all.
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

interface Consequence {
  /** What people are told with. */
  readonly event: BridgeEvent["type"] | null;
  /** Whether it turns the problem of its target on or off; null leaves that as it is. */
  readonly problem: boolean | null;
}

const nothing: Consequence = { event: null, problem: null };
const solved: Consequence = { event: null, problem: false };

const consequences: Readonly<Record<Outcome, Consequence>> = {
  confirmed: solved,
  already: solved,
  dry_run: nothing,
  refused: nothing,
  superseded: nothing,
  rejected: { event: "command_rejected", problem: true },
  unconfirmed: { event: "command_unconfirmed", problem: true },
  failed: { event: "command_failed", problem: true },
  unknown: { event: "command_unconfirmed", problem: true },
};

/** What a person should be told of a command's end, with what to check; null when it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  const { event: type } = consequences[result.outcome];
  if (type === null) return null;
  const { controller, actuator, command, id, reason, request_id, read_back } = result;
  const message = `${controller}/${actuator} ${command ?? ""}: ${result.message ?? result.outcome}`;
  return {
    type,
    severity: "error",
    message,
    at,
    facts: { controller, actuator, command, id, reason, request_id, read_back },
  };
}

const targets = ["actuator", "parameter", "address"] as const;

/* Which targets' newest sent command ended badly; a controller's flag is on while any of its targets is among them. */

export function problemEnded(turn: Turn, about: Target, result: CommandResult): void {
  const { problem } = consequences[result.outcome];
  // The problem is that of the newest command sent; of one that failed before that nothing was.
  if (problem === true && result.outcome === "failed" && result.steps.length === 0) return;
  if (problem === true) raiseProblem(turn, about, { ...toldOf(result), at: turn.now.at });
  else if (problem === false) clearProblem(turn, about);
}

const toldOf = ({ command, outcome, reason, message }: CommandResult) => ({
  command,
  outcome,
  reason,
  message,
});

export function raiseProblem(turn: Turn, about: Target, why: ProblemReason): void {
  const lane = laneKey(about);
  const others = (at(turn.book.problems, about.code) ?? []).filter((one) => one.lane !== lane);
  leave(turn, about.code, [...others, { lane, problem: { actuator: about.targetId, ...why } }]);
}

function clearProblem(turn: Turn, about: Target): void {
  const open = at(turn.book.problems, about.code) ?? [];
  leave(
    turn,
    about.code,
    open.filter(({ lane }) => lane !== laneKey(about)),
  );
}

/** A person has seen it: one target's problem, or all of the controller's. */
export function acknowledge(turn: Turn, code: string, targetId: string | null): void {
  const seen = targetId === null ? null : targets.map((target) => laneKey({ code, target, targetId }));
  const open = at(turn.book.problems, code) ?? [];
  leave(turn, code, seen === null ? [] : open.filter(({ lane }) => !seen.includes(lane)));
  const record = { type: "acknowledged", controller: code, actuator: targetId, by: null, via: null } as const;
  note(turn, record, { quiet: true });
}

function leave(turn: Turn, code: string, open: readonly LaneProblem[]): void {
  for (const { lane } of [...(at(turn.book.problems, code) ?? []), ...open]) turn.touched.add(lane);
  turn.book.problems = having(turn.book.problems, code, open);
  showProblem(turn, code);
}

/** Brings the controller's flag up to date, also when it was only just admitted. */
export function showProblem(turn: Turn, code: string): void {
  const open = (at(turn.book.problems, code) ?? []).map(({ problem }) => problem);
  turn.effects.push({ type: "problem", code, open });
}

/* After commands have ended: our own value that comes late or is set back, and values set elsewhere. */

/**
 * What to look for after this end; the newest command sent counts. What the platform did not take, as it said or as a read showed,
 * may come all the same for a while, and whatever comes of it was not done elsewhere.
 */
export function awaitedAfter(lane: Lane, command: Command, result: CommandResult, now: Now): Awaited | null {
  const { outcome, sent_at: sentAt, steps } = result;
  const isBad = consequences[outcome].problem === true;
  // Of one of an earlier run the record of a first POST may be lost.
  const isUnrecorded = command.isRecovered === true && isBad && steps.length === 0;
  if (sentAt === null && !isUnrecorded) return lane.awaited;
  const isTold = isToldWhenLate(result);
  const planned = stepsOf(command.settings, command.wanted, null);
  const last = steps.at(-1);
  const sent = planned.findLast(({ address, value }) => address === last?.address && value === last.value);
  const step = isTold ? planned.at(-1) : isUnrecorded ? planned[0] : sent;
  if (!step || !isBad) return null;
  return {
    command,
    word: canonical(command.wanted),
    step,
    isTold,
    until: oursUntil(outcome, command, now.mono),
    endedAt: now.at,
  };
}

/** Until when the value counts as ours after this end. */
function oursUntil(outcome: Outcome, { settings }: SentCommand, endedAt: number): number {
  const isTaken = outcome === "unknown" || outcome === "unconfirmed";
  return isTaken ? Infinity : endedAt + settings.confirmWithinMs;
}

/** A read has shown the target. A parameter or raw address has no state of rest: only our own value matters. */
export function shown(turn: Turn, about: Addressed, target: Actuator | Register): void {
  if ("settings" in target) shownActuator(turn, about, target);
  else {
    const awaited = awaitedNow(turn);
    if (awaited && shows(awaited.command.settings, awaited.step, target.raw)) late(turn, awaited);
  }
}

const awaitedNow = ({ lane: { awaited }, now }: Turn): Awaited | null =>
  awaited !== null && now.mono <= awaited.until ? awaited : null;

function shownActuator(turn: Turn, about: Addressed, actuator: Actuator): void {
  const awaited = awaitedNow(turn);
  const register = awaited && actuator.registers[awaited.step.address];
  if (awaited && register && shows(actuator.settings, awaited.step, register.raw)) {
    const { state, position } = sightOf(actuator);
    turn.lane.resting = { state: state ?? "unknown", position, passing: null };
    late(turn, awaited);
  }
  const isOurs = isMoving(turn.lane, actuator.settings.travelMs, turn.now.mono);
  const { resting, moved } = seeActuator(turn.lane.resting, sightOf(actuator), isOurs);
  turn.lane.resting = resting;
  if (moved) movedElsewhere(turn, about, actuator, moved);
}

/** Whether a command is open, or one of ours may still be moving the actuator. */
const isMoving = (lane: Lane, travelMs: number, now: number): boolean =>
  isOpen(lane) ||
  lane.secondLook !== null ||
  (lane.posts.endedAt !== null && now - lane.posts.endedAt < travelMs);

function late(turn: Turn, { command, word, step, isTold }: Awaited): void {
  turn.lane.awaited = null;
  const { id, controllerId, targetId } = command;
  // A restart does not look for either again.
  const seen = { ...recordOf(command), address: step.address, value: step.value };
  note(turn, { type: isTold ? "confirmed_late" : "read_back", ...seen }, { quiet: true });
  if (!isTold) return;
  clearProblem(turn, command);
  tell(turn, {
    type: "confirmed_late",
    severity: "info",
    message: `${controllerId}/${targetId} shows ${word} now, after the command had ended unconfirmed.`,
    facts: { id, controller: controllerId, actuator: targetId },
  });
}

function movedElsewhere(
  turn: Turn,
  { code, controllerId }: Addressed,
  { settings, value }: Actuator,
  { from, to }: { readonly from: string; readonly to: string },
): void {
  const type = endsByItself(settings.kind, from, to) ? "ended_by_itself" : "changed_elsewhere";
  note(turn, { type, controller: code, actuator: settings.id, from, to }, { quiet: true });
  limitsAfterForeignMove(turn, from, to);
  const facts = { controller: controllerId, actuator: settings.id, from, to };
  if (type === "ended_by_itself") {
    const message = `${controllerId}/${settings.id} went from ${from} to ${to}: its plan ended by itself, or somebody ended it.`;
    tell(turn, { type, severity: "info", message, facts });
    return;
  }
  const shows = to === "unknown" ? `a value in no table of its kind, ${value ?? ""},` : to;
  tell(turn, {
    type,
    severity: "warning",
    message: `${controllerId}/${settings.id} went from ${from} to ${shows} without a command of this bridge: another user, a wall switch, or the controller's own protection.`,
    facts,
  });
}
