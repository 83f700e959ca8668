import { ask, type Posts, type Run, type Turn } from "./book.js";
import type { Command } from "./command.js";
import { sendingRecord, takenRecord } from "./taken-record.js";
import { hold } from "./held.js";
import { type Ending, leavesPlace, superseded } from "./report.js";

/* What every part of a turn does to the lane: put a command back, drop those that wait, end one. */

/** The command as it is now, in the place that it has. */
export function put(turn: Turn, run: Run): void {
  const isConfirming = turn.lane.confirming?.command === run.command;
  turn.lane = isConfirming ? { ...turn.lane, confirming: run } : { ...turn.lane, running: run };
}

export function end(turn: Turn, command: Command, ending: Ending): void {
  turn.effects.push({ type: "end", command, ending });
}

/** Ends a command whose turn never came. */
export const endWaiting = (turn: Turn, command: Command, ending: Ending): void => {
  end(turn, command, { ...ending, waited: true });
};

/** Ends those whose place was taken by the one that last had its turn. */
export function dropPassedOver(turn: Turn): void {
  const { waiting, passedOver } = turn.lane;
  turn.lane = { ...turn.lane, waiting: waiting.slice(passedOver), passedOver: 0 };
  for (const command of waiting.slice(0, passedOver)) end(turn, command, superseded("before_sending"));
}

export function dropWaiting(turn: Turn, ending: () => Ending): void {
  const { waiting } = turn.lane;
  turn.lane = { ...turn.lane, waiting: [], passedOver: 0 };
  for (const command of waiting) end(turn, command, ending());
}

function leaveUnread(turn: Turn, { command, stage }: Run): void {
  if (stage.at !== "confirming" && stage.at !== "recovering") return;
  const { unread: raw, step } = stage.readBack;
  if (raw !== null) turn.effects.push({ type: "unread", command, address: step.address, raw });
}

/** Ends a command that was on its way; what the end of the program cut off behind a POST stays open for the next start. */
export function finish(turn: Turn, run: Run, ending: Ending): void {
  const { running, confirming, closed } = turn.lane;
  leaveUnread(turn, run);
  const wasRunning = running?.command === run.command;
  turn.lane = {
    ...turn.lane,
    running: wasRunning ? null : running,
    confirming: confirming?.command === run.command ? null : confirming,
  };
  // Unless a newer command is between steps of its own by now.
  if (run.posted && turn.lane.running?.posted !== true)
    turn.effects.push({ type: "steps_ended", command: run.command });
  if (run.cut && run.posted && closed && ending.outcome === "superseded") return;
  hold(turn, run, ending);
  if (wasRunning && !leavesPlace(ending)) dropPassedOver(turn);
  end(turn, run.heir ?? run.command, ending);
}

/** A command whose turn has come. */
export const starting = (command: Command, posts: Posts): Omit<Run, "stage"> => ({
  command,
  posts,
  ...{ steps: [], place: 0, reports: [], sentAt: null, posted: false, cut: false },
  ...{ heir: null, hasHeirs: true, soFar: {} },
});

/** The first POST waits for the journal: without this record nothing was sent. A stop waits until `until` at most. */
export function journalSending(turn: Turn, run: Run | Omit<Run, "stage">, until: number | null): void {
  const { command } = run;
  const token = ask(turn);
  put(turn, { ...run, stage: { at: "journal", token, until } });
  const taken = takenRecord(command);
  turn.effects.push({
    ...{ type: "journal", record: sendingRecord(command), unlessOpen: taken },
    ...{ durable: true, token },
  });
}
