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
  /** Rejects where the data directory is gone or another folder is in its place, so that nothing is written there. */
  readonly inPlace: () => Promise<void>;
  close(): Promise<void>;
}

export const journalDirectory = (dataDir: string): string => join(dataDir, "journal");

/**
 * Format of everything in the data directory. It is raised only where an earlier version would misread later data.
 * Additional fields do not count, as earlier versions skip them.
 */
export const dataFormat = 3;

const formatName = "format";

/** A newer version wrote in this directory, in a format that this one might misread. */
class DataTooNew extends Error {
  override name = "DataTooNew" as const;

  constructor(directory: string, format: number) {
    super(
      `The data directory ${directory} was written by a newer version of the program (format ${format}; this one knows ` +
        `up to ${dataFormat}). Start that version again, or put back the backup that was made before the upgrade.`,
    );
  }
}

/** Written before the first release; its records lack what this version has to remember. */
class DataTooOld extends Error {
  override name = "DataTooOld" as const;

  constructor(directory: string, format: number) {
    super(
      `The data directory ${directory} was written by a version before the first release (format ${format}; this one knows ${dataFormat}). ` +
        "Nothing in it was changed. Move it away, and the bridge begins with an empty one.",
    );
  }
}

/** The format of a directory; null where the text is no number, for instance after a power cut. */
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

/** Rejects where the directory has another format; writes this one where it has none. */
export async function claimFormat(directory: string): Promise<void> {
  const format = await formatOf(directory);
  if (format !== null && format > dataFormat) throw new DataTooNew(directory, format);
  if (format !== null && format < dataFormat) throw new DataTooOld(directory, format);
  if (format !== dataFormat) await replaceFile(join(directory, formatName), `${dataFormat}\n`);
}

/** Whether another try is useless. */
const isFinal = (error: unknown): boolean =>
  error instanceof DataTooNew || error instanceof DataTooOld || error instanceof NotItsJournal;

/** Locks the data directory for this bridge and checks its format. */
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

/** The original of the files. Its owner has locked the data directory. */
interface JournalOriginal {
  readonly files: FileSystem;
  /** As in `JournalOptions`. */
  readonly admit: () => Promise<void>;
  readonly place: Pick<DataPlace, "claim" | "settle">;
}

interface Opening {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly original?: JournalOriginal;
}

/** A network returns sooner than a disk that somebody has to clear. */
const originalRetryMs = 1_000;
/** A record unacknowledged for this long may never be: another member may own the account by now. */
const originalLateMs = 2_000;

/**
 * Locks the data directory and opens its journal. Rejects with DirectoryInUse where another bridge works there, and
 * with DataTooNew or DataTooOld for another format. A directory that cannot be written gives an unavailable journal, so
 * that mirroring goes on; it returns only once the directory is locked.
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
  // The journal tries it again and reports why it cannot be written.
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
    // A command's first request leaves before its record is written; its POST awaits both.
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
