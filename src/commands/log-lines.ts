import { type CommandResult, resultSentence } from "../greenhouse/command/outcomes.js";
import { endedText } from "../greenhouse/wording.js";
import { msg, row, type Text, word } from "../language/text.js";
import type { Sentences } from "../runtime/log.js";
import type { Command } from "./command.js";
import { askedBy } from "./endings.js";

/* Log lines about commands: who asked what of whom, and what became of it. */

export function takenLine(command: Command) {
  const { id, controller, actuator, command: word, value, by, via } = askedBy(command);
  return { id, controller, actuator, command: word, value, by, via };
}

export function endedLine(result: CommandResult) {
  const { id, controller, actuator, command, value, outcome, reason, by, via } = result;
  const { message, read_back, duration_ms } = result;
  const what = { id, controller, actuator, command, value, outcome, reason, message };
  return { ...what, read_back, duration_ms, by, via };
}

/** The messages of these lines. */
export const commandLines = { taken: "command taken", ended: "command ended" } as const;

function bySender(by: unknown): Text {
  if (typeof by !== "string") return "";
  const [, kind, name = ""] = /^(rule|lease) (.+)$/s.exec(by) ?? [];
  if (kind === "rule") return msg` (by rule ${name})`;
  return kind === "lease" ? msg` (by lease ${name})` : msg` (by ${by})`;
}

/** The sentences for these lines. */
export const commandSentences: Sentences = {
  [commandLines.taken]: (facts) => {
    const { controller, actuator, command, by } = facts as ReturnType<typeof takenLine>;
    return msg`${controller}/${actuator} ${command}: taken${bySender(by)}`;
  },
  [commandLines.ended]: (facts) => {
    const line = facts as ReturnType<typeof endedLine>;
    return row`${resultSentence(line, word, endedText(line))}${bySender(line.by)}`;
  },
};
