import { expired, shows, type Step, travels } from "../greenhouse/command/plan.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import type { RawValue } from "../greenhouse/ports.js";
import {
  type Answered,
  ask,
  type At,
  type Attempt,
  isSent,
  note,
  type Refused,
  type Run,
  type Turn,
} from "./book.js";
import { recordOf } from "./command.js";
import { readBackFrom, readNow, seen, type Read, type Confirming } from "./confirm.js";
import {
  type Answer,
  type Ending,
  endingAfter,
  type Evidence,
  factsOf,
  finalError,
  refused,
  type StepEnd,
  stepReport,
  superseded,
} from "./endings.js";
import { dropSecondLook } from "./second-look.js";
import { dropPassedOver, finish, isTooOld, keptBack, put, ruledOut } from "./turn.js";

/*
 * From the first POST of a command to its end. There is at most one second POST of a step, of a command that is young
 * enough: after an ambiguous end where a newer read differs and shows no position on its way; after a renewed credential
 * where a newer read differs, of a mode, a lead-in and with `force` whatever it shows, of a stop without a read.
 */

/** No second POST sooner than this after the first. */
const secondPostMs = 5_000;

export function stepOf({ steps, place }: Run): Step {
  const step = steps[place];
  if (step === undefined) throw new Error("a command that is sent has no step to be at");
  return step;
}

/** Sends the step the command stands at. */
function post(turn: Turn, run: Run, attempt: Attempt): void {
  const step = stepOf(run);
  const { command } = run;
  const against = isSent(run) ? null : ruledOut(turn, command);
  if (against !== null) {
    finish(turn, run, against);
    return;
  }
  const verdict = turn.limits.mayPost(command, step.purpose === "lead_in");
  if (verdict.type !== "go") {
    keptBack(turn, run, attempt, verdict);
    return;
  }
  if (attempt.nth === 1) beginStep(turn, run);
  posted(turn, run, "begins");
  if (step.purpose === "stop") turn.lane.posts = { ...turn.lane.posts, stopAt: turn.now.mono };
  const token = ask(turn, { type: "post", command, step });
  put(turn, { ...run, sentAt: run.sentAt ?? turn.now.at, stage: { at: "posting", token, attempt } });
  // Not waited for: the command itself is on disk already, and a restart reads back whatever may have been sent.
  const { purpose, address, value } = step;
  note(turn, { type: "step_sent", ...recordOf(command), purpose, address, value, attempt: attempt.nth });
}

/** At the first POST of a command those that it was passed over for end, and one that is still confirming gives way. */
function beginStep(turn: Turn, { command, place }: Run): void {
  if (place === 0) {
    dropPassedOver(turn);
    dropSecondLook(turn);
    turn.lane.posts = { ...turn.lane.posts, firstAt: turn.now.mono };
  }
  turn.effects.push({ type: "phase", command, phase: "sending" });
}

function posted(turn: Turn, { command, steps, place }: Run, moment: "begins" | "ended"): void {
  turn.lane.posts = { ...turn.lane.posts, endedAt: turn.now.mono, unread: true };
  const until = place === steps.length - 1 && moment === "ended" ? (steps[place]?.address ?? null) : null;
  turn.effects.push({ type: "posted", command, between: steps.length > 1 ? { until } : null });
}

type PostAnswer = Extract<Answered, { readonly type: "answered" }>;

export function answered(turn: Turn, run: At<"posting">, input: PostAnswer): void {
  const { attempt } = run.stage;
  const step = stepOf(run);
  const { answer } = input;
  posted(turn, run, "ended");
  // What never left need not be read back, as after a restart.
  if (attempt.nth === 1 && answer.type === "error" && !answer.facts.sent)
    turn.lane.posts = { ...turn.lane.posts, unread: attempt.unread };
  const facts = factsOf(answer, attempt.nth);
  note(turn, {
    type: "step_answered",
    ...recordOf(run.command),
    address: step.address,
    attempt: attempt.nth,
    code: facts.code,
    request_id: facts.requestId,
    error: answer.type === "accepted" ? null : answer.message,
    sent: answer.type === "accepted" || answer.facts.sent,
  });
  if (attempt.nth === 1) first(turn, run, facts, input);
  else second(turn, run, attempt, { ...facts, readBack: attempt.readBack }, answer);
}

function first(turn: Turn, run: At<"posting">, facts: Evidence, { answer, before }: PostAnswer) {
  const endedAt = turn.now.mono;
  if (answer.type === "accepted") {
    settle(turn, run, { facts, otherwise: "unconfirmed", earlierRead: null }, endedAt);
    return;
  }
  const end = finalError(answer, facts);
  if (end !== null && answer.facts.kind === "unauthorized" && !run.cut) {
    const token = ask(turn, { type: "renew" });
    put(turn, { ...run, stage: { at: "renewing", token, first: { facts, endedAt, before, end } } });
  } else if (end !== null) lastLook(turn, run, end);
  else if (run.cut) stepEnded(turn, run, { type: "interrupted", ...facts });
  else {
    const until = endedAt + Math.max(secondPostMs, run.command.settings.settleMs);
    put(turn, { ...run, stage: { at: "unclear", until, token: null, first: { facts, endedAt, before } } });
  }
}

type SecondPost = Extract<Attempt, { readonly nth: 2 }>;

function second(turn: Turn, run: Run, { ifUnsent }: SecondPost, facts: Evidence, answer: Answer): void {
  // Where a second POST never left, what the first one came to is as unclear, or as refused, as before.
  const isUnsent = answer.type === "error" && !answer.facts.sent;
  if (isUnsent && ifUnsent !== null) {
    stepEnded(turn, run, { ...ifUnsent, attempts: 2 });
    return;
  }
  const end = answer.type === "accepted" || isUnsent ? null : finalError(answer, facts);
  if (end !== null) {
    lastLook(turn, run, end);
    return;
  }
  const otherwise = answer.type === "accepted" ? "unconfirmed" : "failed";
  settle(turn, run, { facts, otherwise, earlierRead: null }, turn.now.mono);
}

/** A rejection is told together with one read of what the register holds now. */
function lastLook(turn: Turn, run: Run, end: StepEnd): void {
  const step = stepOf(run);
  if (end.type !== "rejected" || run.cut) {
    stepEnded(turn, run, end.type === "rejected" ? { ...end, readBack: null } : end);
    return;
  }
  const token = read(turn, run, step.address);
  put(turn, { ...run, stage: { at: "last_look", token, end } });
}

const read = (turn: Turn, { command }: Run, address: string): number =>
  ask(turn, { type: "read", command, address });

/** The step has been sent and is read back; behind the last one the actuator is free for a newer command. */
function settle(turn: Turn, run: Run, after: Confirming, from: number): void {
  const step = stepOf(run);
  if (isLast(run)) {
    turn.effects.push({ type: "phase", command: run.command, phase: "confirming" });
    turn.lane.running = null;
    turn.lane.confirming = run;
  }
  const readBack = readBackFrom(step, run.command.settings, from, turn.now.mono);
  if (run.cut || readBack === null) stepEnded(turn, run, evidenced(run.cut ? "cut" : "over", after, null));
  else put(turn, { ...run, stage: { at: "confirming", readBack, after } });
}

const isLast = ({ place, steps }: Run): boolean => place === steps.length - 1;

export function evidenced(
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
export function lookAgain(turn: Turn, run: At<"confirming">): void {
  const { readBack } = run.stage;
  const reading = readNow(readBack, turn.now.mono, turn.book.asked + 1);
  if (reading === null) return;
  read(turn, run, readBack.step.address);
  put(turn, { ...run, stage: { ...run.stage, readBack: reading } });
}

export function confirmingRead(turn: Turn, run: At<"confirming">, answer: Read): void {
  const { readBack, after } = run.stage;
  const value = answer.type === "value" ? answer : null;
  const { shown, next, isOver } = seen(readBack, value, run.command.settings, turn.now.mono);
  if (isOver) stepEnded(turn, run, evidenced(shown ? "shown" : "over", after, next.lastRead));
  else put(turn, { ...run, stage: { ...run.stage, readBack: next } });
}

export function lastLookRead(turn: Turn, run: At<"last_look">, answer: Read): void {
  stepEnded(turn, run, { ...run.stage.end, readBack: rawOf(answer) });
}

const rawOf = (answer: Read): RawValue | null => (answer.type === "value" ? answer.raw : null);

/** The time for the read before a second POST has come. */
export function lookBeforeRetry(turn: Turn, run: At<"unclear"> | At<"renewed">): void {
  const { stage } = run;
  const step = stepOf(run);
  if (stage.token !== null || turn.now.mono < stage.until) return;
  if (stage.at === "renewed" && step.purpose === "stop") {
    renewedRead(turn, { ...run, stage }, null);
    return;
  }
  const token = read(turn, run, step.address);
  put(turn, { ...run, stage: { ...stage, token } });
}

/** After an ambiguous POST: sent again only where a newer read shows that it was not taken. */
export function unclearRead(turn: Turn, run: At<"unclear">, answer: Read): void {
  const { command } = run;
  const { facts, endedAt, before } = run.stage.first;
  const step = stepOf(run);
  const readBack = rawOf(answer);
  if (readBack !== null && shows(command.settings, step, readBack)) {
    stepEnded(turn, run, { type: "confirmed", ...facts, readBack });
    return;
  }
  const isTaken = readBack !== null && travels(command.settings, step, before, readBack);
  if (isTaken || readBack === null || isTooOld(turn, command))
    settle(turn, run, { facts, otherwise: "failed", earlierRead: readBack }, endedAt);
  else post(turn, run, { nth: 2, readBack, ifUnsent: null });
}

export function renewed(turn: Turn, run: At<"renewing">, isNew: boolean): void {
  const { first } = run.stage;
  if (!isNew) {
    lastLook(turn, run, first.end);
    return;
  }
  const waits =
    first.end.type === "rejected" ? Math.max(secondPostMs, run.command.settings.settleMs) : -Infinity;
  const until = first.endedAt + waits;
  put(turn, { ...run, stage: { at: "renewed", until, token: null, first } });
}

export function renewedRead(turn: Turn, run: At<"renewed">, answer: Read | null): void {
  const { command } = run;
  const { end, facts }: Refused = run.stage.first;
  const step = stepOf(run);
  const readBack = answer === null ? null : rawOf(answer);
  // An old mode, stop value or equal value in the register says nothing about these.
  const hasToBeSent = command.force || step.purpose !== "value";
  if (readBack !== null && !hasToBeSent && shows(command.settings, step, readBack))
    stepEnded(turn, run, { type: "confirmed", ...facts, readBack });
  else if (isTooOld(turn, command) || (readBack === null && step.purpose !== "stop"))
    stepEnded(turn, run, { ...end, readBack });
  else post(turn, run, { nth: 2, readBack, ifUnsent: { ...end, readBack } });
}

/** One step has ended: the next one goes, or the command ends. */
export function stepEnded(turn: Turn, run: Run, end: StepEnd): void {
  const step = stepOf(run);
  // Of a command of an earlier run no POST may be known.
  const isKnown = end.attempts > 0;
  const reports = isKnown ? [...run.reports, stepReport(run.command.settings, step, end)] : run.reports;
  const ending = endingAfter(step, end, isLast(run));
  if (ending === null) {
    nextStep(turn, { ...run, reports, place: run.place + 1 });
    return;
  }
  const neverLeft = end.type === "not_sent" && run.place === 0;
  const told: Ending = { ...ending, steps: reports, sentAt: neverLeft ? null : run.sentAt };
  if (ending.outcome === "confirmed" && step.purpose === "stop" && !run.cut)
    readStopped(turn, { ...run, reports }, told);
  else finish(turn, run, told);
}

function nextStep(turn: Turn, run: Run): void {
  const { command, reports, sentAt } = run;
  const soFar = { steps: reports, sentAt };
  if (run.cut) finish(turn, run, { ...superseded("after_sending"), ...soFar });
  else if (isTooOld(turn, command)) finish(turn, run, { ...expiredMidway, ...soFar });
  else sendStep(turn, run);
}

/** The first POST of a step; at that of a command one that is still confirming gives way in the same turn. */
export function sendStep(turn: Turn, run: Run): void {
  post(turn, run, { nth: 1, unread: turn.lane.posts.unread });
}

const expiredMidway: Ending = {
  outcome: "failed",
  reason: "expired_midway",
  message:
    "The command grew older than its max_age half way; the steps told here were done, the rest was not sent.",
};

export const refusedExpired = (): Ending => refused(expired().reason, expired().message);

/** A stop with an address of its own says nothing of the state, which is another one now. */
function readStopped(turn: Turn, run: Run, ending: Ending): void {
  const left = stateAddresses(run.command.settings).filter((address) =>
    run.steps.every((step) => step.address !== address),
  );
  nextStopped(turn, run, left, ending);
}

function nextStopped(turn: Turn, run: Run, left: readonly string[], ending: Ending): void {
  const [address, ...rest] = left;
  if (address === undefined) {
    finish(turn, run, ending);
    return;
  }
  const token = read(turn, run, address);
  put(turn, { ...run, stage: { at: "stopped", token, left: rest, ending } });
}

export function stoppedRead(turn: Turn, run: At<"stopped">): void {
  nextStopped(turn, run, run.stage.left, run.stage.ending);
}
