import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { journalDirectory, openJournal } from "../../src/compose/open.js";
import { readRecords } from "../../src/journal/reader.js";
import { systemClock } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/runtime/random.js";
import { silentLog } from "../support/builders.js";
import { configurationOf, platform } from "./support/bridge.js";

it("a record says whether our clock agreed with the platform's, and null while nobody knew", async () => {
  const folder = await mkdtemp(join(tmpdir(), "journal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const configuration = { ...(await configurationOf("http: false", await platform())), data_dir: folder };
  const opened = await openJournal({
    configuration,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLog,
    setLogLevel: () => undefined,
    version: "test",
  });
  const note = () => opened.journal.append({ type: "delivered", through: 1 }, { durable: true });
  await note();
  let skewMs: number | null = null;
  opened.compareClock(() => skewMs);
  for (const skew of [null, 0, -119_000, 121_000]) {
    skewMs = skew;
    await note();
  }
  await opened.close();
  const said: (boolean | null)[] = [];
  for await (const record of readRecords(journalDirectory(folder), {
    types: new Set(["delivered"] as const),
  }))
    said.push(record.clock_synced);
  expect(said).toEqual([null, null, true, true, false]);
});
