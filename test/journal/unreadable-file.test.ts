import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FileSystem, nodeFileSystem } from "../../src/runtime/file-system.js";
import { newestRecords, readRecentCommands } from "../../src/journal/reader.js";
import { encodeLine, JournalUnreadable } from "../../src/journal/segments.js";
import { capturedLog } from "./support/captured-log.js";
import { ended, stamped, taken } from "./support/samples.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal, stillClock } from "./support/test-journal.js";

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
    expect(journal.state().reason).toBe(
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
    const carried = { type: "carried", open: [], unread: [], problems: [], starts: [] } as const;
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
