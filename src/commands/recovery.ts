import type { RawValue } from "../greenhouse/ports.js";
import type { Read, Run, Stage, Turn } from "./book.js";
import type { Interrupted } from "./command.js";
import { recoveredReadBack, seen } from "./confirm.js";
import { type Ending, endingAfter, type SentSoFar, shuttingDown, stepReport, superseded } from "./endings.js";
import { stepEnded } from "./sending.js";
import { finish, put, starting } from "./turn.js";

/** The end of a command of an earlier run, by reading alone: nothing is ever sent. */
function recoveredEnd(
  one: Interrupted,
  type: "confirmed" | "interrupted" | "unknown" | "unconfirmed" | "failed",
  readBack: RawValue | null,
): Ending {
  const { step, attempts, code, requestId } = one;
  const evidence = { type, attempts, code, requestId, readBack };
  const ending = endingAfter(step, evidence, true) ?? {
    outcome: "unknown" as const,
    reason: null,
    message: null,
  };
  const message = type === "failed" && attempts === 0 ? notSentYet(one, readBack) : ending.message;
  return { ...ending, message, ...sentBefore(one, readBack) };
}

/** What the last run is known to have sent. */
function sentBefore(one: Interrupted, readBack: RawValue | null): SentSoFar {
  const { command, step, earlier, attempts, code, requestId, sentAt } = one;
  const evidence = { type: "interrupted" as const, attempts, code, requestId, readBack };
  const last = attempts === 0 ? [] : [stepReport(command.settings, step, evidence)];
  return { steps: [...earlier, ...last], sentAt, requestId };
}

const notSentYet = ({ step }: Interrupted, readBack: RawValue | null) =>
  `The bridge was stopped before ${step.value} was sent to address ${step.address}, and the platform shows "${String(readBack)}": it did not happen. Send it again if it is still wanted.`;

/** Takes up what an earlier run left open: it is read back while newer commands may come, and nothing is sent. */
export function adopt(turn: Turn, interrupted: Interrupted): void {
  const { command, step, attempts } = interrupted;
  const { mono } = turn.now;
  // The last run died when this one was about to be sent in the place of another that was still confirming.
  if (turn.lane.confirming) cut(turn, turn.lane.confirming);
  const readBack = recoveredReadBack(step, mono);
  turn.lane = {
    ...turn.lane,
    // How long ago the last run sent it, no clock tells: it may be moving as if it had been sent just now.
    posts: { ...turn.lane.posts, endedAt: mono, unread: true },
    confirming: {
      ...starting(command, turn.lane.posts),
      posted: true,
      hasHeirs: attempts > 0,
      soFar: sentBefore(interrupted, null),
      stage: { at: "recovering", readBack, interrupted },
    },
  };
  turn.effects.push({ type: "phase", command, phase: "confirming" });
}

type Recovering = Run & { readonly stage: Extract<Stage, { readonly at: "recovering" }> };

export function recoveredRead(turn: Turn, run: Recovering, read: Read): void {
  const { readBack, interrupted } = run.stage;
  const value = read.type === "value" ? read : null;
  const { shown, next: later, isOver } = seen(readBack, value, run.command.settings, turn.now.mono);
  if (isOver)
    finish(
      turn,
      run,
      recoveredEnd(interrupted, recoveredAs(shown, later.lastRead, interrupted), later.lastRead),
    );
  else put(turn, { ...run, stage: { ...run.stage, readBack: later } });
}

function recoveredAs(shown: boolean, lastRead: RawValue | null, { code }: Interrupted) {
  if (shown) return "confirmed";
  if (lastRead === null) return "unknown";
  return code === "200" ? "unconfirmed" : "failed";
}

/* What becomes of a command on its way that a stop, a newer command or the end of the program cuts off. */

/** The question whose answer the command waits for; null while it waits for none. */
export const waitsFor = ({ stage }: Run): number | null => {
  if (stage.at === "confirming" || stage.at === "recovering") return stage.readBack.reading?.token ?? null;
  return stage.at === "journal" ? null : stage.token;
};

/** Gives a command up. A POST in flight is never broken off, as what it did would be unknown. */
export function cut(turn: Turn, run: Run): void {
  const { stage } = run;
  const isStop = run.command.wanted.type === "stop";
  const isStopOnItsWay = stage.at === "journal" && isStop && !turn.book.closed;
  if (run.cut || isStopOnItsWay) return;
  const given = { ...run, cut: true };
  if (stage.at === "posting") {
    put(turn, given);
    return;
  }
  const token = waitsFor(run);
  if (token !== null) turn.effects.push({ type: "forget", token });
  givenUp(turn, given);
}

function givenUp(turn: Turn, run: Run): void {
  const { stage } = run;
  switch (stage.at) {
    case "connection":
    case "checking":
    case "journal":
      finish(turn, run, turn.book.closed ? shuttingDown() : superseded("before_sending"));
      return;
    case "confirming": {
      const { readBack, after } = stage;
      const last = readBack.lastRead ?? after.earlierRead;
      stepEnded(turn, run, { type: "interrupted", ...after.facts, readBack: last });
      return;
    }
    case "last_look":
      stepEnded(turn, run, { ...stage.end, readBack: null });
      return;
    case "unclear":
      stepEnded(turn, run, { type: "interrupted", ...stage.first.facts });
      return;
    case "renewing":
      stepEnded(turn, run, stage.first.end);
      return;
    case "renewed":
      stepEnded(
        turn,
        run,
        stage.first.sent ? { type: "interrupted", ...stage.first.facts } : stage.first.end,
      );
      return;
    case "recovering":
      finish(turn, run, recoveredEnd(stage.interrupted, "interrupted", stage.readBack.lastRead));
      return;
    case "stopped":
      finish(turn, run, stage.ending);
      return;
    case "posting":
  }
}
