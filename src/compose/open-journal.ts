import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Journal } from "../journal/journal.js";
import { DirectoryInUse } from "../journal/lock.js";
import { nextTurn } from "../runtime/clock.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { clockAgrees } from "./clock-trust.js";
import { DirectoryClaim } from "./directory-claim.js";

export interface OpenJournal {
  readonly journal: Journal;
  /** From now on records say whether our clock agrees with the platform's; `skewMs` is null while nobody knows. */
  compareClock(skewMs: () => number | null): void;
  close(): Promise<void>;
}

export const journalDirectory = (dataDir: string): string => join(dataDir, "journal");

/**
 * Locks the data directory and opens the journal in it. Rejects with DirectoryInUse when another bridge works there; a
 * directory that cannot be written gives a journal that is unavailable, so that mirroring goes on; it comes back only when
 * the directory is locked.
 */
export async function openJournal({ configuration, clock, log }: BridgeSurroundings): Promise<OpenJournal> {
  const boot = randomBytes(8).toString("hex");
  const at = new Date(clock.now()).toISOString();
  const claim = new DirectoryClaim(configuration.data_dir, { boot, at, pid: process.pid, log });
  await claim.take().catch((error: unknown) => {
    if (error instanceof DirectoryInUse) throw error;
    log.error(
      { reason: String(error) },
      "the data directory cannot be written: no commands are taken until it can",
    );
  });
  let skewMs: () => number | null = () => null;
  const clockSynced = () => clockAgrees(skewMs());
  const journal = await Journal.open(journalDirectory(configuration.data_dir), {
    clock,
    log,
    boot,
    clockSynced,
    admit: () => claim.take(),
    // A command's first request leaves before its record does; both are awaited before its POST.
    turn: nextTurn,
  });
  return {
    journal,
    compareClock: (ask) => {
      skewMs = ask;
    },
    close: async () => {
      await journal.close();
      await claim.release();
    },
  };
}
