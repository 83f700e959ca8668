import { appendFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newestRecords, readHistory, readRecentCommands } from "../../src/journal/reader.js";
import { encodeLine } from "../../src/journal/segments.js";
import { commandOutcomes, type JournalRecord, type RecordFilter } from "../../src/journal/records.js";
import { ended, refused, sent, stamped, taken } from "./support/samples.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal, stillClock } from "./support/test-journal.js";

/** Three files of four records each, a second apart. */
async function threeFiles(): Promise<string> {
  const directory = await tempDirectory();
  const records = stamped([
    ...[taken("a"), sent("a"), ended("a"), refused("b", "expired")],
    ...[
      taken("c"),
      { ...sent("c"), controller: "GH-0002" },
      ended("c"),
      { type: "start", version: "1" } as const,
    ],
    ...[taken("d"), ended("d", { controller: "east" }), refused("e", "no_age"), taken("f")],
  ]);
  for (let at = 0; at < records.length; at += 4) {
    const name = `journal-${String(at + 1).padStart(12, "0")}.jsonl`;
    await writeFile(join(directory, name), Buffer.concat(records.slice(at, at + 4).map(encodeLine)));
  }
  return directory;
}

const second = (n: number) => Date.UTC(2026, 4, 1, 6, 0, n);
const numbers = (records: readonly JournalRecord[]) => records.map(({ seq }) => seq);

describe("reading the journal", () => {
  it.each<[string, RecordFilter & { limit: number }, readonly number[]]>([
    ["the newest come, newest last", { limit: 3 }, [10, 11, 12]],
    ["over files", { limit: 6 }, [7, 8, 9, 10, 11, 12]],
    ["no more than there are", { limit: 100 }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ["none when none are wanted", { limit: 0 }, []],
    ["by type", { limit: 3, types: commandOutcomes }, [7, 10, 11]],
    ["by device code", { limit: 9, controllers: new Set(["GH-0002"]) }, [6]],
    ["by topic id", { limit: 9, controllers: new Set(["east"]) }, [10]],
    ["since a time", { limit: 9, sinceMs: second(11) }, [11, 12]],
    ["since a time in an older file", { limit: 9, sinceMs: second(4) }, [4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ["all of it together", { limit: 1, sinceMs: second(2), types: new Set(["result"]) }, [10]],
  ])("%s", async (_, filter, found) => {
    expect(numbers(await newestRecords(await threeFiles(), filter))).toEqual(found);
  });

  it("passes over broken lines and a torn last one", async () => {
    const directory = await threeFiles();
    const [, middle = "", last = ""] = await readdir(directory);
    await appendFile(join(directory, middle), "broken\n\u0000\u0000");
    await appendFile(join(directory, last), '{"seq":13,"at":"20');
    expect(numbers(await newestRecords(directory, { limit: 20 }))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ]);
  });

  it("of a directory that does not exist gives nothing", async () => {
    const nowhere = join(await tempDirectory(), "none");
    expect(await newestRecords(nowhere, { limit: 5 })).toEqual([]);
    expect(await readRecentCommands(nowhere, 0)).toEqual([]);
  });

  it("keeps memory bounded: the newest of 60,000 records in little more than the limit", async () => {
    const directory = await tempDirectory();
    const lines = stamped(Array.from({ length: 60_000 }, (_, n) => ended(`${n}`))).map(encodeLine);
    await writeFile(join(directory, "journal-000000000001.jsonl"), Buffer.concat(lines));
    lines.length = 0;
    const before = process.memoryUsage().heapUsed;
    const found = await newestRecords(directory, { limit: 20 });
    expect(numbers(found).at(-1)).toBe(60_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60_000_000);
  });

  it("finds interrupted and recent commands of a journal another process writes", async () => {
    const directory = await tempDirectory();
    const clock = stillClock();
    const journal = await openJournal(directory, { clock, clockSynced: () => true });
    await journal.append(taken("old"), { durable: false });
    await journal.append(ended("old"), { durable: false });
    await clock.advance(13 * 3_600_000);
    await journal.append(taken("open"), { durable: true });
    expect((await readHistory(directory)).open).toMatchObject([{ taken: { id: "open" } }]);
    const recent = await readRecentCommands(directory, clock.now() - 12 * 3_600_000);
    expect(recent.map(({ id }) => id)).toEqual(["open"]);
  });
});
