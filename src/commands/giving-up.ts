import type { Run, Turn } from "./book.js";
import { recoveredEnd } from "./recovery.js";
import { shuttingDown, superseded } from "./report.js";
import { stepEnded } from "./sending.js";
import { finish, put } from "./turn.js";

/* What becomes of a command on its way that a stop, a newer command or the end of the program cuts off. */

/** The question whose answer the command waits for; null while it waits for none. */
export const waitsFor = ({ stage }: Run): number | null => {
  if (stage.at === "confirming" || stage.at === "recovering") return stage.readBack.reading?.token ?? null;
  return stage.at === "journal" ? null : stage.token;
};

/** Gives a command up. A POST in flight is never broken off, as what it did would be unknown. */
export function cut(turn: Turn, run: Run): void {
  const { stage } = run;
  const isStopOnItsWay = stage.at === "journal" && stage.until !== null && !turn.lane.closed;
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
      finish(turn, run, turn.lane.closed ? shuttingDown() : superseded("before_sending"));
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
