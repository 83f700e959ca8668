import type { Ask } from "../../judge/history.js";
import { judgeHistory } from "../../judge/judge.js";
import { historyOf } from "../../judge/recorded.js";
import type { Rule } from "../../judge/rules.js";
import type { Breach, History } from "../history.js";
import { commanded } from "../support/house.js";

/** What became of every command that was sent. */
export interface CommandVerdict {
  readonly breaches: readonly Breach[];
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sent: number;
  /** Commands that never reached the bridge, or were lost before they were journaled. They had no effect. */
  readonly undelivered: number;
}

/** The promise that a rule is part of. */
function promiseOf(rule: Rule): Breach["invariant"] {
  if (rule === "S7" || rule === "L1") return "lost command";
  return rule === "S8" ? "wrong state" : "POST";
}

/** Judges all commands sent to the bridge, and everything it sent. */
export function judgeCommands(recorded: History): CommandVerdict {
  const history = historyOf(recorded);
  const breaches = judgeHistory(history).map(({ at, rule, text }) => ({
    at,
    invariant: promiseOf(rule),
    text: `${rule}: ${text}`,
  }));
  const outcomes: Record<string, number> = {};
  let undelivered = 0;
  for (const { id, actuator } of recorded.sent) {
    const ask: Ask | undefined = history.asks.get(`${commanded}/${actuator} ${id}`);
    const [first] = ask?.results ?? [];
    if (first === undefined) undelivered += 1;
    else {
      const outcome = [first.result.outcome, first.result.reason].filter(Boolean).join("/");
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  }
  return { breaches, outcomes, sent: recorded.sent.length, undelivered };
}
