import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Clock, nextTurn } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Journal } from "./journal.js";
import { DirectoryInUse, DirectoryLock, type LockOptions } from "./lock.js";

/** The lock of the data directory, asked for again as often as it is wanted: a full disk holds no lock, and a deleted one neither. */
export class DirectoryClaim {
  readonly #directory: string;
  readonly #options: LockOptions;
  #lock: DirectoryLock | null = null;

  constructor(directory: string, options: LockOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Resolves once the directory is ours; rejects as `DirectoryLock.acquire` does. One call at a time. */
  async take(): Promise<void> {
    if (await this.#lock?.isHeld()) return;
    const lost = this.#lock;
    this.#lock = null;
    await lost?.release();
    this.#lock = await DirectoryLock.acquire(this.#directory, this.#options);
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = null;
  }
}

export interface OpenJournal {
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
  const claim = new DirectoryClaim(dataDir, { boot, at, pid: process.pid, log });
  await claim.take().catch((error: unknown) => {
    if (error instanceof DirectoryInUse) throw error;
    log.error(
      { reason: String(error) },
      "the data directory cannot be written: no commands are taken until it can",
    );
  });
  let clockAgrees: () => boolean | null = () => null;
  const journal = await Journal.open(journalDirectory(dataDir), {
    clock,
    log,
    boot,
    clockSynced: () => clockAgrees(),
    admit: () => claim.take(),
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
      await claim.release();
    },
  };
}
