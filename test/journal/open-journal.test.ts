import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import { clockAgrees, systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../support/builders.js";

it("a record says whether our clock agreed with the platform's, and null while nobody knew", async () => {
  const folder = await mkdtemp(join(tmpdir(), "journal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const opened = await openJournal({ dataDir: folder, clock: systemClock, log: silentLog });
  const note = () => opened.journal.append({ type: "delivered", through: 1 }, { durable: true });
  await note();
  let skewMs: number | null = null;
  opened.compareClock(() => clockAgrees(skewMs));
  for (const skew of [null, 0, -119_000, 121_000]) {
    skewMs = skew;
    await note();
  }
  await opened.close();
  const told = await newestRecords(journalDirectory(folder), { types: new Set(["delivered"]), limit: 10 });
  expect(told.map((record) => record.clock_synced)).toEqual([null, null, true, true, false]);
});
