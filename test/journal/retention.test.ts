import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordBody } from "../../src/journal/records.js";
import { journalLimits } from "../../src/journal/journal.js";
import { segmentsToDelete } from "../../src/journal/maintenance.js";
import { ended, refused, sent, taken } from "./support/samples.js";
import { tempDirectory } from "./support/temp-directory.js";
import { openJournal, recordsIn, stillClock } from "./support/test-journal.js";

const day = 86_400_000;
const now = Date.UTC(2026, 4, 1);
const MB = 1024 * 1024;
/** Ages in days, oldest first, of files of `megabytes` each. */
const files = (ages: readonly number[], megabytes = 5) =>
  ages.map((age, index) => ({
    path: `${index}`,
    first: index + 1,
    bytes: megabytes * MB,
    modifiedAt: now - age * day,
  }));
const range = (length: number, age: (index: number) => number) => Array.from({ length }, (_, n) => age(n));

describe("the files kept", () =>
  it.each([
    { rule: "all within 50 MB and 90 days", ages: range(10, (n) => 80 - n), trusted: true, deleted: 0 },
    { rule: "the oldest above 50 MB go", ages: range(13, (n) => 60 - n), trusted: true, deleted: 3 },
    { rule: "those over 90 days go", ages: [120, 100, 91, 80, 1], trusted: true, deleted: 3 },
    { rule: "age counts only by a trusted clock", ages: [4_000, 3_900, 3_800], trusted: false, deleted: 0 },
    { rule: "under a day old stay above 50 MB", ages: range(14, () => 0.5), trusted: true, deleted: 0 },
    { rule: "but not above 100 MB", ages: range(25, () => 0.5), trusted: true, deleted: 5 },
    { rule: "a clock set back keeps them", ages: range(14, () => -900), trusted: false, deleted: 0 },
    { rule: "the one being written always stays", ages: [400], trusted: true, deleted: 0 },
  ])("$rule", ({ ages, trusted, deleted }) => {
    const segments = files(ages);
    expect(segmentsToDelete(segments, { now, trusted }, journalLimits)).toEqual(segments.slice(0, deleted));
  }));

describe("a journal that grows", () => {
  it("begins a new file at the size limit, named after its first number, and stays under the total", async () => {
    const directory = await tempDirectory();
    const limits = { fileBytes: 4_000, totalBytes: 20_000, youngMs: 0 };
    const clock = stillClock(Date.now() + day);
    const journal = await openJournal(directory, { clock, limits });
    for (let n = 0; n < 400; n += 1) await journal.append(ended(`${n}`), { durable: n % 10 === 0 });
    await expect.poll(() => journal.state().bytes).toBeLessThan(26_000);
    await journal.close();
    const records = await recordsIn(directory);
    const names = (await readdir(directory)).sort();
    expect(names.length).toBeGreaterThan(3);
    expect(names.length).toBeLessThan(8);
    expect(journal.state().bytes).toBeLessThan(26_000);
    expect(records.at(-1)).toMatchObject({ result: { id: "399" } });
    for (const name of names) expect(name).toMatch(/^journal-\d{12}\.jsonl$/);
    expect(Number(names.at(-1)?.slice(8, 20))).toBeLessThan(records.at(-1)?.seq ?? 0);
    expect(records.map(({ seq }) => seq)).toEqual(records.map(({ seq }) => seq).toSorted((a, b) => a - b));
  });

  it("keeps commands that were sent, however many were refused, tried or never sent since", async () => {
    const directory = await tempDirectory();
    const limits = { fileBytes: 4_000, totalBytes: 20_000, youngMs: 0 };
    const clock = stillClock(Date.now() + day);
    const journal = await openJournal(directory, { clock, limits });
    const add = async (...bodies: readonly RecordBody[]) => {
      for (const body of bodies) await journal.append(body, { durable: false });
    };
    for (const id of ["a", "b", "c"]) await add(taken(id), sent(id), ended(id));
    for (let n = 0; n < 200; n += 1) {
      const unsent = { sent_at: null, steps: [], read_back: null };
      await add(refused(`r${n}`, "bad_payload"));
      await add(taken(`d${n}`, { dry_run: true }), ended(`d${n}`, { outcome: "dry_run", ...unsent }));
      await add(ended(`s${n}`, { outcome: "superseded", reason: "before_sending", ...unsent }));
    }
    await journal.close();
    const ids = (await recordsIn(directory)).flatMap((one) =>
      one.type === "result" ? [one.result.id] : one.type === "step_sent" ? [`sent ${one.id}`] : [],
    );
    expect(ids).toEqual(expect.arrayContaining(["a", "b", "c", "sent a", "sent b", "sent c"]));
    expect(journal.state().bytes).toBeLessThan(30_000);
    expect((await readdir(directory)).filter((name) => name.endsWith(".stripped"))).toEqual([]);
  });

  it("still knows commands, unread posts and problems whose files it deleted", async () => {
    const directory = await tempDirectory();
    const options = {
      clock: stillClock(Date.now() + day),
      limits: { fileBytes: 3_000, totalBytes: 9_000, youngMs: 0 },
    };
    const before = await openJournal(directory, options);
    await before.append(taken("open"), { durable: true });
    await before.append(sent("open"), { durable: true });
    await before.append({ ...ended("bad", { outcome: "failed" }), actuator: "vent" }, { durable: true });
    for (let n = 0; n < 200; n += 1)
      await before.append({ ...ended(`${n}`), actuator: "light" }, { durable: false });
    await before.close();
    expect((await recordsIn(directory)).some((record) => "id" in record && record.id === "open")).toBe(false);
    const { open, unread, problems } = (await openJournal(directory, options)).history();
    expect(open).toMatchObject([{ taken: { id: "open", value: "10010" }, steps: [{ address: "101" }] }]);
    expect(unread).toMatchObject([{ actuator: "roof", id: "open" }]);
    expect(problems).toMatchObject([{ actuator: "vent", id: "bad", outcome: "failed" }]);
  });

  it("deletes files by age at the start", async () => {
    const directory = await tempDirectory();
    const limits = { fileBytes: 1_000 };
    const before = await openJournal(directory, { limits });
    for (let n = 0; n < 6; n += 1) await before.append(ended(`${n}`), { durable: true });
    await before.close();
    const [oldest = ""] = await readdir(directory);
    await utimes(join(directory, oldest), 0, (Date.now() - 91 * day) / 1_000);
    await openJournal(directory, { limits, clock: stillClock(Date.now()), clockSynced: () => true });
    expect(await readdir(directory)).not.toContain(oldest);
  });
});
