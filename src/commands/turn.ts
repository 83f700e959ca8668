import { stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { CommandTaken } from "../journal/records.js";
import {
  ask,
  type First,
  isSent,
  type Posts,
  type Progress,
  type Run,
  type Stage,
  type Turn,
  type Waits,
} from "./book.js";
import { recordOf, type Command } from "./command.js";
import {
  bridgeReadOnly,
  dryByNow,
  type Ending,
  interlocked,
  refused,
  stepReport,
  superseded,
  wantedValue,
} from "./endings.js";
import { isReadOnlyFor } from "./intake.js";
import { limitsWithSending } from "./limits.js";
import { endCommand } from "./results.js";
import { planSecondLook } from "./later-reads.js";

/** What the journal has to know of a command, so that the next start can find out what became of it. */
export function takenRecord(
  command: Command,
  more: Pick<CommandTaken, "dry_run" | "took_over"> = {},
): CommandTaken {
  const { settings, wanted } = command;
  return {
    type: "command_taken",
    ...recordOf(command),
    command: canonical(wanted),
    value: wantedValue(wanted),
    steps: stepsOf(settings, wanted, null),
    by: command.by,
    via: command.via,
    payload_hash: command.payloadKey,
    received_at: new Date(command.receivedAt).toISOString(),
    // What a rule sends grows not old.
    max_age_ms: command.rule === null ? Math.round(command.deadlineMono - command.receivedMono) : 0,
    force: command.force,
    own_id: command.ownId,
    ...more,
  };
}

/* What every part of a turn does to the lane: put a command back, drop those that wait, end one. */

/** The command as it is now, in the place that it has. */
export function put(turn: Turn, run: Run): void {
  const isConfirming = turn.lane.confirming?.command === run.command;
  turn.lane[isConfirming ? "confirming" : "running"] = run;
}

/** Goes on to this stage. */
export function goTo(
  turn: Turn,
  run: Progress,
  stage: Stage,
  { token = null, wakeAt = null }: Partial<Waits>,
): void {
  const { command, posts, passedOver, steps, place, reports, sentAt, cut } = run;
  const progress = { command, posts, passedOver, steps, place, reports, sentAt, cut };
  put(turn, { ...progress, token, wakeAt, ...stage });
}

/** Reads the next of these addresses; null when there is none left. */
export function readNext(turn: Turn, { command }: Progress, [address, ...left]: readonly string[]) {
  return address === undefined
    ? null
    : { token: ask(turn, { type: "read", command, address }), address, left };
}

/** Ends a command whose turn never came. */
export const endWaiting = (turn: Turn, command: Command, ending: Ending): void => {
  endCommand(turn, command, { ...ending, waited: true });
};

/** Ends those of them that wait still: a newer one took their place. */
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

/** Ends a command that was on its way; what the end of the program cut off behind a POST stays open for the next start. */
export function finish(turn: Turn, run: Run, ending: Ending): void {
  const { running, confirming } = turn.lane;
  const { command } = run;
  if (run.at === "confirming" && run.readBack.pushed !== null) {
    const { pushed: raw, step } = run.readBack;
    turn.effects.push({ type: "pushed", command, address: step.address, raw });
  }
  const wasRunning = running?.command === run.command;
  if (wasRunning) turn.lane.running = null;
  if (confirming?.command === run.command) turn.lane.confirming = null;
  const newer = turn.lane.running;
  // Unless a newer command is between steps of its own by now.
  if (isSent(run) && !(newer && isSent(newer)))
    turn.effects.push({ type: "steps_ended", command, degree: confirmedDegree(run, ending) });
  if (run.cut && isSent(run) && turn.book.closed && ending.outcome === "superseded") {
    turn.lane.left = [...turn.lane.left, run];
    return;
  }
  planSecondLook(turn, run, ending);
  // Neither a dry run nor what is refused takes the place of those that waited with it.
  if (wasRunning && !command.dryRun && ending.outcome !== "refused") dropPassedOver(turn, run.passedOver);
  endCommand(turn, command, ending);
}

const confirmedDegree = ({ command: { wanted } }: Run, { outcome }: Ending): number | null =>
  wanted.type === "position" && outcome === "confirmed" ? wanted.degree : null;

/** Its time to be sent is over: nothing of it may be POSTed any more. */
export const isTooOld = ({ now }: Turn, { deadlineMono }: Command): boolean => now.mono > deadlineMono;

/** What the configuration says by now against a command of which nothing was sent; null for nothing. */
export function ruledOut({ now }: Turn, { dryRun, rule }: Command): Ending | null {
  const rules = now.rules?.();
  if (rules !== undefined && isReadOnlyFor(rule, rules))
    return refused(bridgeReadOnly.reason, bridgeReadOnly.message);
  return rules?.dry_run === true && !dryRun ? dryByNow : null;
}

/** The limits forbid this POST: nothing was sent, or what was sent stays told. */
export function keptBack(
  turn: Turn,
  run: Run,
  first: First | null,
  rule: { readonly message: string; readonly interlock: Interlock },
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

/** A command whose turn has come. */
export const starting = (command: Command, posts: Posts, passedOver: readonly Command[] = []): Progress => ({
  command,
  posts,
  passedOver,
  steps: [],
  place: 0,
  reports: [],
  sentAt: null,
  cut: false,
});

/** A disk that hangs must not hold up a stop, nor what a rule sends. */
export const urgentWaitsMs = 200;

/** The first byte of the first POST waits until this record is on disk; that of a stop, and of what a rule sends, until `wakeAt` at most. */
export function journalSending(turn: Turn, run: Progress, wakeAt: number | null): void {
  const { command } = run;
  limitsWithSending(turn, command);
  const token = ask(turn, {
    type: "journal",
    record: { type: "phase", ...recordOf(command), phase: "sending" },
    durable: true,
    unlessOpen: takenRecord(command),
  });
  goTo(turn, run, { at: "journal" }, { token, wakeAt });
}
