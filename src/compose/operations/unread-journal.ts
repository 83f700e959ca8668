import type { Journal } from "../../journal/journal.js";
import type { Logger } from "../../runtime/logger.js";
import type { LiveSettings } from "../live-settings.js";

export const journalUnread = "journal_unread";

type Refusing = Pick<LiveSettings, "forceReadOnly">;

/**
 * Where what earlier runs left cannot be read, their open commands and ids are not known: should the journal become usable during this
 * run, commands still wait for the next. The same goes for what another process wrote meanwhile.
 */
export function refuseUnread(journal: Journal, log: Logger, live: Refusing): void {
  live.forceReadOnly(journalUnread, () => journal.unread !== null && journal.state().available);
  if (journal.unread !== null) tell(journal.unread, log);
}

/** A file that was not needed to open the journal turned out unreadable. */
export function refuseForUnread(
  problem: Error,
  journal: Pick<Journal, "state">,
  log: Logger,
  live: Refusing | undefined,
): void {
  live?.forceReadOnly(journalUnread, () => journal.state().available);
  tell(problem, log);
}

const tell = ({ message }: Error, log: Logger) => {
  log.error(
    { reason: message },
    "what earlier runs left in the journal cannot be read, so this run takes no commands; restart the bridge when it can be read",
  );
};
