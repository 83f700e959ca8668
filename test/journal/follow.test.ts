import { appendFile, readdir, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { followRecords } from "../../src/journal/reader.js";
import type { JournalRecord, RecordFilter } from "../../src/journal/records.js";
import { ended, taken } from "./support/samples.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal, stillClock } from "./support/test-journal.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A reader with a clock of its own, as another process has. `poll` lets it look once and gives what it saw by then. */
function reader(directory: string, filter: RecordFilter = {}, after = 0) {
  const clock = stillClock();
  const stop = new AbortController();
  const seen: JournalRecord[] = [];
  const ended = (async () => {
    for await (const record of followRecords(directory, { clock, filter, after }, stop.signal))
      if (record.type !== "carried") seen.push(record);
  })();
  const idle = async () => {
    while (clock.pendingTimers === 0) await turn();
  };
  const poll = async () => {
    await idle();
    await clock.advance(500);
    await idle();
    return seen.map((record) => ("id" in record ? record.id : record.type));
  };
  return { seen, poll, stop: () => (stop.abort(), ended) };
}

describe("following a journal", () => {
  it("shows records as they come, also into files begun later, each once and in order", async () => {
    const directory = join(await tempDirectory(), "journal");
    const follower = reader(directory);
    expect(await follower.poll()).toEqual([]);
    const journal = await openJournal(directory, { limits: { fileBytes: 2_000 } });
    const written: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      await journal.append(taken(`${n}`), { durable: false });
      written.push(`${n}`);
      if (n % 7 === 0) expect(await follower.poll()).toEqual(written);
    }
    expect(await follower.poll()).toEqual(written);
    expect((await readdir(directory)).length).toBeGreaterThan(5);
    await follower.stop();
  });

  it("waits for the end of a line that is half written, and survives its being cut off", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(taken("a"), { durable: true });
    const [name = ""] = await readdir(directory);
    const follower = reader(directory);
    await appendFile(join(directory, name), '{"seq":9,"at"');
    expect(await follower.poll()).toEqual(["a"]);
    await journal.close();
    const next = await openJournal(directory);
    await next.append(taken("b"), { durable: true });
    expect(await follower.poll()).toEqual(["a", "journal_damaged", "b"]);
    await follower.stop();
  });

  it("goes on after a given number, with the filters of reading", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(ended("a"), { durable: false });
    const shown = await journal.append(ended("b"), { durable: false });
    await journal.append(taken("c"), { durable: false });
    await journal.append(ended("c"), { durable: false });
    const follower = reader(directory, { types: new Set(["result"]) }, shown);
    await follower.poll();
    expect(follower.seen).toMatchObject([{ result: { id: "c" } }]);
    await follower.stop();
  });

  it("does not end or repeat itself when the file becomes shorter than it was", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(taken("a"), { durable: true });
    const follower = reader(directory);
    expect(await follower.poll()).toEqual(["a"]);
    const [name = ""] = await readdir(directory);
    await truncate(join(directory, name), 20);
    expect(await follower.poll()).toEqual(["a"]);
    await follower.stop();
  });
});
