import { stateOfWord } from "../greenhouse/actuator-kinds.js";
import { canonical } from "../greenhouse/command/words.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { About, RecordBody } from "../journal/records.js";
import { afterEnd } from "../limits/rules/lease.js";
import { alertFor, awaitedAfter, planSecondLook, problemEnded, unconfirmedAfter } from "./after-end.js";
import {
  aboutOf,
  ask,
  type Input,
  isSent,
  type Journaled,
  laneKey,
  note,
  type PendingResult,
  type Run,
  type Turn,
} from "./book.js";
import type { Arrived, Command, Target } from "./command.js";
import {
  countRefusal,
  countsOver,
  knownId,
  type NotTaken,
  refusalResult,
  surplusResult,
  withId,
} from "./intake.js";
import { limitsWith } from "./lane-limits.js";
import { type Abandoned, askedBy, type Ending, resultOf, superseded } from "./endings.js";
import { entries, having, without } from "../runtime/table.js";

/*
 * The one result of each command is journaled, then published. What the journal cannot write now is written later.
 * Until then the result is held back, since the next start might end the command again with another one.
 */

/** Ends a command whose turn never came. */
export const endWaiting = (turn: Turn, command: Command, ending: Ending): void => {
  endCommand(turn, command, { ...ending, waited: true });
};

/** Ends those that still wait, as a newer one has replaced them. */
export function dropPassedOver(turn: Turn, passedOver: readonly Command[]): void {
  const { waiting } = turn.lane;
  turn.lane.waiting = waiting.filter((one) => !passedOver.includes(one));
  for (const command of waiting)
    if (passedOver.includes(command)) endCommand(turn, command, superseded("before_sending"));
}

export function dropWaiting(turn: Turn, ending: () => Ending): void {
  const { waiting } = turn.lane;
  turn.lane.waiting = [];
  for (const command of waiting) endCommand(turn, command, ending());
}

/** Ends an open command; one that the end of the program cut off after a POST stays open for the next start. */
export function finish(turn: Turn, run: Run, ending: Ending): void {
  const { running, confirming } = turn.lane;
  const { command } = run;
  if (run.at === "confirming" && run.readBack.pushed !== null) {
    const { pushed: raw, step, address } = run.readBack;
    turn.effects.push({ type: "pushed", command, address: address ?? step.address, raw });
  }
  const wasRunning = running?.command === run.command;
  if (wasRunning) turn.lane.running = null;
  if (confirming?.command === run.command) turn.lane.confirming = null;
  const newer = turn.lane.running;
  // Unless a newer command is between its own steps by now.
  if (isSent(run) && !(newer && isSent(newer))) {
    const { settings, wanted } = command;
    const isDone = ending.outcome === "confirmed";
    const degree = wanted.type === "position" && isDone ? wanted.degree : null;
    const word = wanted.type !== "position" && isDone ? stateOfWord(settings.kind, canonical(wanted)) : null;
    turn.effects.push({ type: "steps_ended", command, degree, word });
  }
  if (run.cut && isSent(run) && turn.book.closed && ending.outcome === "superseded") {
    turn.lane.left = [...turn.lane.left, run];
    return;
  }
  planSecondLook(turn, run, ending);
  // A dry run and a refused command replace none of those that waited with it.
  if (wasRunning && !command.dryRun && ending.outcome !== "refused") dropPassedOver(turn, run.passedOver);
  endCommand(turn, command, ending);
}

/** Ends a command of the present `turn.lane`. */
export function endCommand(turn: Turn, command: Command, ending: Ending): void {
  const { now } = turn;
  // No monotonic clock counts while the program is down.
  const tookMs = command.isRecovered ? now.at - command.receivedAt : now.mono - command.receivedMono;
  const took = { at: now.at, tookMs };
  const result = resultOf(askedBy(command), ending, command.settings, took);
  problemEnded(turn, command, result);
  turn.lane.awaited = awaitedAfter(turn.lane, command, result, now);
  turn.lane.unconfirmed = unconfirmedAfter(turn.lane, command, result, now);
  limitsWith(turn, command, afterEnd, result);
  if (command.isOfFlood && ending.waited) {
    endUncounted(turn, command, result);
    return;
  }
  const isUrgent = ending.isLast === true || (command.wanted.type === "stop" && !command.isRecovered);
  conclude(turn, command, result, { command, isUrgent });
}

/** Ends one of very many stops whose turn never came: in the journal it only adds to a count. */
function endUncounted(turn: Turn, command: Command, result: CommandResult): void {
  remember(turn, command, result);
  isOnlyCounted(turn, aboutOf(command), result, true);
  turn.effects.push({ type: "phase", command, phase: "done", result });
  turn.effects.push({ type: "result", result, about: command, sequence: null, isRefusal: false });
}

/** Ends a command of an earlier run that cannot be read back. */
export function abandon(turn: Turn, { about, asked, ownId, ending }: Abandoned): void {
  const { at } = turn.now;
  const result = resultOf(asked, ending, null, { at, tookMs: at - Date.parse(asked.received_at) });
  problemEnded(turn, about, result);
  if (ownId) endedBefore(turn, about, result, 0);
  conclude(turn, { ...about, controllerId: asked.controller, response: null }, result);
}

/** Notes a result of an earlier run, by which a repeated id is still recognised. */
export function endedBefore(turn: Turn, about: Target, result: CommandResult, agoMs: number): void {
  const endedMono = turn.now.mono - agoMs;
  const taken = {
    id: result.id,
    canonical: result.command ?? "",
    payloadKey: "",
    result,
    endedMono,
    quietMs: 0,
  };
  turn.book.ids = withId(turn.book.ids, laneKey(about), taken, turn.now.mono);
}

function conclude(
  turn: Turn,
  about: PendingResult["about"],
  result: CommandResult,
  { command = null, isUrgent = false }: Partial<Pick<PendingResult, "command" | "isUrgent">> = {},
): void {
  turn.effects.push({ type: "ended", result });
  const { code, controllerId, target, targetId, response } = about;
  const addressee = { code, controllerId, target, targetId, response };
  const outcome = { about: addressee, command, result, isUrgent, isRefusal: false };
  write(turn, { ...outcome, isTold: false, isWriting: true });
}

function write(turn: Turn, outcome: PendingResult): void {
  const { about, result, isRefusal } = outcome;
  const record: RecordBody = isRefusal
    ? refusalRecord(aboutOf(about), result)
    : { type: "result", ...aboutOf(about), result };
  // Its command is in the journal; a power cut that kept only that would give it a second result.
  // A dry run may have two.
  const durable = !isRefusal && result.outcome !== "dry_run";
  const token = ask(turn, { type: "journal", record, durable }, laneKey(about));
  turn.book.outcomes = having(turn.book.outcomes, String(token), outcome);
}

/** The most published results kept for writing; unpublished ones are no more than were open when the journal failed. */
const mostUnwritten = 1_000;

/** Handles the journal's answer for a result of the present `turn.lane`. */
export function onOutcomeWritten(turn: Turn, input: Journaled, outcome: PendingResult): void {
  const key = String(input.token);
  turn.book.outcomes = without(turn.book.outcomes, key);
  const { result, isRefusal, isUrgent, isTold } = outcome;
  // A refused command that never came into the journal is not found there by the next start.
  const wouldEndAgain = input.sequence === null && (result.outcome !== "refused" || input.isOpen);
  const isHeld = !isRefusal && !isUrgent && wouldEndAgain;
  if (!isTold && !isHeld) publishResult(turn, outcome, input.sequence);
  if (input.sequence !== null || isRefusal) return;
  const kept = { ...outcome, isTold: isTold || !isHeld, isWriting: false };
  turn.book.outcomes = having(turn.book.outcomes, key, kept);
  if (turn.book.outcomes.size > mostUnwritten) dropOldest(turn);
}

function dropOldest(turn: Turn): void {
  const unwritten = waiting(turn);
  const oldest = unwritten.find(([, { isTold }]) => isTold);
  if (oldest && unwritten.length > mostUnwritten) turn.book.outcomes = without(turn.book.outcomes, oldest[0]);
}

/** Results that the journal could not write, oldest first. */
const waiting = ({ book }: Turn): readonly (readonly [string, PendingResult])[] =>
  [...entries(book.outcomes)]
    .filter(([, { isWriting }]) => !isWriting)
    .sort(([one], [other]) => Number(one) - Number(other));

/** Writes what the journal could not write before, and counts of refusals. */
export function tick(turn: Turn, journalAvailable: boolean): void {
  flush(turn, turn.now.mono);
  if (!journalAvailable) return;
  for (const [key, outcome] of waiting(turn)) {
    turn.book.outcomes = without(turn.book.outcomes, key);
    write(turn, { ...outcome, isWriting: true });
  }
}

/** Journals the counts of past minutes. */
export function flush(turn: Turn, now: number): void {
  const { refusals, over } = countsOver(turn.book.refusals, now);
  turn.book.refusals = refusals;
  for (const count of over) {
    turn.effects.push({ type: "counted", count });
    note(turn, { type: "refusals_counted", ...count }, { quiet: true });
  }
}

function publishResult(
  turn: Turn,
  { about, command, result, isRefusal }: PendingResult,
  sequence: number | null,
): void {
  if (!isRefusal) remember(turn, about, result);
  // The phase `done` comes with the result, never before it.
  if (command !== null) turn.effects.push({ type: "phase", command, phase: "done", result });
  turn.effects.push({ type: "result", result, about, sequence, isRefusal });
  const alert = alertFor(result, turn.now.at);
  if (alert) turn.effects.push({ type: "event", event: alert });
}

/** Notes an accepted command, so that a repeated one is recognised. */
export function recognise(turn: Turn, command: Command): void {
  const { id, ownId, payloadKey, settings } = command;
  const facts = { id, canonical: canonical(command.wanted), payloadKey, quietMs: settings.minIntervalMs };
  const taken = { ...facts, result: null, endedMono: null };
  if (ownId) turn.book.ids = withId(turn.book.ids, laneKey(command), taken, turn.now.mono);
  turn.lane.newest = taken;
}

/** Notes its result, with which a repetition is answered from now on. */
function remember(turn: Turn, about: Target, result: CommandResult): void {
  const { ids } = turn.book;
  const { newest } = turn.lane;
  const told = { result, endedMono: turn.now.mono };
  const known = knownId(ids, laneKey(about), result.id);
  if (known) turn.book.ids = withId(ids, laneKey(about), { ...known, ...told }, turn.now.mono);
  if (newest?.id === result.id) turn.lane.newest = { ...newest, ...told };
}

/** Stands for all targets that do not exist. */
const unknownTargets: About = { controller: "*", actuator: "*" };

/**
 * Refuses a request. Refusals are journaled without fsync; above 60 a minute for one actuator they are only counted,
 * with one record when the minute is over. Targets that do not exist share one such limit: a sender could invent any
 * number of them, fill the disk and push old records out.
 */
export function refuse(turn: Turn, arrived: Arrived, why: NotTaken): CommandResult {
  const { request, code, target } = arrived;
  const result = refusalResult(arrived, why, turn.now);
  const about = { ...request, code };
  const counted = "reason" in target ? unknownTargets : aboutOf(about);
  const how = { command: null, isRefusal: true, isUrgent: true, isTold: false, isWriting: true };
  const outcome = { about, result, ...how };
  if (isOnlyCounted(turn, counted, result)) publishResult(turn, outcome, null);
  else {
    turn.effects.push({ type: "ended", result });
    write(turn, outcome);
  }
  return result;
}

/** Counts a refusal; returns whether it is only counted. */
function isOnlyCounted(turn: Turn, about: About, result: CommandResult, isOneOfMany = false): boolean {
  flush(turn, turn.now.mono);
  const { refusals, isOnlyCounted: isOnly } = countRefusal(turn.book.refusals, about, result, isOneOfMany);
  turn.book.refusals = refusals;
  return isOnly;
}

/**
 * Counts unread commands of a flood and publishes one result for them; `about` is null if the target does not exist.
 */
export function countSurplus(turn: Turn, input: Extract<Input, { readonly type: "surplus" }>): void {
  const { about, reason, count } = input;
  flush(turn, turn.now.mono);
  const { refusals } = turn.book;
  const one = { received_at: new Date(turn.now.at).toISOString(), reason };
  const counted = about === null ? unknownTargets : aboutOf(about);
  turn.book.refusals = countRefusal(refusals, counted, one, true, count).refusals;
  if (about === null) return;
  const result = surplusResult(about, input, turn.now);
  const told = { result, about: { ...about, response: null }, sequence: null, isRefusal: true };
  turn.effects.push({ type: "result", ...told });
}

/** The most characters of a target's name, which a sender may invent and sentences repeat; no id of ours is longer. */
const mostOfName = 128;
const mostOfMessage = 500;

function refusalRecord(about: About, result: CommandResult): RecordBody {
  const controller = short(about.controller);
  const actuator = short(about.actuator);
  const isLong = String(result.message).length > mostOfMessage;
  const message = isLong ? short(String(result.message), mostOfMessage) : result.message;
  return {
    type: "refusal",
    ...about,
    controller,
    actuator,
    result: { ...result, controller: short(result.controller), actuator: short(result.actuator), message },
  };
}

const short = (text: string, most = mostOfName): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;
