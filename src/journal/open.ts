import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Clock, nextTurn } from "../runtime/clock.js";
import { errorCode, type FileSystem, nodeFileSystem, readText, replaceFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import { Journal } from "./journal.js";
import { DirectoryInUse, DirectoryLock, identityOf } from "./lock.js";
import { checkOrigin, NotItsJournal } from "./origin.js";
import { DataPlace } from "./place.js";

export interface OpenJournal {
  readonly journal: Journal;
  /** Rejects where the data directory has gone, or another folder shows in its place: nothing is to be written there. */
  readonly inPlace: () => Promise<void>;
  close(): Promise<void>;
}

export const journalDirectory = (dataDir: string): string => join(dataDir, "journal");

/**
 * Of everything in the data directory together. Raised when a version before would misread what is written from then on,
 * and for that alone: a field more is passed over by older versions, a directory stays as it is.
 */
export const dataFormat = 3;

const formatName = "format";

/** A newer version wrote in this directory what this one might misread. */
class DataTooNew extends Error {
  override name = "DataTooNew" as const;

  constructor(directory: string, format: number) {
    super(
      `The data directory ${directory} was written by a newer version of the program (format ${format}; this one knows ` +
        `up to ${dataFormat}). Start that version again, or put back the backup that was made before the upgrade.`,
    );
  }
}

/** Written by a version before the first release: its records do not say what this version has to remember. */
class DataTooOld extends Error {
  override name = "DataTooOld" as const;

  constructor(directory: string, format: number) {
    super(
      `The data directory ${directory} was written by a version before the first release (format ${format}; this one knows ${dataFormat}). ` +
        "Nothing in it was changed. Move it away, and the bridge begins with an empty one.",
    );
  }
}

/** The format that a directory is in: a text that is no number, such as one that a power cut tore, tells nothing. */
async function formatOf(directory: string): Promise<number | null> {
  try {
    const text = await readText(join(directory, formatName));
    return /^\d{1,9}\n$/.test(text) ? Number(text) : null;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

export const isOfThisFormat = async (directory: string): Promise<boolean> =>
  (await formatOf(directory)) === dataFormat;

/** Rejects where another format is in the directory; says in it which format it is in where nothing does. */
export async function claimFormat(directory: string): Promise<void> {
  const format = await formatOf(directory);
  if (format !== null && format > dataFormat) throw new DataTooNew(directory, format);
  if (format !== null && format < dataFormat) throw new DataTooOld(directory, format);
  if (format !== dataFormat) await replaceFile(join(directory, formatName), `${dataFormat}\n`);
}

/** Trying again would not help. */
const isFinal = (error: unknown): boolean =>
  error instanceof DataTooNew || error instanceof DataTooOld || error instanceof NotItsJournal;

/** Makes the data directory this bridge's own. */
async function claim(dataDir: string, lock: DirectoryLock): Promise<void> {
  await lock.take();
  try {
    await claimFormat(dataDir);
    await checkOrigin(dataDir, null);
  } catch (error) {
    if (isFinal(error)) await lock.release();
    throw error;
  }
}

/** The original of the files. Whoever has it has locked the data directory. */
interface JournalOriginal {
  readonly files: FileSystem;
  /** As in the options of a journal. */
  readonly admit: () => Promise<void>;
  readonly place: Pick<DataPlace, "claim" | "settle">;
}

interface Opening {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly original?: JournalOriginal;
}

/** A network is back sooner than a disk that somebody has to empty. */
const originalRetryMs = 1_000;
/** A record without an acknowledgement for so long may never get one: the account may be another member's already. */
const originalLateMs = 2_000;

/**
 * Locks the data directory and opens the journal in it. Rejects with DirectoryInUse when another bridge works there, and with
 * DataTooNew or DataTooOld when another format is in it; a directory that cannot be written gives a journal that is unavailable, so
 * that mirroring goes on; it comes back only when the directory is locked.
 */
export async function openJournal({ dataDir, clock, log, original }: Opening): Promise<OpenJournal> {
  const boot = randomBytes(8).toString("hex");
  const at = new Date(clock.now()).toISOString();
  const directory = new DataPlace(dataDir);
  const lock = new DirectoryLock(dataDir, { boot, at, pid: process.pid, log, place: directory });
  const place = original?.place ?? directory;
  const own = original ?? {
    files: nodeFileSystem,
    admit: () => claim(dataDir, lock),
    kernel: (await identityOf(process.pid)).kernel,
  };
  // The journal tries it again, and tells why it cannot be written.
  await own.admit().catch((error: unknown) => {
    if (isFinal(error) || error instanceof DirectoryInUse) throw error;
  });
  await original?.place.settle();
  const journal = await Journal.open(journalDirectory(dataDir), {
    clock,
    log,
    boot,
    ...own,
    ...(original && { limits: { retryMs: originalRetryMs, lateMs: originalLateMs }, isCopy: true }),
    // A command's first request leaves before its record does; both are awaited before its POST.
    turn: nextTurn,
  });
  return {
    journal,
    inPlace: () => place.claim(),
    close: async () => {
      await journal.close();
      await lock.release();
    },
  };
}
