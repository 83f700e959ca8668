import type { Text } from "../language/text.js";
import { stateAddresses } from "../greenhouse/actuator-kinds.js";
import { confirmWithinMs, shows, type Step, travels } from "../greenhouse/command/plan.js";
import type { PlatformErrorKind, RawValue } from "../greenhouse/ports.js";
import { isIdlePulse, proofAddress } from "../greenhouse/readings.js";
import type { Interlock } from "../greenhouse/limits.js";
import { afterPost } from "../limits/rules/lease.js";
import {
  type Answered,
  ask,
  type At,
  type Came,
  type First,
  goTo,
  isSent,
  note,
  type Progress,
  recordOf,
  type Run,
  type Turn,
} from "./book.js";
import type { Command } from "./command.js";
import {
  type Confirming,
  nextReadAt,
  type Read,
  type ReadBack,
  readBackFrom,
  recoveredReadBack,
  judgeRead,
} from "./confirm.js";
import {
  type Answer,
  bridgeReadOnly,
  cutBetween,
  dryByNow,
  type Ending,
  endingAt,
  type Evidence,
  expiredMidway,
  provenTooLate,
  factsOf,
  finalError,
  interlocked,
  leaseOver,
  refused,
  refusedExpired,
  type StepEnd,
  stepReport,
} from "./endings.js";
import { limitsVerdict, limitsWith } from "./lane-limits.js";
import { leaveSecondLook } from "./after-end.js";
import { isReadOnlyFor } from "./intake.js";
import { dropPassedOver, finish } from "./results.js";

/*
 * From the first POST of a command to its end. There is at most one second POST of a step, of a command that is young
 * enough: after an ambiguous end where a newer read differs and shows no position on its way; after a renewed credential
 * where a newer read differs, of a mode, a lead-in and with `force` whatever it shows, of a stop without a read. A position on its
 * way speaks against the first alone: what was refused was not taken, so what moves obeys an earlier command.
 */

/** No second POST sooner than this after the first. */
const secondPostMs = 5_000;

/** What a command that is being sent, or was sent, was waiting for has come. */
export function advanceSending(turn: Turn, run: Run, came: Came): void {
  if (run.at === "posting" && came.type === "answered") onAnswer(turn, run, came);
  else if (run.at === "connecting" && came.type === "begins") beginPost(turn, run);
  else if (run.at === "connecting" && came.type === "answered") onUnconnected(turn, run, came);
  else if (run.at === "connecting" && came.type === "due") giveUpConnecting(turn, run);
  else if (run.at === "unconnected" && came.type === "due") sendStep(turn, run, run.first, run.tries);
  else if (run.at === "confirming" && came.type === "due") lookAgain(turn, run);
  else if (run.at === "confirming" && came.type === "read") confirmingRead(turn, run, came.read);
  else if (run.at === "last_look" && came.type === "read")
    stepEnded(turn, run, { ...run.end, readBack: rawOf(came.read) });
  else if (run.at === "renewing" && came.type === "renewed") onRenewed(turn, run, came.isNew);
  else if (run.at === "before_second" && came.type === "due") lookBeforeSecond(turn, run);
  else if (run.at === "before_second" && came.type === "read")
    onReadBeforeSecond(turn, run, rawOf(came.read));
  else if (run.at === "stopped" && came.type === "read") readStopped(turn, run, run.left, run.ending);
}

export function stepOf({ steps, place }: Progress): Step {
  const step = steps[place];
  if (step === undefined) throw new Error("a command that is sent has no step to be at");
  return step;
}

/** Its time to be sent is over: nothing of it may be POSTed any more. */
export const isTooOld = ({ now }: Turn, { deadlineMono }: Command): boolean => now.mono > deadlineMono;

/** What speaks by now against a command of which nothing was sent, whatever it was when it was taken; null for nothing. */
export function ruledOut({ now, lane }: Turn, { id, dryRun, rule }: Command): Ending | null {
  // The lease that it was to end has ended otherwise: somebody moved the actuator meanwhile.
  if (rule === "lease" && lane.limits?.lease?.end.id !== id) return leaseOver;
  const { rules } = now;
  if (isReadOnlyFor(rule, rules)) {
    const { reason, message } = bridgeReadOnly(rules.readOnlyBecause);
    return refused(reason, message);
  }
  return rules.dry_run && !dryRun ? dryByNow : null;
}

/** What stands against a POST. */
type Against =
  | { readonly type: "expired" }
  | { readonly type: "ruled_out"; readonly ending: Ending }
  | { readonly type: "limits"; readonly rule: { readonly message: Text; readonly interlock: Interlock } };

/**
 * Why the POST that the command stands before may not leave at this moment; null where it may. Judged when a connection is asked
 * for, and once more when it stands, before the first byte: on the way there a storm may have begun.
 */
function mayPost(turn: Turn, run: Run): Against | null {
  const { command } = run;
  const ending = isSent(run) ? null : ruledOut(turn, command);
  if (ending !== null) return { type: "ruled_out", ending };
  if (isTooOld(turn, command)) return { type: "expired" };
  const verdict = limitsVerdict(turn, command, stepOf(run).purpose === "lead_in" ? "lead_in" : "post");
  return verdict.type === "go" ? null : { type: "limits", rule: verdict };
}

/** Nothing of this POST has left, and nothing will. */
function withhold(turn: Turn, run: Run, first: First | null, against: Against): void {
  const { place, reports, sentAt } = run;
  if (against.type === "limits") keptBack(turn, run, first, against.rule);
  else if (against.type === "ruled_out") finish(turn, run, against.ending);
  else if (first !== null) endWithFirst(turn, run, first);
  else if (place === 0) finish(turn, run, refusedExpired());
  else finish(turn, run, { ...expiredMidway, steps: reports, sentAt });
}

/** The limits forbid this POST: nothing was sent, or what was sent stays told. */
function keptBack(
  turn: Turn,
  run: Run,
  first: First | null,
  rule: { readonly message: Text; readonly interlock: Interlock },
): void {
  const { command, reports, place } = run;
  const step = run.steps[place];
  const isUnsent = place === 0 && (first === null || first.end?.type === "not_sent");
  if (isUnsent || step === undefined) {
    finish(turn, run, interlocked(rule));
    return;
  }
  // What is unclear at a first POST is the step before.
  const { readBack = null, requestId = null } = first?.facts ?? {};
  const last =
    first === null ? [] : [stepReport(command.settings, step, { type: "interrupted", ...first.facts })];
  finish(turn, run, {
    outcome: "failed",
    reason: "interlock",
    message: rule.message,
    interlock: rule.interlock,
    steps: [...reports, ...last],
    sentAt: run.sentAt,
    readBack,
    requestId,
  });
}

/**
 * Asks for a connection to send the step the command stands at; `first` is what a POST of it before came to, `tries` how often
 * there was no connection.
 */
export function sendStep(turn: Turn, run: Run, first: First | null = null, tries = 0): void {
  const against = mayPost(turn, run);
  if (against !== null) {
    withhold(turn, run, first, against);
    return;
  }
  const { command } = run;
  const token = ask(turn, { type: "post", command, step: stepOf(run) });
  const wakeAt = Number.isFinite(command.deadlineMono) ? command.deadlineMono + 1 : null;
  goTo(turn, run, { at: "connecting", first, tries: tries + 1 }, { token, wakeAt });
}

/**
 * Its connection stands: the last moment at which nothing has left, and then the first byte leaves. At the first POST of a command those
 * that it was passed over for end; one that is still confirming gives way in the same turn.
 */
function beginPost(turn: Turn, run: At<"connecting">): void {
  const against = mayPost(turn, run);
  turn.answer = { type: against === null ? "may_leave" : "withheld" };
  if (against !== null) {
    withhold(turn, run, run.first, against);
    return;
  }
  const { command, first, token, place, passedOver } = run;
  const { purpose, address, value } = stepOf(run);
  const { mono, at } = turn.now;
  const attempt = nthOf(first);
  if (attempt === 1 && place === 0) {
    dropPassedOver(turn, passedOver);
    // What is read from now on is the doing of this one.
    leaveSecondLook(turn);
    turn.lane.secondLook = null;
    turn.lane.posts = { ...turn.lane.posts, firstAt: mono };
  }
  if (attempt === 1) turn.effects.push({ type: "phase", command, phase: "sending" });
  reportPost(turn, run, "begins");
  if (purpose === "stop") turn.lane.posts = { ...turn.lane.posts, stopAt: mono };
  goTo(turn, { ...run, sentAt: run.sentAt ?? at }, { at: "posting", first }, { token });
  // Not waited for: the command itself is on disk already, and a restart reads back whatever may have been sent.
  note(turn, { type: "step_sent", ...recordOf(command), purpose, address, value, attempt });
}

/** It grew too old while it waited for its connection. */
function giveUpConnecting(turn: Turn, run: At<"connecting">): void {
  if (!isTooOld(turn, run.command)) return;
  if (run.token !== null) turn.effects.push({ type: "forget", token: run.token });
  withhold(turn, run, run.first, { type: "expired" });
}

/** A stop is not asked for more often than this. */
const unconnectedPauseMs = 1_000;

/** No connection came about. A stop that never left goes out again: at once, then every second, while it is young enough. */
function onUnconnected(turn: Turn, run: At<"connecting">, input: PostAnswer): void {
  const { command, first, tries } = run;
  const { answer } = input;
  const { mono } = turn.now;
  const isLost = answer.type === "error" && lostOnTheWay.has(answer.facts.kind);
  const wakeAt = tries === 1 ? mono : mono + unconnectedPauseMs;
  if (isLost && command.wanted.type === "stop" && !run.cut && wakeAt <= command.deadlineMono) {
    goTo(turn, run, { at: "unconnected", first, tries }, { wakeAt });
    return;
  }
  if (first === null) onFirstAnswer(turn, run, factsOf(answer, 0), input);
  else onSecondAnswer(turn, run, first, first.facts, input);
}

/** The network is to blame, which may be better a moment later. */
const lostOnTheWay: ReadonlySet<PlatformErrorKind> = new Set(["unreachable", "timeout", "interrupted"]);

/** Which POST of the step this is; what never left is none. */
export const nthOf = (first: First | null): number =>
  first === null || first.end?.type === "not_sent" ? 1 : 2;

function reportPost(turn: Turn, { command, steps, place }: Run, moment: "begins" | "ended"): void {
  turn.lane.posts = { ...turn.lane.posts, endedAt: turn.now.mono, unread: true };
  const until = place === steps.length - 1 && moment === "ended" ? (steps[place]?.address ?? null) : null;
  limitsWith(turn, command, afterPost);
  turn.effects.push({ type: "posted", command, between: steps.length > 1 ? { until } : null });
}

type PostAnswer = Extract<Answered, { readonly type: "answered" }>;

function onAnswer(turn: Turn, run: At<"posting">, input: PostAnswer): void {
  const { first } = run;
  const { answer } = input;
  reportPost(turn, run, "ended");
  const before = first?.facts.before ?? input.before;
  const facts = { ...factsOf(answer, nthOf(first)), before };
  const answered = {
    type: "step_answered",
    ...recordOf(run.command),
    address: stepOf(run).address,
    attempt: facts.attempts,
    code: facts.code,
    request_id: facts.requestId,
    error: answer.type === "accepted" ? null : String(answer.message),
    sent: true,
  } as const;
  // What was written before the POST comes to the disk with it, without being waited for.
  note(turn, answered, { durable: true });
  if (first === null) onFirstAnswer(turn, run, facts, input);
  else onSecondAnswer(turn, run, first, { ...facts, readBack: first.facts.readBack }, input);
}

const neverLeft = (answer: Answer): boolean => answer.type === "error" && !answer.facts.sent;

function onFirstAnswer(turn: Turn, run: Run, facts: Evidence, input: PostAnswer): void {
  const { answer, before, sinceOtherMs = null } = input;
  const endedAt = turn.now.mono;
  if (answer.type === "accepted") {
    settle(turn, run, { facts, otherwise: "unconfirmed", earlierRead: null }, endedAt);
    return;
  }
  const end = finalError(answer, facts, sinceOtherMs);
  if (end !== null && answer.facts.kind === "unauthorized" && !run.cut) {
    const token = ask(turn, { type: "renew" });
    goTo(turn, run, { at: "renewing", first: { facts, endedAt, before, end }, end }, { token });
  } else if (end !== null) lastLook(turn, run, end);
  else if (run.cut) stepEnded(turn, run, { type: "interrupted", ...facts });
  else awaitSecond(turn, run, { facts, endedAt, before, end });
}

function onSecondAnswer(turn: Turn, run: Run, first: First, facts: Evidence, input: PostAnswer): void {
  const { answer, sinceOtherMs = null } = input;
  // Where a second POST never left, what the first one came to is as unclear, or as refused, as before.
  const isUnsent = neverLeft(answer);
  if (isUnsent && first.end !== null) {
    stepEnded(turn, run, { ...first.end, readBack: facts.readBack });
    return;
  }
  const end = answer.type === "accepted" || isUnsent ? null : finalError(answer, facts, sinceOtherMs);
  if (end !== null) {
    lastLook(turn, run, end);
    return;
  }
  // Nothing was sent since the read that called for the second POST, so the times of the first one count.
  if (isUnsent) settle(turn, run, { facts, otherwise: "failed", earlierRead: facts.readBack }, first.endedAt);
  else {
    const otherwise = answer.type === "accepted" ? "unconfirmed" : "failed";
    settle(turn, run, { facts, otherwise, earlierRead: null }, turn.now.mono);
  }
}

/** A rejection is told together with one read of what the register holds now. */
function lastLook(turn: Turn, run: Run, end: StepEnd): void {
  const step = stepOf(run);
  if (end.type !== "rejected" || run.cut) {
    stepEnded(turn, run, end.type === "rejected" ? { ...end, readBack: null } : end);
    return;
  }
  const address = proofAddress(run.command.settings, step);
  if (address === null) {
    stepEnded(turn, run, { ...end, readBack: null });
    return;
  }
  const token = ask(turn, { type: "read", command: run.command, address });
  goTo(turn, run, { at: "last_look", end }, { token });
}

/**
 * The step has been sent and is read back; behind the last one the actuator is free for a newer command. `newest` is what a read since has
 * shown that proves nothing.
 */
function settle(turn: Turn, run: Run, after: Confirming, from: number, newest: RawValue | null = null): void {
  const step = stepOf(run);
  if (isLast(run)) {
    turn.effects.push({ type: "phase", command: run.command, phase: "confirming" });
    turn.lane.running = null;
    turn.lane.confirming = run;
  }
  const readBack = readBackFrom(step, run.command.settings, from, turn.now.mono);
  if (run.cut) {
    const sent = {
      readBack: readBack ?? recoveredReadBack(step, run.command.settings, turn.now.mono),
      after,
    };
    stepEnded(
      turn,
      { ...run, at: "confirming", ...sent, token: null, wakeAt: null },
      endOfConfirming("cut", after, null),
    );
  } else if (readBack === null) stepEnded(turn, run, endOfConfirming("over", after, null));
  else confirm(turn, run, { ...readBack, newest }, after);
}

/** Waits for the read under way, or for the time of the next one. */
export function confirm(
  turn: Turn,
  run: Progress,
  readBack: ReadBack,
  after: Confirming,
  token: number | null = null,
): void {
  const wakeAt = token === null ? nextReadAt(readBack) : null;
  goTo(turn, run, { at: "confirming", readBack, after }, { token, wakeAt });
}

export const isLast = ({ place, steps }: Progress): boolean => place === steps.length - 1;

function endOfConfirming(
  how: "shown" | "cut" | "over",
  after: Confirming,
  lastRead: RawValue | null,
): StepEnd {
  const readBack = lastRead ?? after.earlierRead;
  const evidence = { ...after.facts, readBack };
  if (how === "shown") return { type: "confirmed", ...evidence };
  if (how === "cut") return { type: "interrupted", ...evidence };
  return { type: readBack === null ? "unknown" : after.otherwise, ...evidence };
}

/** Begins the read that is due, of whatever is being read back. */
function lookAgain(turn: Turn, run: At<"confirming">): void {
  const { command, readBack, after } = run;
  const { mono } = turn.now;
  const { address } = readBack;
  if (address === null) {
    // It cannot be read back: taken by the platform, it is done as far as anybody can tell.
    stepEnded(turn, run, endOfConfirming(after.otherwise === "unconfirmed" ? "shown" : "over", after, null));
    return;
  }
  const token = ask(turn, { type: "read", command, address });
  const isDue = mono >= readBack.dueAt;
  confirm(turn, run, { ...readBack, readAt: mono, pushedAt: null, pushed: null, isDue }, after, token);
}

function confirmingRead(turn: Turn, run: At<"confirming">, answer: Read): void {
  const { readBack, after } = run;
  const value = answer.type === "value" ? answer : null;
  const isAccepted = after.otherwise === "unconfirmed";
  const facts = { now: turn.now.mono, isAccepted };
  const { shown, next, isOver } = judgeRead(readBack, value, run.command.settings, facts);
  const isTooLate = shown && !readBack.recovered && isProvenLate(run, readBack.from, value?.startedMono);
  if (isTooLate) endHalfWay(turn, run, endOfConfirming("shown", after, next.lastRead));
  else if (isOver) stepEnded(turn, run, endOfConfirming(shown ? "shown" : "over", after, next.lastRead));
  else confirm(turn, run, next, after);
}

const rawOf = (answer: Read): RawValue | null => (answer.type === "value" ? answer.raw : null);

function onRenewed(turn: Turn, run: At<"renewing">, isNew: boolean): void {
  if (isNew) awaitSecond(turn, run, run.first);
  else lastLook(turn, run, run.end);
}

/** What never left is sent again at once. */
function awaitSecond(turn: Turn, run: Run, first: First): void {
  const waits = first.end?.type === "not_sent" ? 0 : Math.max(secondPostMs, run.command.settings.settleMs);
  goTo(turn, run, { at: "before_second", first }, { wakeAt: first.endedAt + waits });
}

/** The time for the read before a second POST has come. */
function lookBeforeSecond(turn: Turn, run: At<"before_second">): void {
  const { command, first } = run;
  const { purpose } = stepOf(run);
  const address = proofAddress(command.settings, stepOf(run));
  if (address === null || (first.end !== null && purpose === "stop")) onReadBeforeSecond(turn, run, null);
  else {
    const token = ask(turn, { type: "read", command, address });
    goTo(turn, run, { at: "before_second", first: { ...first, readFrom: turn.now.mono } }, { token });
  }
}

/** Whether a step is confirmed, sent again, or over with its one POST, by what a read since has shown, or nothing has. */
export function secondPost(
  { settings, force }: Pick<Command, "settings" | "force">,
  step: Step,
  { before, end }: Pick<First, "before" | "end">,
  raw: RawValue | null,
): "confirmed" | "again" | "over" {
  const isRefused = end !== null;
  // After a refusal an old mode, stop value or equal value in the register says nothing about these.
  const hasToBeSent = isRefused && (force || step.purpose !== "value");
  if (raw === null) return isRefused && step.purpose === "stop" ? "again" : "over";
  if (!hasToBeSent && shows(settings, step, raw)) return "confirmed";
  // An idle pulse does not say whether it was taken, and a second one may undo what the first has begun.
  if (!isRefused && isIdlePulse(settings, raw)) return "over";
  return !isRefused && travels(settings, step, before, raw) ? "over" : "again";
}

function onReadBeforeSecond(turn: Turn, run: At<"before_second">, readBack: RawValue | null): void {
  const { command, first } = run;
  const facts = { ...first.facts, readBack };
  const what = secondPost(command, stepOf(run), first, readBack);
  const lagMs = command.settings.flushLagMs ?? 0;
  if (what === "again" && lagMs > 0 && readBack !== null && first.ordered === undefined) {
    const wakeAt = turn.now.mono + lagMs;
    goTo(turn, run, { at: "before_second", first: { ...first, ordered: readBack } }, { wakeAt });
    return;
  }
  if (what === "confirmed" && isProvenLate(run, first.endedAt, first.readFrom))
    endHalfWay(turn, run, { type: "confirmed", ...facts });
  else if (what === "confirmed") stepEnded(turn, run, { type: "confirmed", ...facts });
  else if (what === "again") sendStep(turn, run, { ...first, facts });
  else endWithFirst(turn, run, { ...first, facts });
}

/** The last read is planned for the last moment. */
const timerMs = 1_000;

/** A step before the last that shows, as where the computer slept meanwhile, when nothing may follow it any more. */
function isProvenLate(run: Run, sentAt: number, readFrom = -Infinity): boolean {
  const { settings } = run.command;
  const withinMs = Math.max(confirmWithinMs(settings, stepOf(run)), settings.settleMs);
  return !isLast(run) && readFrom > sentAt + withinMs + timerMs;
}

function endHalfWay(turn: Turn, run: Run, end: StepEnd): void {
  const { command, reports, sentAt } = run;
  const steps = [...reports, stepReport(command.settings, stepOf(run), end)];
  finish(turn, run, { ...provenTooLate, steps, sentAt, requestId: end.requestId, readBack: end.readBack });
}

/** There is no second POST: the step is what the first came to, and what was read since. */
function endWithFirst(turn: Turn, run: Run, { facts, end, endedAt, ordered }: First): void {
  const { readBack } = facts;
  if (end !== null) stepEnded(turn, run, { ...end, readBack });
  else {
    // The one that only ordered what the next shows is older than that.
    const newest = readBack === null ? (ordered ?? null) : null;
    settle(turn, run, { facts, otherwise: "failed", earlierRead: readBack }, endedAt, newest);
  }
}

/** How the step that was sent ends where it is cut off; null where none waits for its end. */
export function endIfCut(run: Run): StepEnd | null {
  if (run.at === "confirming") return endOfConfirming("cut", run.after, run.readBack.lastRead);
  if (run.at === "last_look") return { ...run.end, readBack: null };
  if (run.at === "renewing") return run.end;
  if (run.at !== "before_second" && run.at !== "connecting" && run.at !== "unconnected") return null;
  if (run.first === null) return null;
  const { end, facts } = run.first;
  return end?.type === "not_sent" ? end : { type: "interrupted", ...facts };
}

/** One step has ended: the next one goes, or the command ends. */
export function stepEnded(turn: Turn, run: Run, end: StepEnd): void {
  const { command, place, cut } = run;
  const step = stepOf(run);
  // Of a command of an earlier run no POST may be known.
  const isKnown = end.attempts > 0 || end.type === "not_sent";
  const reports = isKnown ? [...run.reports, stepReport(command.settings, step, end)] : run.reports;
  if (end.type === "confirmed" && !isLast(run)) {
    const next = { ...run, reports, place: place + 1 };
    if (cut) finish(turn, next, cutBetween(next));
    else sendStep(turn, next);
    return;
  }
  const { requestId, readBack } = end;
  const { group } = command.settings;
  const listing = group === undefined ? undefined : turn.now.controller(command.code)?.groups?.get(group);
  const sentAt = end.type === "not_sent" && place === 0 ? null : run.sentAt;
  const ending = {
    ...endingAt(step, end, command.settings, listing),
    requestId,
    readBack,
    steps: reports,
    sentAt,
  };
  if (end.type === "confirmed" && step.purpose === "stop" && !cut)
    readStopped(turn, { ...run, reports }, stateBeside(run), ending);
  else finish(turn, run, ending);
}

/** A stop with an address of its own says nothing of the state, which is another one now. */
const stateBeside = ({ command, steps }: Progress): readonly string[] =>
  stateAddresses(command.settings).filter((address) => steps.every((step) => step.address !== address));

function readStopped(turn: Turn, run: Run, [address, ...left]: readonly string[], ending: Ending): void {
  if (address === undefined) {
    finish(turn, run, ending);
    return;
  }
  const token = ask(turn, { type: "read", command: run.command, address });
  goTo(turn, run, { at: "stopped", left, ending }, { token });
}
