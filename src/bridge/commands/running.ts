import type { Command } from "./command.js";
import { type Ending, type SentSoFar, shuttingDown, superseded } from "./report.js";

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
}

export const starting = (command: Command): Running => ({
  command,
  quit: new AbortController(),
  confirming: false,
  posted: false,
  sent: {},
  heir: null,
});

/** What to say of a command that may have been cut off; null leaves it open for the next start. */
export function told(running: Running, ending: Ending, isClosed: boolean): Ending | null {
  if (!running.quit.signal.aborted) return ending;
  if (running.posted) return isClosed && ending.outcome === "superseded" ? null : ending;
  return isClosed ? shuttingDown() : superseded("before_sending");
}
