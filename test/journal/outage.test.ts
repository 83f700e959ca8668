import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JournalUnavailable } from "../../src/journal/journal.js";
import { newestRecords, readRecentCommands } from "../../src/journal/reader.js";
import { encodeLine, JournalUnreadable } from "../../src/journal/segments.js";
import { type FileSystem, nodeFileSystem } from "../../src/runtime/file-system.js";
import { silentLog } from "../../src/runtime/log.js";
import { faultyDisk, openJournal, recordsIn, stillClock, tempDirectory, until } from "./support/disk.js";
import { ended, stamped, taken } from "./support/samples.js";
import { capturedLog } from "../mqtt-connection/support.js";

async function started() {
  const disk = faultyDisk();
  const clock = stillClock();
  const { log, lines } = capturedLog();
  const journal = await openJournal(await tempDirectory(), { files: disk.files, clock, log });
  await journal.append({ type: "start", version: "1" }, { durable: true });
  return { disk, clock, lines, journal };
}

/** A little less than what the record takes. */
const recordBytes = Buffer.concat(stamped([taken("lost")]).map(encodeLine)).length;

const idsIn = async (directory: string) =>
  (await recordsIn(directory)).flatMap((record) => ("id" in record ? [record.id] : []));

describe("a disk that fills up", () => {
  it("after any number of bytes of a record refuses it, and the next one is whole when there is room", async () => {
    for (let free = 0; free < recordBytes; free += 3) {
      const { disk, clock, journal } = await started();
      disk.freeBytes = free;
      await expect(journal.append(taken("lost"), { durable: true })).rejects.toMatchObject({
        code: "ENOSPC",
      });
      expect(journal.facts()).toMatchObject({ available: false, lastError: { code: "ENOSPC" } });
      disk.freeBytes = Number.POSITIVE_INFINITY;
      await clock.advance(1_000);
      await journal.append(taken("next"), { durable: true });
      expect(journal.facts()).toMatchObject({ available: true, reason: null, unreadable: 0 });
      expect(await idsIn(journal.directory), `${free} bytes free`).toEqual(["next"]);
      await journal.close();
    }
  });

  it("keeps no whole line of what it refused together with what had no room", async () => {
    const { disk, journal } = await started();
    disk.freeBytes = recordBytes + 10;
    const refused = ["first", "second"].map((id) => journal.append(taken(id), { durable: true }));
    const ended = await Promise.allSettled(refused);
    expect(ended).toMatchObject(Array(2).fill({ status: "rejected", reason: { code: "ENOSPC" } }));
    expect(await idsIn(journal.directory)).toEqual([]);
  });

  it("is told in a sentence with the remedy, once, and without a retry for every refusal", async () => {
    const { disk, lines, journal } = await started();
    disk.freeBytes = 0;
    const attempts = await Promise.allSettled(
      Array.from({ length: 500 }, (_, n) => journal.append(taken(`${n}`), { durable: true })),
    );
    expect(attempts.every(({ status }) => status === "rejected")).toBe(true);
    const opened = disk.calls.length;
    for (let n = 0; n < 500; n += 1)
      await expect(journal.append(taken(`${n}`), { durable: false })).rejects.toBeInstanceOf(
        JournalUnavailable,
      );
    expect(disk.calls.length).toBe(opened);
    expect(String(journal.state().reason)).toMatch(
      /^The journal in .* cannot be written: the disk is full; free some space/,
    );
    expect(lines.filter((line) => line.startsWith("error"))).toEqual([
      expect.stringMatching(
        /^error The journal in [^:]*: the disk is full; free .*\. Until it can, no commands/,
      ),
    ]);
  });

  it("tells no stack, which would only hide the sentence", async () => {
    const facts: unknown[] = [];
    const log = { ...silentLog, error: (about: unknown) => facts.push(about) };
    const disk = faultyDisk();
    disk.freeBytes = 0;
    const journal = await openJournal(await tempDirectory(), { files: disk.files, log });
    await journal.append(taken("a"), { durable: true }).catch(() => undefined);
    expect(facts).toEqual([{ code: "ENOSPC", reason: "Error: ENOSPC" }]);
  });

  it("is tried again by itself; the journal says for how long it was blind and what it missed", async () => {
    const { disk, clock, journal, lines } = await started();
    disk.freeBytes = 10;
    await journal.append(taken("a"), { durable: true }).catch(() => undefined);
    await journal.append(taken("b"), { durable: true }).catch(() => undefined);
    await clock.advance(15_000);
    await until(() => clock.pendingTimers === 1);
    expect(journal.state().available).toBe(false);
    disk.freeBytes = Number.POSITIVE_INFINITY;
    await clock.advance(15_000);
    await until(() => journal.state().available);
    const [record] = (await recordsIn(journal.directory)).slice(-1);
    expect(record).toMatchObject({ type: "journal_resumed", lost: 2, since: "2026-05-01T06:00:00.000Z" });
    expect(lines.at(-1)).toContain("can be written again");
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a disk that refuses writes", () => {
  it.each([
    { code: "EROFS", remedy: "read-only" },
    { code: "EACCES", remedy: "permission" },
    { code: "EIO", remedy: "replace the disk" },
    { code: "EDQUOT", remedy: "quota" },
  ])("with $code makes the journal unavailable until it allows them ($remedy)", async ({ code, remedy }) => {
    const { disk, clock, journal } = await started();
    Object.assign(disk.fail, { open: code, write: code, truncate: code });
    await expect(journal.append(taken("a"), { durable: true })).rejects.toMatchObject({ code });
    expect(String(journal.state().reason)).toContain(remedy);
    await clock.advance(1_000);
    await expect(journal.append(taken("b"), { durable: true })).rejects.toMatchObject({ code });
    Object.assign(disk.fail, { open: null, write: null, truncate: null });
    await clock.advance(1_000);
    await journal.append(taken("c"), { durable: true });
    expect(await idsIn(journal.directory)).toEqual(["c"]);
  });

  it("at the start does not keep the history from being read", async () => {
    const directory = await tempDirectory();
    const before = await openJournal(directory);
    await before.append(taken("open"), { durable: true });
    await before.close();
    const disk = faultyDisk();
    disk.fail.open = "EROFS";
    const journal = await openJournal(directory, { files: disk.files });
    expect(journal.history().open).toMatchObject([{ taken: { id: "open" } }]);
    await expect(journal.append(taken("a"), { durable: true })).rejects.toMatchObject({ code: "EROFS" });
  });
});

describe("a failed fsync", () => {
  it("is never asked of the same file again: records go on in a new one", async () => {
    const { disk, clock, journal } = await started();
    disk.fail.datasync = "EIO";
    await expect(journal.append(taken("doubtful"), { durable: true })).rejects.toMatchObject({ code: "EIO" });
    disk.fail.datasync = null;
    await clock.advance(1_000);
    disk.calls.length = 0;
    await journal.append(taken("next"), { durable: true });
    expect(await readdir(journal.directory)).toHaveLength(2);
    expect(disk.calls.filter((call) => call.startsWith("datasync"))).not.toContain(
      "datasync journal-000000000001.jsonl",
    );
    expect(await idsIn(journal.directory)).toContain("next");
  });

  it("that goes on failing leaves the journal unavailable although writes succeed", async () => {
    const { disk, clock, journal } = await started();
    disk.fail.datasync = "EIO";
    await journal.append(taken("a"), { durable: true }).catch(() => undefined);
    await clock.advance(1_000);
    await expect(journal.append(taken("b"), { durable: false })).rejects.toMatchObject({ code: "EIO" });
    expect(journal.state().available).toBe(false);
  });

  it("rejects every durable record that waited for it", async () => {
    const { disk, journal } = await started();
    disk.fail.datasync = "EIO";
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => journal.append(taken(`${n}`), { durable: true })),
    );
    expect(all.map(({ status }) => status)).toEqual(all.map(() => "rejected"));
  });
});

describe("a directory that cannot be used", () => {
  it("does not stop the start; the journal comes when the directory does", async () => {
    const parent = await tempDirectory();
    const directory = join(parent, "journal");
    await writeFile(directory, "a file is in the way");
    const clock = stillClock();
    const journal = await openJournal(directory, { clock });
    expect(journal.state()).toMatchObject({ available: false });
    expect(String(journal.state().reason)).toMatch(/move that file away or change data_dir/);
    await rm(directory);
    await clock.advance(15_000);
    await until(() => journal.state().available);
    await journal.append(taken("a"), { durable: true });
    expect(await idsIn(directory)).toEqual(["a"]);
  });
});

describe("a disk that does not answer", () =>
  it("makes the journal unavailable within 11 s and bounds what waits", async () => {
    const disk = faultyDisk();
    const clock = stillClock();
    const release: (() => void)[] = [];
    const journal = await openJournal(await tempDirectory(), {
      files: disk.files,
      clock,
      limits: { waiting: 50 },
    });
    await journal.append({ type: "start", version: "1" }, { durable: true });
    disk.holdWrite = () => new Promise((resolve) => release.push(resolve));
    const waiting = Array.from({ length: 50 }, (_, n) => journal.append(ended(`${n}`), { durable: true }));
    await expect(journal.append(ended("51"), { durable: false })).rejects.toMatchObject({ code: "STALLED" });
    disk.holdWrite = null;
    await until(() => release.length === 1);
    release[0]?.();
    await Promise.all(waiting);
    disk.holdWrite = () => new Promise((resolve) => release.push(resolve));
    const one = journal.append(ended("52"), { durable: true });
    await until(() => release.length === 2);
    await clock.advance(11_001);
    expect(journal.state()).toMatchObject({ available: false });
    expect(String(journal.state().reason)).toContain("has not answered for a while");
    disk.holdWrite = null;
    release[1]?.();
    await one;
    expect(journal.state().available).toBe(true);
  }));

describe("a process that stood still while the disk answered", () =>
  it("does not say of the disk that it does not answer", async () => {
    const disk = faultyDisk();
    const clock = stillClock();
    const journal = await openJournal(await tempDirectory(), { files: disk.files, clock });
    const release: (() => void)[] = [];
    disk.holdWrite = () => new Promise((resolve) => release.push(resolve));
    const one = journal.append(ended("1"), { durable: true });
    await until(() => release.length === 1);
    // As over a SIGSTOP: the clock has gone on and no timer was served.
    const before = clock.monotonic();
    Object.assign(clock, { monotonic: () => before + 60_000 });
    expect(journal.state().available).toBe(true);
    disk.holdWrite = null;
    const other = journal.append(ended("2"), { durable: true });
    release[0]?.();
    await Promise.all([one, other]);
    expect(journal.state().available).toBe(true);
  }));

describe("the real device that is always full", () =>
  it("gives the same refusal as a full disk", async () => {
    const directory = await tempDirectory();
    const files = {
      ...nodeFileSystem,
      open: (path: string, flags: "r" | "a" | "wx", mode?: number) =>
        nodeFileSystem.open(flags === "a" ? "/dev/full" : path, flags === "a" ? "a" : flags, mode),
    };
    const journal = await openJournal(directory, { files });
    await expect(journal.append(taken("a"), { durable: true })).rejects.toMatchObject({ code: "ENOSPC" });
  }));

const nameOf = (first: number) => `journal-${String(first).padStart(12, "0")}.jsonl`;

/** A directory where a file of the journal should be, which nobody can read, whatever his rights. */
async function withDirectoryAs(name: string): Promise<string> {
  const directory = await tempDirectory();
  await mkdir(join(directory, name));
  return directory;
}

describe("a file of the journal that cannot be read", () => {
  it("makes the journal unavailable, says which file and what to do, and stays where it is", async () => {
    const directory = await withDirectoryAs(nameOf(1));
    const { log, lines } = capturedLog();
    const journal = await openJournal(directory, { log });
    await expect(journal.append(taken("a"), { durable: true })).rejects.toMatchObject({ code: "EISDIR" });
    expect(journal.state().available).toBe(false);
    expect(String(journal.state().reason)).toBe(
      `The journal in ${directory} cannot be read (${nameOf(1)}): a directory is where a file of the journal should be; move it away.`,
    );
    expect(journal.readProblem).toBeInstanceOf(JournalUnreadable);
    expect(lines.filter((line) => line.startsWith("error"))).toHaveLength(1);
    expect(await readdir(directory)).toEqual([nameOf(1)]);
  });

  it("is still unknown to this run when it can be read later", async () => {
    const directory = await withDirectoryAs(nameOf(1));
    const clock = stillClock();
    const journal = await openJournal(directory, { clock });
    await rm(join(directory, nameOf(1)), { recursive: true });
    await clock.advance(1_000);
    await journal.append(taken("a"), { durable: true });
    expect(journal.state().available).toBe(true);
    expect(journal.readProblem).not.toBeNull();
  });

  it("older than all that a start needs leaves the journal available; who reads it is told which it is", async () => {
    const directory = await withDirectoryAs(nameOf(1));
    const carried = { type: "carried", open: [], lanes: [], starts: [] } as const;
    const records = stamped([carried, ended("a")], { from: 7 });
    await writeFile(join(directory, nameOf(7)), Buffer.concat(records.map(encodeLine)));
    const journal = await openJournal(directory);
    expect(journal.state().available).toBe(true);
    expect(journal.readProblem).toBeNull();
    const told = { name: "JournalUnreadable", code: "EISDIR" };
    await expect(newestRecords(directory, { limit: 100 })).rejects.toMatchObject(told);
    await expect(readRecentCommands(directory, 0)).rejects.toThrow(nameOf(1));
  });

  it("because not even its age can be asked is told in the same way", async () => {
    const directory = await tempDirectory();
    for (const first of [1, 2, 3]) await writeFile(join(directory, nameOf(first)), "");
    const broken = Object.assign(new Error("EIO"), { code: "EIO" });
    const files: FileSystem = { ...nodeFileSystem, facts: () => Promise.reject(broken) };
    await expect(readRecentCommands(directory, 0, files)).rejects.toMatchObject({
      name: "JournalUnreadable",
      code: "EIO",
    });
  });
});
