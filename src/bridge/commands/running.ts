import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { execute, type ExecutionHooks } from "./execution.js";
import { type Ending, refused, type SentSoFar, shuttingDown, superseded } from "./report.js";

/** A command on its way. */
export interface Running {
  readonly command: Command;
  readonly quit: AbortController;
  confirming: boolean;
  posted: boolean;
  /** Set once every step was sent. */
  sent: SentSoFar;
  /** Who took over the read-backs, when an equal command came. */
  heir: Command | null;
  /** Whether one may: not where nothing was sent that could be read back. */
  hasHeirs: boolean;
}

export const starting = (command: Command): Running => ({
  command,
  quit: new AbortController(),
  confirming: false,
  posted: false,
  sent: {},
  heir: null,
  hasHeirs: true,
});

/** Executes it; a defect of the bridge ends it too. */
export async function carryOut(
  running: Running,
  hooks: ExecutionHooks,
  ports: CommandPorts,
): Promise<Ending> {
  const { command } = running;
  try {
    return await execute(command, hooks, ports);
  } catch (error) {
    if (running.quit.signal.aborted) return superseded(running.posted ? "after_sending" : "before_sending");
    ports.log.error({ err: error, command: command.id }, "a command ended by a defect of the bridge");
    return defect(running);
  }
}

/** What to say of a command that could not be carried out to its end. */
function defect({ posted }: Running): Ending {
  const message =
    "A defect of the bridge ended the command; what was sent may have taken effect. Check the actuator.";
  return posted ? { outcome: "unknown", reason: null, message } : refused("platform_unavailable", message);
}

/** What to say of a command that may have been cut off; null leaves it open for the next start. */
export function told(running: Running, ending: Ending, isClosed: boolean): Ending | null {
  if (!running.quit.signal.aborted) return ending;
  if (running.posted) return isClosed && ending.outcome === "superseded" ? null : ending;
  return isClosed ? shuttingDown() : superseded("before_sending");
}
