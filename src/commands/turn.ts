import { stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { CommandTaken, PhaseEntered } from "../journal/records.js";
import { ask, type Attempt, isSent, type Posts, type Run, type Turn } from "./book.js";
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
import { end } from "./results.js";
import { planSecondLook } from "./second-look.js";

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

/** On disk before the first byte of the first POST; a stop, and what a rule sends, do not wait for it. */
const sendingRecord = (command: Command): PhaseEntered => ({
  type: "phase",
  ...recordOf(command),
  phase: "sending",
});

/* What every part of a turn does to the lane: put a command back, drop those that wait, end one. */

/** The command as it is now, in the place that it has. */
export function put(turn: Turn, run: Run): void {
  const isConfirming = turn.lane.confirming?.command === run.command;
  turn.lane[isConfirming ? "confirming" : "running"] = run;
}

/** Ends a command whose turn never came. */
export const endWaiting = (turn: Turn, command: Command, ending: Ending): void => {
  end(turn, command, { ...ending, waited: true });
};

/** Ends those whose place was taken by the one that last had its turn. */
export function dropPassedOver(turn: Turn): void {
  const { waiting, passedOver } = turn.lane;
  turn.lane.waiting = waiting.slice(passedOver);
  turn.lane.passedOver = 0;
  for (const command of waiting.slice(0, passedOver)) end(turn, command, superseded("before_sending"));
}

export function dropWaiting(turn: Turn, ending: () => Ending): void {
  const { waiting } = turn.lane;
  turn.lane.waiting = [];
  turn.lane.passedOver = 0;
  for (const command of waiting) end(turn, command, ending());
}

function leaveUnread(turn: Turn, { command, stage }: Run): void {
  if (stage.at !== "confirming") return;
  const { pushed: raw, step } = stage.readBack;
  if (raw !== null) turn.effects.push({ type: "pushed", command, address: step.address, raw });
}

/** Ends a command that was on its way; what the end of the program cut off behind a POST stays open for the next start. */
export function finish(turn: Turn, run: Run, ending: Ending): void {
  const { running, confirming } = turn.lane;
  leaveUnread(turn, run);
  const wasRunning = running?.command === run.command;
  if (wasRunning) turn.lane.running = null;
  if (confirming?.command === run.command) turn.lane.confirming = null;
  const newer = turn.lane.running;
  // Unless a newer command is between steps of its own by now.
  if (isSent(run) && !(newer && isSent(newer)))
    turn.effects.push({ type: "steps_ended", command: run.command });
  if (run.cut && isSent(run) && turn.book.closed && ending.outcome === "superseded") return;
  planSecondLook(turn, run, ending);
  // Neither a dry run nor what is refused takes the place of those that waited with it.
  if (wasRunning && !run.command.dryRun && ending.outcome !== "refused") dropPassedOver(turn);
  end(turn, run.command, ending);
}

/** Its time to be sent is over: nothing of it may be POSTed any more. */
export const isTooOld = ({ now }: Turn, { deadlineMono }: Command): boolean => now.mono > deadlineMono;

/** What the configuration says by now against a command of which nothing was sent; null for nothing. */
export function ruledOut({ now: { rules } }: Turn, { dryRun }: Command): Ending | null {
  if (rules?.read_only === true) return refused(bridgeReadOnly.reason, bridgeReadOnly.message);
  return rules?.dry_run === true && !dryRun ? dryByNow : null;
}

/** The limits forbid this POST: nothing was sent, or what was sent stays told. */
export function keptBack(
  turn: Turn,
  run: Run,
  attempt: Attempt,
  rule: { readonly message: string; readonly interlock: Interlock },
): void {
  const { stage, command, reports, place } = run;
  const step = run.steps[place];
  const isUnsent = place === 0 && (attempt.nth === 1 || attempt.ifUnsent?.type === "not_sent");
  if (isUnsent || step === undefined) {
    finish(turn, run, interlocked(rule));
    return;
  }
  // What is unclear at a first POST is the step before.
  const readBack = attempt.nth === 2 ? attempt.readBack : null;
  const isAgain = attempt.nth === 2 && (stage.at === "unclear" || stage.at === "renewed");
  const first = isAgain ? stage.first.facts : null;
  const last =
    first === null ? [] : [stepReport(command.settings, step, { type: "interrupted", ...first, readBack })];
  finish(turn, run, {
    ...{ outcome: "failed", reason: "interlock", message: rule.message, interlock: rule.interlock },
    ...{ steps: [...reports, ...last], sentAt: run.sentAt, readBack, requestId: first?.requestId ?? null },
  });
}

/** A command whose turn has come. */
export const starting = (command: Command, posts: Posts): Omit<Run, "stage"> => ({
  command,
  posts,
  steps: [],
  place: 0,
  reports: [],
  sentAt: null,
  cut: false,
});

/** A disk that hangs must not hold up a stop, nor what a rule sends. */
export const urgentWaitsMs = 200;

/** The first POST waits for this record; a stop, and what a rule sends, until `until` at most. */
export function journalSending(turn: Turn, run: Run | Omit<Run, "stage">, until: number | null): void {
  const { command } = run;
  const token = ask(turn, {
    type: "journal",
    record: sendingRecord(command),
    durable: true,
    unlessOpen: takenRecord(command),
    sending: command,
  });
  put(turn, { ...run, stage: { at: "journal", token, until } });
}
