import type { Command } from "./command.js";
import { type Ending, shuttingDown, superseded } from "./report.js";

/** A command on its way. */
export interface Running {
  readonly command: Command;
  readonly quit: AbortController;
  confirming: boolean;
  posted: boolean;
  /** Who took over the read-backs, when an equal command came. */
  heir: Command | null;
}

export const starting = (command: Command): Running => ({
  command,
  quit: new AbortController(),
  confirming: false,
  posted: false,
  heir: null,
});

/** What to say of a command that may have been cut off; null leaves it open for the next start. */
export function told(running: Running, ending: Ending, isClosed: boolean): Ending | null {
  if (!running.quit.signal.aborted) return ending;
  if (running.posted) return isClosed && ending.outcome === "superseded" ? null : ending;
  return isClosed ? shuttingDown() : superseded("before_sending");
}
