import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Clock, nextTurn } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Journal } from "./journal.js";
import { DirectoryInUse, DirectoryLock } from "./lock.js";

interface OpenJournal {
  readonly journal: Journal;
  /** From now on records say whether our clock agrees with the platform's; null while nothing is known of that. */
  compareClock(agrees: () => boolean | null): void;
  close(): Promise<void>;
}

export const journalDirectory = (dataDir: string): string => join(dataDir, "journal");

/**
 * Locks the data directory and opens the journal in it. Rejects with DirectoryInUse when another bridge works there; a
 * directory that cannot be written gives a journal that is unavailable, so that mirroring goes on; it comes back only when
 * the directory is locked.
 */
export async function openJournal({
  dataDir,
  clock,
  log,
}: {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Logger;
}): Promise<OpenJournal> {
  const boot = randomBytes(8).toString("hex");
  const at = new Date(clock.now()).toISOString();
  const lock = new DirectoryLock(dataDir, { boot, at, pid: process.pid, log });
  // The journal tries it again, and tells why it cannot be written.
  await lock.take().catch((error: unknown) => {
    if (error instanceof DirectoryInUse) throw error;
  });
  let clockAgrees: () => boolean | null = () => null;
  const journal = await Journal.open(journalDirectory(dataDir), {
    clock,
    log,
    boot,
    clockSynced: () => clockAgrees(),
    admit: () => lock.take(),
    // A command's first request leaves before its record does; both are awaited before its POST.
    turn: nextTurn,
  });
  return {
    journal,
    compareClock: (ask) => {
      clockAgrees = ask;
    },
    close: async () => {
      await journal.close();
      await lock.release();
    },
  };
}
