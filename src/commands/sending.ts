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
 * From a command's first POST to its end. A step has at most one second POST, if the command is young enough. After an
 * ambiguous end it needs a newer read that differs and shows no position on its way. After a renewed credential it
 * needs a newer read that differs; modes, lead-ins and `force` go whatever it shows, stops without a read. There a
 * position on its way does not count: what was refused was not accepted, so the movement obeys an earlier command.
 */

/** The shortest time between the first and the second POST. */
const secondPostMs = 5_000;

/** Moves a command on that is being sent, or was sent, with what it was waiting for. */
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

/** Whether its time to be sent is over: no POST of it may begin any more. */
export const isTooOld = ({ now }: Turn, { deadlineMono }: Command): boolean => now.mono > deadlineMono;

/** Why a command of which nothing was sent is ruled out by now, whatever held on acceptance; null for nothing. */
export function ruledOut({ now, lane }: Turn, { id, dryRun, rule }: Command): Ending | null {
  // The lease that it was to end is over already: somebody moved the actuator.
  if (rule === "lease" && lane.limits?.lease?.end.id !== id) return leaseOver;
  const { rules } = now;
  if (isReadOnlyFor(rule, rules)) {
    const { reason, message } = bridgeReadOnly(rules.readOnlyBecause);
    return refused(reason, message);
  }
  return rules.dry_run && !dryRun ? dryByNow : null;
}

/** What forbids a POST. */
type Against =
  | { readonly type: "expired" }
  | { readonly type: "ruled_out"; readonly ending: Ending }
  | { readonly type: "limits"; readonly rule: { readonly message: Text; readonly interlock: Interlock } };

/**
 * Why the command's next POST may not leave now; null if it may. Judged when a connection is requested, and again
 * before the first byte: a storm may have begun meanwhile.
 */
function mayPost(turn: Turn, run: Run): Against | null {
  const { command } = run;
  const ending = isSent(run) ? null : ruledOut(turn, command);
  if (ending !== null) return { type: "ruled_out", ending };
  if (isTooOld(turn, command)) return { type: "expired" };
  const verdict = limitsVerdict(turn, command, stepOf(run).purpose === "lead_in" ? "lead_in" : "post");
  return verdict.type === "go" ? null : { type: "limits", rule: verdict };
}

/** Ends the command without this POST, or by its first one. Nothing of this POST has left, and nothing will. */
function withhold(turn: Turn, run: Run, first: First | null, against: Against): void {
  const { place, reports, sentAt } = run;
  if (against.type === "limits") keptBack(turn, run, first, against.rule);
  else if (against.type === "ruled_out") finish(turn, run, against.ending);
  else if (first !== null) endWithFirst(turn, run, first);
  else if (place === 0) finish(turn, run, refusedExpired());
  else finish(turn, run, { ...expiredMidway, steps: reports, sentAt });
}

/** The limits forbid this POST; the result lists earlier steps that were sent. */
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
  // At a first POST only the step before can be unclear.
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
 * Requests a connection for the command's present step. `first`: the outcome of an earlier POST; `tries`: attempts
 * without a connection.
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
 * The connection stands: the last moment before the first byte leaves. At a command's first POST those passed over for
 * it end, and one that still confirms gives way in the same turn.
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
    // Reads from now on show the effect of this command.
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

/** It became too old while it waited for its connection. */
function giveUpConnecting(turn: Turn, run: At<"connecting">): void {
  if (!isTooOld(turn, run.command)) return;
  if (run.token !== null) turn.effects.push({ type: "forget", token: run.token });
  withhold(turn, run, run.first, { type: "expired" });
}

/** The shortest time between connection attempts of a stop. */
const unconnectedPauseMs = 1_000;

/**
 * No connection came about. A stop that never left is tried again, at once and then every second, while young enough.
 */
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

/** Errors of the network, which may work again a moment later. */
const lostOnTheWay: ReadonlySet<PlatformErrorKind> = new Set(["unreachable", "timeout", "interrupted"]);

/** The number of this POST within its step; one that never left does not count. */
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
  // Records written before the POST are saved along with it, without waiting.
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
  // If a second POST never left, the first one's outcome stays as unclear, or as refused, as before.
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
  // Nothing was sent since the read that called for the second POST, so the first one's times count.
  if (isUnsent) settle(turn, run, { facts, otherwise: "failed", earlierRead: facts.readBack }, first.endedAt);
  else {
    const otherwise = answer.type === "accepted" ? "unconfirmed" : "failed";
    settle(turn, run, { facts, otherwise, earlierRead: null }, turn.now.mono);
  }
}

/** After a rejection reads the register once, for the result. */
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
 * Reads the sent step back; after the last step the actuator is free for a newer command. `newest`: a value read since,
 * which proves nothing.
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

/** Begins the read that is due. */
function lookAgain(turn: Turn, run: At<"confirming">): void {
  const { command, readBack, after } = run;
  const { mono } = turn.now;
  const { address } = readBack;
  if (address === null) {
    // It cannot be read back: once the platform accepted it, it counts as done.
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

/** Waits for the second POST; one that never left is repeated at once. */
function awaitSecond(turn: Turn, run: Run, first: First): void {
  const waits = first.end?.type === "not_sent" ? 0 : Math.max(secondPostMs, run.command.settings.settleMs);
  goTo(turn, run, { at: "before_second", first }, { wakeAt: first.endedAt + waits });
}

/** Reads before a second POST. */
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

/**
 * Whether a step is confirmed, sent again, or over with its one POST. `raw`: what a read since has shown; null if none
 * was made or it failed.
 */
export function secondPost(
  { settings, force }: Pick<Command, "settings" | "force">,
  step: Step,
  { before, end }: Pick<First, "before" | "end">,
  raw: RawValue | null,
): "confirmed" | "again" | "over" {
  const isRefused = end !== null;
  // After a refusal an old mode, stop value or equal value in the register proves nothing for these steps.
  const hasToBeSent = isRefused && (force || step.purpose !== "value");
  if (raw === null) return isRefused && step.purpose === "stop" ? "again" : "over";
  if (!hasToBeSent && shows(settings, step, raw)) return "confirmed";
  // An idle pulse does not show whether it was accepted, and a second one may undo the first.
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

/** Allowance for the last read, which is planned for the last moment. */
const timerMs = 1_000;

/** Whether a step before the last showed only when nothing may follow it any more, such as after the computer slept. */
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

/** Ends the step without a second POST, by the first one's outcome and the reads since. */
function endWithFirst(turn: Turn, run: Run, { facts, end, endedAt, ordered }: First): void {
  const { readBack } = facts;
  if (end !== null) stepEnded(turn, run, { ...end, readBack });
  else {
    // The read that only ordered the next one's value is the older.
    const newest = readBack === null ? (ordered ?? null) : null;
    settle(turn, run, { facts, otherwise: "failed", earlierRead: readBack }, endedAt, newest);
  }
}

/** How a sent step ends if it is cut off; null if nothing of it is awaited. */
export function endIfCut(run: Run): StepEnd | null {
  if (run.at === "confirming") return endOfConfirming("cut", run.after, run.readBack.lastRead);
  if (run.at === "last_look") return { ...run.end, readBack: null };
  if (run.at === "renewing") return run.end;
  if (run.at !== "before_second" && run.at !== "connecting" && run.at !== "unconnected") return null;
  if (run.first === null) return null;
  const { end, facts } = run.first;
  return end?.type === "not_sent" ? end : { type: "interrupted", ...facts };
}

/** A step has ended: the next one follows, or the command ends. */
export function stepEnded(turn: Turn, run: Run, end: StepEnd): void {
  const { command, place, cut } = run;
  const step = stepOf(run);
  // A command of an earlier run may have no recorded POST.
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

/** The state addresses beside a stop's own address, which does not show the changed state. */
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
