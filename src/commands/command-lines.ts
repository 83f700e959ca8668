import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Logger } from "../runtime/logger.js";
import type { Command } from "./command.js";
import { askedBy } from "./report.js";

/* What the log says of commands: who asked what of whom, and what became of it. */

type Log = Pick<Logger, "info"> | undefined;

export function logTaken(log: Log, command: Command): void {
  const { id, controllerId: controller, targetId: actuator, by, via } = command;
  const { command: word, value } = askedBy(command);
  log?.info({ id, controller, actuator, command: word, value, by, via }, "command taken");
}

export function logResult(log: Log, result: CommandResult): void {
  const { id, controller, actuator, command, value, outcome, reason, by, via } = result;
  log?.info({ id, controller, actuator, command, value, outcome, reason, by, via }, "command ended");
}
