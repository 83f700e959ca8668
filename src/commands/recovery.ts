import type { Run, Stage, Turn } from "./book.js";
import type { Interrupted } from "./command.js";
import { recoveredReadBack } from "./confirm.js";
import { shuttingDown, type StepEnd, superseded } from "./endings.js";
import { recognise } from "./results.js";
import { evidenced, stepEnded } from "./sending.js";
import { finish, put, starting } from "./turn.js";

/** Takes up what an earlier run left open: it is read back while newer commands may come, and nothing is sent. */
export function adopt(turn: Turn, { command, step, earlier, sentAt, ...sent }: Interrupted): void {
  const { mono } = turn.now;
  // The last run died when this one was about to be sent in the place of another that was still confirming.
  if (turn.lane.confirming) cut(turn, turn.lane.confirming);
  const facts = { ...sent, readBack: null };
  const otherwise = sent.code === "200" ? "unconfirmed" : "failed";
  turn.lane.confirming = {
    ...starting(command, turn.lane.posts),
    ...{ steps: [step], reports: earlier, sentAt },
    stage: {
      at: "confirming",
      readBack: recoveredReadBack(step, mono),
      after: { facts, otherwise, earlierRead: null },
    },
  };
  // How long ago the last run sent it, no clock tells: it may be moving as if it had been sent just now.
  turn.lane.posts = { ...turn.lane.posts, endedAt: mono, unread: true };
  turn.effects.push({ type: "phase", command, phase: "confirming" });
  recognise(turn, command);
}

/* What becomes of a command on its way that a stop, a newer command or the end of the program cuts off. */

/** The question whose answer the command waits for; null while it waits for none. */
export const waitsFor = ({ stage }: Run): number | null => {
  if (stage.at === "confirming") return stage.readBack.reading?.token ?? null;
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
  const end = stepCutAt(stage);
  if (end !== null) stepEnded(turn, run, end);
  else if (stage.at === "stopped") finish(turn, run, stage.ending);
  else finish(turn, run, turn.book.closed ? shuttingDown() : superseded("before_sending"));
}

/** How the step that was sent ends there; null where none waits for its end. */
function stepCutAt(stage: Stage): StepEnd | null {
  if (stage.at === "confirming") return evidenced("cut", stage.after, stage.readBack.lastRead);
  if (stage.at === "last_look") return { ...stage.end, readBack: null };
  if (stage.at === "unclear") return { type: "interrupted", ...stage.first.facts };
  if (stage.at !== "renewing" && stage.at !== "renewed") return null;
  const { facts, end } = stage.first;
  return end.type === "rejected" && stage.at === "renewed" ? { type: "interrupted", ...facts } : end;
}
