import { expired, shows, type Step, travels } from "../greenhouse/command/plan.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import type { RawValue } from "../greenhouse/ports.js";
import {
  type Answered,
  ask,
  type At,
  type Came,
  type First,
  isSent,
  note,
  type Progress,
  type Run,
  type Turn,
} from "./book.js";
import { type Command, recordOf } from "./command.js";
import {
  type Confirming,
  nextReadAt,
  type Read,
  type ReadBack,
  readBackFrom,
  readBegun,
  seen,
} from "./confirm.js";
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
import { dropPassedOver, finish, goTo, isTooOld, keptBack, readNext, ruledOut } from "./turn.js";

/*
 * From the first POST of a command to its end. There is at most one second POST of a step, of a command that is young
 * enough: after an ambiguous end where a newer read differs and shows no position on its way; after a renewed credential
 * where a newer read differs, of a mode, a lead-in and with `force` whatever it shows, of a stop without a read. A position on its
 * way speaks against the first alone: what was refused was not taken, so what moves obeys an earlier command.
 */

/** No second POST sooner than this after the first. */
const secondPostMs = 5_000;

/** What a command that is being sent, or was sent, was waiting for has come. */
export function sendingGoesOn(turn: Turn, run: Run, came: Came): void {
  if (run.at === "posting" && came.type === "answered") answered(turn, run, came);
  else if (run.at === "confirming" && came.type === "due") lookAgain(turn, run);
  else if (run.at === "confirming" && came.type === "read") confirmingRead(turn, run, came.read);
  else if (run.at === "last_look" && came.type === "read")
    stepEnded(turn, run, { ...run.end, readBack: rawOf(came.read) });
  else if (run.at === "renewing" && came.type === "renewed") renewed(turn, run, came.isNew);
  else if (run.at === "before_second" && came.type === "due") lookBeforeSecond(turn, run);
  else if (run.at === "before_second" && came.type === "read")
    lookedBeforeSecond(turn, run, rawOf(came.read));
  else if (run.at === "stopped" && came.type === "read") readStopped(turn, run, run.left, run.ending);
}

export function stepOf({ steps, place }: Progress): Step {
  const step = steps[place];
  if (step === undefined) throw new Error("a command that is sent has no step to be at");
  return step;
}

/**
 * Sends the step the command stands at; `first` is what a POST of it before came to. At the first of a command one that is still
 * confirming gives way in the same turn.
 */
export function sendStep(turn: Turn, run: Run, first: First | null = null): void {
  const step = stepOf(run);
  const { command } = run;
  const against = isSent(run) ? null : ruledOut(turn, command);
  if (against !== null) {
    finish(turn, run, against);
    return;
  }
  const verdict = turn.limits.mayPost(command, step.purpose === "lead_in");
  if (verdict.type !== "go") {
    keptBack(turn, run, first, verdict);
    return;
  }
  const { unread } = turn.lane.posts;
  if (first === null) beginStep(turn, run);
  posted(turn, run, "begins");
  if (step.purpose === "stop") turn.lane.posts = { ...turn.lane.posts, stopAt: turn.now.mono };
  const token = ask(turn, { type: "post", command, step });
  goTo(turn, { ...run, sentAt: run.sentAt ?? turn.now.at }, { at: "posting", first, unread }, { token });
  // Not waited for: the command itself is on disk already, and a restart reads back whatever may have been sent.
  const { purpose, address, value } = step;
  const attempt = nthOf(first);
  note(turn, { type: "step_sent", ...recordOf(command), purpose, address, value, attempt });
}

const nthOf = (first: First | null): number => (first === null ? 1 : 2);

/** At the first POST of a command those that it was passed over for end, and one that is still confirming gives way. */
function beginStep(turn: Turn, { command, place, passedOver }: Run): void {
  if (place === 0) {
    dropPassedOver(turn, passedOver);
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

function answered(turn: Turn, run: At<"posting">, input: PostAnswer): void {
  const { first, unread } = run;
  const { answer } = input;
  posted(turn, run, "ended");
  // What never left need not be read back, as after a restart.
  if (first === null && neverLeft(answer)) turn.lane.posts = { ...turn.lane.posts, unread };
  const facts = factsOf(answer, nthOf(first));
  note(turn, {
    type: "step_answered",
    ...recordOf(run.command),
    address: stepOf(run).address,
    attempt: facts.attempts,
    code: facts.code,
    request_id: facts.requestId,
    error: answer.type === "accepted" ? null : answer.message,
    sent: !neverLeft(answer),
  });
  if (first === null) firstAnswered(turn, run, facts, input);
  else secondAnswered(turn, run, first, { ...facts, readBack: first.facts.readBack }, answer);
}

const neverLeft = (answer: Answer): boolean => answer.type === "error" && !answer.facts.sent;

function firstAnswered(turn: Turn, run: Run, facts: Evidence, { answer, before }: PostAnswer): void {
  const endedAt = turn.now.mono;
  if (answer.type === "accepted") {
    settle(turn, run, { facts, otherwise: "unconfirmed", earlierRead: null }, endedAt);
    return;
  }
  const end = finalError(answer, facts);
  if (end !== null && answer.facts.kind === "unauthorized" && !run.cut) {
    const token = ask(turn, { type: "renew" });
    goTo(turn, run, { at: "renewing", first: { facts, endedAt, before, end }, end }, { token });
  } else if (end !== null) lastLook(turn, run, end);
  else if (run.cut) stepEnded(turn, run, { type: "interrupted", ...facts });
  else awaitSecond(turn, run, { facts, endedAt, before, end });
}

function secondAnswered(turn: Turn, run: Run, first: First, facts: Evidence, answer: Answer): void {
  // Where a second POST never left, what the first one came to is as unclear, or as refused, as before.
  const isUnsent = neverLeft(answer);
  if (isUnsent && first.end !== null) {
    stepEnded(turn, run, { ...first.end, readBack: facts.readBack, attempts: 2 });
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
  goTo(turn, run, { at: "last_look", end }, { token });
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
  else confirm(turn, run, readBack, after);
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

const isLast = ({ place, steps }: Progress): boolean => place === steps.length - 1;

function evidenced(how: "shown" | "cut" | "over", after: Confirming, lastRead: RawValue | null): StepEnd {
  const readBack = lastRead ?? after.earlierRead;
  const evidence = { ...after.facts, readBack };
  if (how === "shown") return { type: "confirmed", ...evidence };
  if (how === "cut") return { type: "interrupted", ...evidence };
  return { type: readBack === null ? "unknown" : after.otherwise, ...evidence };
}

/** Begins the read that is due, of whatever is being read back. */
function lookAgain(turn: Turn, run: At<"confirming">): void {
  const { readBack, after } = run;
  const token = read(turn, run, readBack.step.address);
  confirm(turn, run, readBegun(readBack, turn.now.mono), after, token);
}

function confirmingRead(turn: Turn, run: At<"confirming">, answer: Read): void {
  const { readBack, after } = run;
  const value = answer.type === "value" ? answer : null;
  const { shown, next, isOver } = seen(readBack, value, run.command.settings, turn.now.mono);
  if (isOver) stepEnded(turn, run, evidenced(shown ? "shown" : "over", after, next.lastRead));
  else confirm(turn, run, next, after);
}

const rawOf = (answer: Read): RawValue | null => (answer.type === "value" ? answer.raw : null);

function renewed(turn: Turn, run: At<"renewing">, isNew: boolean): void {
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
  const { first } = run;
  const step = stepOf(run);
  if (first.end !== null && step.purpose === "stop") lookedBeforeSecond(turn, run, null);
  else goTo(turn, run, { at: "before_second", first }, { token: read(turn, run, step.address) });
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
  return !isRefused && travels(settings, step, before, raw) ? "over" : "again";
}

function lookedBeforeSecond(turn: Turn, run: At<"before_second">, readBack: RawValue | null): void {
  const { command, first } = run;
  const { end, endedAt } = first;
  const facts = { ...first.facts, readBack };
  const what = secondPost(command, stepOf(run), first, readBack);
  if (what === "confirmed") stepEnded(turn, run, { type: "confirmed", ...facts });
  else if (what === "again" && !isTooOld(turn, command)) sendStep(turn, run, { ...first, facts });
  else if (end !== null) stepEnded(turn, run, { ...end, readBack });
  else settle(turn, run, { facts: first.facts, otherwise: "failed", earlierRead: readBack }, endedAt);
}

/** How the step that was sent ends where it is cut off; null where none waits for its end. */
export function endIfCut(run: Run): StepEnd | null {
  if (run.at === "confirming") return evidenced("cut", run.after, run.readBack.lastRead);
  if (run.at === "last_look") return { ...run.end, readBack: null };
  if (run.at === "renewing") return run.end;
  if (run.at !== "before_second") return null;
  const { end, facts } = run.first;
  return end?.type === "not_sent" ? end : { type: "interrupted", ...facts };
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
  const sentAt = end.type === "not_sent" && run.place === 0 ? null : run.sentAt;
  const told: Ending = { ...ending, steps: reports, sentAt };
  if (ending.outcome === "confirmed" && step.purpose === "stop" && !run.cut)
    readStopped(turn, { ...run, reports }, stateBeside(run), told);
  else finish(turn, run, told);
}

function nextStep(turn: Turn, run: Run): void {
  const { command, reports, sentAt } = run;
  const soFar = { steps: reports, sentAt };
  if (run.cut) finish(turn, run, { ...superseded("after_sending"), ...soFar });
  else if (isTooOld(turn, command)) finish(turn, run, { ...expiredMidway, ...soFar });
  else sendStep(turn, run);
}

const expiredMidway: Ending = {
  outcome: "failed",
  reason: "expired_midway",
  message:
    "The command grew older than its max_age half way; the steps told here were done, the rest was not sent.",
};

export const refusedExpired = (): Ending => refused(expired().reason, expired().message);

/** A stop with an address of its own says nothing of the state, which is another one now. */
const stateBeside = ({ command, steps }: Progress): readonly string[] =>
  stateAddresses(command.settings).filter((address) => steps.every((step) => step.address !== address));

function readStopped(turn: Turn, run: Run, addresses: readonly string[], ending: Ending): void {
  const next = readNext(turn, run, addresses);
  if (next === null) finish(turn, run, ending);
  else goTo(turn, run, { at: "stopped", left: next.left, ending }, next);
}
