import { onTestFinished } from "vitest";
import { Journal, type JournalOptions } from "../../../src/journal/journal.js";
import { DirectoryLock } from "../../../src/journal/lock.js";
import { newestRecords } from "../../../src/journal/reader.js";
import type { JournalRecord } from "../../../src/journal/records.js";
import { type FileSystem, nodeFileSystem, type OpenFile } from "../../../src/runtime/file-system.js";
import { capturedLog } from "../../mqtt-connection/support.js";
import { settled, VirtualClock } from "../../support/virtual-clock.js";

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** A real file system that can be taken away. Calls are noted as `verb name`. */
export interface FaultyDisk {
  readonly files: FileSystem;
  readonly calls: string[];
  /** Bytes that still fit; the write that passes it writes what fits, the next one fails with ENOSPC. */
  freeBytes: number;
  /** Error codes by operation; null works. */
  fail: Record<"open" | "write" | "datasync" | "sync" | "truncate", string | null>;
  /** Resolved one by one by the test when set: every datasync waits for its turn. */
  holdSync: (() => Promise<void>) | null;
  holdWrite: (() => Promise<void>) | null;
}

export function faultyDisk(): FaultyDisk {
  const calls: string[] = [];
  const note = (verb: string, path: string) => calls.push(`${verb} ${path.split("/").at(-1) ?? ""}`);
  const check = (code: string | null) => {
    if (code !== null) throw failure(code);
  };
  const disk: FaultyDisk = {
    calls,
    freeBytes: Number.POSITIVE_INFINITY,
    fail: { open: null, write: null, datasync: null, sync: null, truncate: null },
    holdSync: null,
    holdWrite: null,
    files: {
      ...nodeFileSystem,
      open: async (path, flags, mode) => {
        if (flags !== "r") check(disk.fail.open);
        if (flags !== "r") note("open", path);
        return faulty(await nodeFileSystem.open(path, flags, mode), path);
      },
      rename: async (from, to) => {
        note("rename", to);
        await nodeFileSystem.rename(from, to);
      },
      syncDirectory: async (path) => {
        note("sync-directory", path);
        await nodeFileSystem.syncDirectory(path);
      },
    },
  };
  const faulty = (file: OpenFile, path: string): OpenFile => ({
    ...file,
    write: async (bytes) => {
      check(disk.fail.write);
      if (disk.freeBytes <= 0) throw failure("ENOSPC");
      note("write", path);
      await disk.holdWrite?.();
      const fitting = bytes.subarray(0, disk.freeBytes);
      await file.write(fitting);
      disk.freeBytes -= fitting.length;
      if (fitting.length < bytes.length) throw failure("ENOSPC");
    },
    truncate: async (bytes) => {
      check(disk.fail.truncate);
      note("truncate", path);
      await file.truncate(bytes);
    },
    datasync: async () => {
      note("datasync", path);
      await disk.holdSync?.();
      check(disk.fail.datasync);
      await file.datasync();
    },
    sync: async () => {
      note("sync", path);
      check(disk.fail.sync);
      await file.sync();
    },
    close: async () => {
      note("close", path);
      await file.close();
    },
  });
  return disk;
}

const nothing = () => Promise.resolve();

/** Real files without fsync, for tests that start a journal a thousand times and pull no plug. */
export const quickDisk: FileSystem = {
  ...nodeFileSystem,
  open: async (path, flags, mode) => {
    const file = await nodeFileSystem.open(path, flags, mode);
    return { ...file, sync: nothing, datasync: nothing };
  },
  syncDirectory: nothing,
};

/** Gone when the test is over. */
export { tempFolder as tempDirectory } from "../../mqtt-connection/support.js";

let boots = 0;

/** A lock on a data directory as a bridge takes it, given free with the test. */
export async function acquire(directory: string, log = capturedLog().log): Promise<DirectoryLock> {
  const life = { boot: `b${++boots}`, at: "2026-05-01T06:00:00.000Z", pid: process.pid, log };
  const lock = new DirectoryLock(directory, life);
  await lock.take();
  onTestFinished(() => lock.release());
  return lock;
}

export const stillClock = (startAt = Date.UTC(2026, 4, 1, 6)) => new VirtualClock(startAt);

export async function openJournal(
  directory: string,
  options: Partial<JournalOptions> = {},
): Promise<Journal> {
  const journal = await Journal.open(directory, { clock: stillClock(), log: capturedLog().log, ...options });
  onTestFinished(() => journal.close());
  return journal;
}

/** All but the checkpoints at the heads of files. */
export async function recordsIn(directory: string): Promise<readonly JournalRecord[]> {
  const records = await newestRecords(directory, { limit: Number.POSITIVE_INFINITY });
  return records.filter(({ type }) => type !== "carried");
}

/** Lets everything go on that can, until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settled();
}
