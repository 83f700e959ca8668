import { msg } from "../language/text.js";
import { shows, stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Actuator, Register } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";
import { shownOfLate } from "../greenhouse/readings.js";
import {
  aboutOf,
  type AddressRead,
  type Answered,
  ask,
  goTo,
  isOpen,
  isSent,
  type Journaled,
  type Lane,
  type LaneInput,
  note,
  notSent,
  recordOf,
  type Restored,
  type Run,
  type Turn,
} from "./book.js";
import { advance, checkedAddresses, journalSending, takenRecord, urgentWaitsMs } from "./checks.js";
import type { Command, Interrupted } from "./command.js";
import { isContradicted, nextReadAt, recoveredReadBack, withPushed, withSeen } from "./confirm.js";
import { samePayloadMs } from "./intake.js";
import {
  cutBetween,
  dryStop,
  type Ending,
  interlocked,
  refused,
  refusedExpired,
  shuttingDown,
  stepReport,
  superseded,
} from "./endings.js";
import { afterOthersPost } from "../limits/rules/lease.js";
import { changeLimits, limitsChangedBy, limitsVerdict, limitsWith, restoreLimits } from "./lane-limits.js";
import {
  dropPassedOver,
  dropWaiting,
  endCommand,
  endWaiting,
  finish,
  onOutcomeWritten,
  recognise,
} from "./results.js";
import { at } from "../runtime/table.js";
import { confirm, endIfCut, isTooOld, ruledOut, stepEnded, stepOf } from "./sending.js";
import {
  beginSecondLook,
  dropTooLate,
  lateUntil,
  leaveSecondLook,
  onRead,
  onSecondLookRead,
  raiseProblem,
  restAfterCommand,
  takeUpSecondLook,
} from "./after-end.js";

/**
 * Moves a lane on after an input. One command is checked and sent at a time, one more may be confirming, the newest
 * waiting one goes next, and a stop goes before all of them.
 */
export function advanceLane(turn: Turn): void {
  beginSecondLook(turn);
  dropTooLate(turn);
  for (const one of [turn.lane.running, turn.lane.confirming])
    if (one !== null && one.wakeAt !== null && turn.now.mono >= one.wakeAt)
      advance(turn, one, { type: "due" });
  startNext(turn);
  const { running, confirming } = turn.lane;
  // A confirming command gives way when a newer one POSTs.
  if (running && isSent(running) && confirming) cut(turn, confirming);
}

/** Takes one input. */
export function takeInput(turn: Turn, input: LaneInput): void {
  if (input.type === "restored") restore(turn, input.lane);
  else if (input.type === "shown") {
    noteNewest(turn, input.target);
    onRead(turn, input.about, input.target);
  } else if (input.type === "settled") restAfterCommand(turn, input.actuator);
  else if (input.type === "pushed") onPushed(turn, input.address, input.raw);
  else if (input.type === "lock_or_hold") changeLimits(turn, input);
  else answer(turn, input);
}

/** Handles an answer for one of the two open commands, or the journal's for a result; any other comes too late. */
function answer(turn: Turn, input: Answered | Journaled): void {
  const outcome = input.type === "journaled" ? at(turn.book.outcomes, String(input.token)) : undefined;
  if (input.type === "journaled" && outcome) {
    onOutcomeWritten(turn, input, outcome);
    return;
  }
  const { secondLook, running, confirming } = turn.lane;
  if (secondLook !== null && secondLook.token === input.token) {
    onSecondLookRead(turn, secondLook, input.type === "read" ? input.read : null);
    return;
  }
  const run = running?.token === input.token ? running : confirming;
  if (run?.token !== input.token) return;
  if (turn.lane.posts.unread && input.type === "read") accountForPosts(turn, run, [input]);
  if (turn.lane.posts.unread && input.type === "checked") accountForPosts(turn, run, input.reads);
  if (input.type === "defect") finish(turn, run, defect(run));
  else advance(turn, run, input);
}

/** A read begun after all our POSTs accounts for them. */
function accountForPosts(turn: Turn, { command }: Run, reads: readonly AddressRead[]): void {
  const { endedAt } = turn.lane.posts;
  for (const { address, read } of reads) {
    if (read.type !== "value" || (endedAt !== null && read.startedMono < endedAt)) continue;
    turn.lane.posts = { ...turn.lane.posts, unread: false };
    note(turn, { type: "read_back", ...aboutOf(command), id: null, address, value: String(read.raw) });
    return;
  }
}

/** Takes in an accepted command. */
export function enter(turn: Turn, command: Command): void {
  recognise(turn, command);
  if (command.wanted.type === "stop" && command.dryRun) {
    endWaiting(turn, command, dryStop());
    return;
  }
  if (command.wanted.type === "stop") {
    const { stop, running } = turn.lane;
    if (stop) endWaiting(turn, stop, superseded("before_sending"));
    dropWaiting(turn, () => superseded("before_sending"));
    turn.lane.stop = command;
    if (running) cut(turn, running);
  } else {
    // Those that wait keep their place until this one POSTs, as a refused command replaces none.
    turn.lane.waiting = [...turn.lane.waiting, command];
  }
  turn.effects.push({ type: "phase", command, phase: "waiting" });
  // If the program dies before anything is sent, the next start can end it. The disk is not waited for, so a command of
  // this very moment may leave no record. In a flood of stops those whose turn never comes are only counted.
  if (!command.isOfFlood) note(turn, takenRecord(command, command.dryRun ? { dry_run: true } : {}));
}

/**
 * Notes a read of what is being confirmed, also one with another purpose. A poll that shows the value is a reason to read,
 * never evidence.
 */
function noteNewest(turn: Turn, target: Actuator | Register): void {
  const { confirming } = turn.lane;
  if (confirming?.at !== "confirming") return;
  const { command, readBack, after, token } = confirming;
  const register = "settings" in target ? target.registers[readBack.address ?? ""] : target;
  if (register === undefined || register.startedAt < readBack.from) return;
  const { raw } = register;
  const isNews = raw !== readBack.newest;
  const noted = isNews ? { ...readBack, newest: raw } : readBack;
  // The first read of its own comes soon anyway, and while one is under way, the value most likely comes from that.
  const isBetweenReads = token === null && readBack.readAt > -Infinity;
  if (isBetweenReads && shows(command.settings, readBack.step, raw))
    confirm(turn, confirming, withSeen(noted, isNews), after);
  else if (isNews) turn.lane.confirming = { ...confirming, readBack: noted };
}

function onPushed(turn: Turn, address: string, raw: RawValue): void {
  for (const run of [turn.lane.running, turn.lane.confirming]) {
    if (run?.at !== "confirming" || run.readBack.address !== address) continue;
    const { command, readBack, after, token } = run;
    const isWanted = shows(command.settings, readBack.step, raw);
    confirm(turn, run, withPushed(readBack, raw, isWanted), after, token);
  }
}

/** Accepts nothing more; what waits or is being checked ends refused, what was sent stays open for the next start. */
export function close(turn: Turn): void {
  leaveSecondLook(turn);
  dropWaiting(turn, shuttingDown);
  const { stop, running, confirming } = turn.lane;
  if (stop) endWaiting(turn, stop, shuttingDown());
  turn.lane.stop = null;
  if (running) cut(turn, running);
  if (confirming) cut(turn, confirming);
}

/** Chooses the next command and starts it at once: otherwise another could get lost or run beside it. */
function startNext(turn: Turn): void {
  for (const one of [...turn.lane.waiting, turn.lane.stop])
    if (one !== null && isTooOld(turn, one)) {
      takeOut(turn, one);
      endWaiting(turn, one, refusedExpired());
    }
  for (;;) {
    const { running, stop, waiting } = turn.lane;
    const newest = stop ?? waiting.at(-1);
    if (running !== null || turn.book.closed || newest === undefined) return;
    const judged = limitsVerdict(turn, newest, "turn");
    turn.lane.pausedUntil = judged.type === "wait" ? judged.until : null;
    const command = nextUp(turn.lane) ?? newest;
    const verdict = command === newest ? judged : limitsVerdict(turn, command, "turn");
    const isPaused = mayGoFrom(turn.lane, command) > turn.now.mono;
    const against = ruledOut(turn, command) ?? (verdict.type === "refuse" ? interlocked(verdict) : null);
    if (against === null && isPaused) return;
    const passedOver = takeOut(turn, command);
    if (against !== null) endWaiting(turn, command, against);
    else if (!takesOver(turn, command, passedOver)) begin(turn, command, passedOver);
  }
}

/** The shortest time between two stops sent to one actuator. */
const stopIntervalMs = 2_000;

/**
 * The earliest time for the command. Stops keep a distance from stops only, others follow `min_interval` and the
 * limits; a dry run sends nothing and never waits.
 */
function mayGoFrom({ posts, pausedUntil }: Lane, { wanted, settings, rule, dryRun }: Command): number {
  const isStop = wanted.type === "stop";
  if (dryRun) return -Infinity;
  const since = isStop ? posts.stopAt : posts.firstAt;
  const from = since === null ? -Infinity : since + (isStop ? stopIntervalMs : settings.minIntervalMs);
  return isStop || rule !== null || pausedUntil === null ? from : Math.max(from, pausedUntil);
}

/** A stop; else the newest command. While the limits delay that one, a rule's command, which no pause delays. */
const nextUp = ({ stop, waiting, pausedUntil }: Lane): Command | undefined =>
  stop ??
  (pausedUntil === null ? undefined : waiting.findLast(({ rule }) => rule !== null)) ??
  waiting.at(-1);

/** Takes the command out and returns those that have waited longer. */
function takeOut(turn: Turn, command: Command): readonly Command[] {
  const { waiting, stop } = turn.lane;
  if (command === stop) turn.lane.stop = null;
  const place = waiting.indexOf(command);
  if (place === -1) return [];
  turn.lane.waiting = waiting.toSpliced(place, 1);
  return waiting.slice(0, place);
}

/** Begins its checks: single-device status, and a fresh read of every address of the state. A stop goes unchecked. */
function begin(turn: Turn, command: Command, passedOver: readonly Command[]): void {
  const { posts, confirming } = turn.lane;
  // A command that still confirms may show at any moment, so until then nothing counts as reached.
  const memory = { ...posts, unread: posts.unread || confirming !== null };
  const started = { command, posts: memory, passedOver, ...notSent, ofLate: ofLateIn(turn, command) };
  if (command.wanted.type === "stop") {
    const steps = stepsOf(command.settings, command.wanted, null);
    journalSending(turn, { ...started, steps }, turn.now.mono + urgentWaitsMs);
    return;
  }
  turn.effects.push({ type: "phase", command, phase: "checking" });
  const token = ask(turn, { type: "check", command, addresses: checkedAddresses(command) });
  // Saved beside the checks, so that the POST need not wait for another fsync. With limits, the record of sending
  // itself has to be on disk.
  if (!command.dryRun && limitsChangedBy(turn, command) === null)
    note(turn, { type: "phase", ...recordOf(command), phase: "checking" }, { durable: true, quiet: true });
  goTo(turn, started, { at: "checking" }, { token });
}

/** What polls and pushes have shown of the addresses about to be read. */
function ofLateIn({ now }: Turn, command: Command): Readonly<Record<string, readonly RawValue[]>> {
  const actuator = now.controller(command.code)?.actuators.get(command.targetId);
  if (command.target !== "actuator" || actuator === undefined) return {};
  return Object.fromEntries(
    checkedAddresses(command).map((address) => [address, shownOfLate(actuator, address, now)]),
  );
}

/**
 * An equal command takes over the read-backs of the confirming one and sends nothing. Exceptions: a rule's command, and
 * a newest read that shows something else. Reads of an earlier run are unknown, so its command has to be read once
 * first.
 */
function takesOver(turn: Turn, command: Command, passedOver: readonly Command[]): boolean {
  const { confirming } = turn.lane;
  if (confirming?.at !== "confirming") return false;
  const { facts, earlierRead } = confirming.after;
  if (confirming.readBack.recovered && confirming.readBack.newest === null) return false;
  // If nothing is known to have been sent, there is nothing to take over.
  if (facts.attempts === 0) return false;
  if (command.force || command.wanted.type === "stop" || command.dryRun || command.rule !== null)
    return false;
  if (canonical(confirming.command.wanted) !== canonical(command.wanted)) return false;
  if (isContradicted(confirming.readBack, earlierRead, command.settings)) return false;
  const before = confirming.command;
  dropPassedOver(turn, passedOver);
  // Written before the other's result closes its record: what was sent for one counts for both.
  const record = takenRecord(command, { took_over: before.id });
  note(turn, record, { durable: true });
  const last = stepReport(before.settings, stepOf(confirming), { type: "interrupted", ...facts });
  const steps = [...confirming.reports, last];
  const { sentAt } = confirming;
  endCommand(turn, before, { ...superseded("after_sending"), steps, sentAt, requestId: facts.requestId });
  turn.lane.confirming = { ...confirming, command };
  turn.effects.push({ type: "phase", command, phase: "confirming" });
  limitsWith(turn, command, afterOthersPost);
  return true;
}

/** The end of a command after a defect of the bridge. */
function defect(run: Run): Ending {
  const message = msg`A defect of the bridge ended the command; what was sent may have taken effect. Check the actuator.`;
  return isSent(run)
    ? { outcome: "unknown", reason: null, message }
    : refused("platform_unavailable", message);
}

/** When a lane wants to be woken; null if only an answer or a new command can change it. */
export function wakeOfLane(lane: Lane): number | null {
  const { running, confirming, secondLook, waiting, stop } = lane;
  let wake = Math.min(running?.wakeAt ?? Infinity, confirming?.wakeAt ?? Infinity);
  const command = running === null ? nextUp(lane) : undefined;
  if (command) wake = Math.min(wake, mayGoFrom(lane, command));
  for (const one of waiting) wake = Math.min(wake, one.deadlineMono + 1);
  if (stop !== null) wake = Math.min(wake, stop.deadlineMono + 1);
  if (secondLook?.token === null) wake = Math.min(wake, secondLook.at);
  return wake === Infinity && waiting.length === 0 && stop === null ? null : wake;
}

/** Whether a pushed value of the address is awaited, or exactly this value. */
export function awaits(lane: Lane, address: string, raw?: RawValue): boolean {
  return [lane.running, lane.confirming].some((one) => {
    if (one?.at !== "confirming" || one.readBack.address !== address) return false;
    return raw === undefined || shows(one.command.settings, one.readBack.step, raw);
  });
}

/** When the lane can be forgotten; null while something is open or to be looked at. */
export function forgottenAt(lane: Lane): number | null {
  const { left, posts, newest, secondLook, awaited, resting, limits, limitsDueAt } = lane;
  if (isOpen(lane) || left.length > 0) return null;
  if (secondLook || awaited || resting || posts.unread || limits || limitsDueAt !== null) return null;
  if (newest?.result === null) return null;
  const since = Math.max(newest?.endedMono ?? 0, posts.firstAt ?? 0, posts.stopAt ?? 0, posts.endedAt ?? 0);
  const quiet = since + Math.max(samePayloadMs, stopIntervalMs, newest?.quietMs ?? 0);
  return Math.max(quiet, lateUntil(lane.unconfirmed));
}

/** Starts the lane with what an earlier run left. */
function restore(turn: Turn, { limits, ...lane }: Restored): void {
  const { about, unread, problem, awaited, secondLook, interrupted } = lane;
  restoreLimits(turn, limits);
  if (problem !== null) raiseProblem(turn, about, problem);
  if (unread) turn.lane.posts = { ...turn.lane.posts, unread, endedAt: turn.now.mono };
  turn.lane.awaited = awaited;
  if (lane.unconfirmed !== undefined && lane.unconfirmed.length > 0) turn.lane.unconfirmed = lane.unconfirmed;
  if (secondLook !== null) takeUpSecondLook(turn, secondLook);
  for (const one of interrupted) adopt(turn, one);
}

/** Takes up a command that an earlier run left open: it is read back, newer commands may come, and nothing is sent. */
function adopt(turn: Turn, { command, step, earlier, sentAt, isAccepted, ...sent }: Interrupted): void {
  const { mono } = turn.now;
  // The last run died when this one was about to replace another that was still confirming.
  if (turn.lane.confirming) cut(turn, turn.lane.confirming);
  const facts = { ...sent, readBack: null };
  const readBack = recoveredReadBack(step, command.settings, mono);
  const otherwise = isAccepted === true || sent.code === "200" ? "unconfirmed" : "failed";
  turn.lane.confirming = {
    command,
    posts: turn.lane.posts,
    passedOver: [],
    ...notSent,
    steps: [step],
    reports: earlier,
    sentAt,
    at: "confirming",
    readBack,
    after: { facts, otherwise, earlierRead: null },
    token: null,
    wakeAt: nextReadAt(readBack),
  };
  // No clock tells how long ago the last run sent it, so it may move as if it was sent just now.
  turn.lane.posts = { ...turn.lane.posts, endedAt: mono, unread: true };
  turn.effects.push({ type: "phase", command, phase: "confirming" });
  limitsWith(turn, command, afterOthersPost);
  recognise(turn, command);
}

/* The end of an open command that a stop, a newer command or the end of the program cuts off. */

/** Abandons a command. A POST in flight is never aborted, as its effect would be unknown. */
function cut(turn: Turn, run: Run): void {
  const { at, token } = run;
  const isStop = run.command.wanted.type === "stop";
  const isOnItsWay = at === "journal" || at === "connecting" || at === "unconnected";
  const isStopOnItsWay = isOnItsWay && isStop && !turn.book.closed;
  if (run.cut || isStopOnItsWay) return;
  const given = { ...run, cut: true };
  if (at === "posting") {
    goTo(turn, given, { at, first: run.first }, run);
    return;
  }
  if (token !== null) turn.effects.push({ type: "forget", token });
  givenUp(turn, given);
}

function givenUp(turn: Turn, run: Run): void {
  const end = endIfCut(run);
  if (end !== null) stepEnded(turn, run, end);
  else if (run.at === "stopped") finish(turn, run, run.ending);
  else if (isSent(run)) finish(turn, run, cutBetween(run));
  else finish(turn, run, turn.book.closed ? shuttingDown() : superseded("before_sending"));
}
