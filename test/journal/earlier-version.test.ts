import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newestRecords } from "../../src/journal/reader.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal } from "./support/test-journal.js";

it("a journal that an earlier version wrote is read whole and gone on with", async () => {
  const directory = await tempDirectory();
  const earlier = join(import.meta.dirname, "fixtures", "earlier-version.jsonl");
  await copyFile(earlier, join(directory, "journal-000000000001.jsonl"));
  const journal = await openJournal(directory);
  expect(journal.state()).toMatchObject({ available: true, unreadable: 0, sequence: 22 });
  const { open, unread, problems, starts } = journal.history();
  expect(open).toMatchObject([{ taken: { id: "b", own_id: true }, steps: [] }]);
  expect(unread).toEqual([]);
  expect(problems).toMatchObject([{ id: "a", outcome: "confirmed", reason: "reverted" }]);
  expect(starts).toMatchObject([{ boot: "boot-old", stopped: true }]);
  const records = await newestRecords(directory, { limit: 100 });
  expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 22 }, (_, n) => n + 1));
  expect(new Set(records.map(({ type }) => type)).size).toBe(21);
  expect(await journal.append({ type: "start", version: "2" }, { durable: true })).toBe(23);
});
