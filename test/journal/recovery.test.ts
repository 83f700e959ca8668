import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JournalRecord } from "../../src/journal/records.js";
import { encodeLine } from "../../src/journal/segments.js";
import { faultyDisk, openJournal, quickDisk, recordsIn, tempDirectory } from "./support/disk.js";
import { ended, sent, stamped, taken } from "./support/samples.js";

const segment = "journal-000000000001.jsonl";
const head = { type: "carried", open: [], starts: [], lanes: [] } as const;
const all = stamped([head, taken("a"), sent("a"), ended("a"), taken("b"), sent("b")]);
const written = all.slice(1);
const lines = all.map((record) => encodeLine(record));
const content = Buffer.concat(lines);
const lastTwoStart = content.length - lines.slice(-2).reduce((sum, line) => sum + line.length, 0);

async function startWith(directory: string, bytes: Uint8Array) {
  await writeFile(join(directory, segment), bytes);
  const journal = await openJournal(directory, { files: quickDisk });
  expect(journal.state()).toMatchObject({ available: true, reason: null });
  const seq = await journal.append(taken("next"), { durable: true });
  await journal.close();
  const records = await recordsIn(directory);
  return { seq, kept: records.filter(({ boot }) => boot === "boot-a"), last: records.at(-1) };
}

const intact = (end: number): readonly JournalRecord[] => {
  let offset = 0;
  return all.filter((_, index) => (offset += lines[index]?.length ?? 0) - 1 <= end).slice(1);
};

describe("a journal that was cut", () => {
  it("at any byte offset starts, loses only the torn record and goes on behind it", async () => {
    const directory = await tempDirectory();
    for (let cut = lastTwoStart - 3; cut <= content.length; cut += 1) {
      const { seq, kept, last } = await startWith(directory, content.subarray(0, cut));
      expect(kept, `cut at ${cut}`).toEqual(intact(cut));
      expect(last, `cut at ${cut}`).toMatchObject({ type: "command_taken", id: "next" });
      expect(seq).toBeGreaterThan(kept.at(-1)?.seq ?? 0);
      const text = await readFile(join(directory, segment), "utf8");
      for (const line of text.trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("crc");
      await truncate(join(directory, segment));
    }
  });

  it("inside its very first line starts empty in the same file", async () => {
    const directory = await tempDirectory();
    for (const cut of [0, 1, 40]) {
      const { kept, last } = await startWith(directory, content.subarray(0, cut));
      expect(kept).toEqual([]);
      expect(last).toMatchObject({ id: "next" });
      expect(await readdir(directory)).toEqual([segment]);
    }
  });
});

describe("a journal with broken bytes", () => {
  it.each([
    { damage: "zeroed", change: () => 0 },
    { damage: "flipped", change: (byte: number) => byte ^ 0xff },
    { damage: "made a newline", change: () => 0x0a },
  ])("$damage at any one offset loses at most the record it hit", async ({ change }) => {
    const directory = await tempDirectory();
    for (let at = lastTwoStart; at < content.length; at += 7) {
      const bytes = Buffer.from(content);
      bytes.writeUInt8(change(bytes.readUInt8(at)), at);
      const { kept, last } = await startWith(directory, bytes);
      expect(kept.length, `byte ${at}`).toBeGreaterThanOrEqual(written.length - 1);
      expect(last).toMatchObject({ id: "next" });
    }
  });

  it("with a zeroed tail of any length keeps everything before it", async () => {
    const directory = await tempDirectory();
    for (const zeros of [1, 100, lines[4]?.length ?? 0, 900, 4096, 6_000_000]) {
      const start = Math.max(0, content.length - Math.min(zeros, 900));
      const bytes = Buffer.concat([content.subarray(0, start), Buffer.alloc(zeros)]);
      const { kept, last } = await startWith(directory, bytes);
      expect(kept).toEqual(intact(start));
      expect(last).toMatchObject({ id: "next" });
    }
  });

  it("in the middle skips and counts what it cannot read", async () => {
    const directory = await tempDirectory();
    const bytes = Buffer.concat([
      lines[0] ?? "",
      Buffer.from("not a record\n"),
      ...lines.slice(1),
    ] as Buffer[]);
    await writeFile(join(directory, segment), bytes);
    const journal = await openJournal(directory);
    expect(journal.facts().unreadable).toBe(1);
    await journal.append({ type: "start", version: "1" }, { durable: true });
    const [damage, start] = (await recordsIn(directory)).slice(-2);
    expect(damage).toMatchObject({ type: "journal_damaged", unreadable: 1, corrupt_files: [] });
    expect(start).toMatchObject({ type: "start" });
  });

  it("in whole is kept beside as .corrupt-<n> and a new file begun behind its numbers", async () => {
    const directory = await tempDirectory();
    const garbage = Buffer.from("no record\n".repeat(200));
    await writeFile(join(directory, `${segment}.corrupt-1`), "older");
    const { seq, kept } = await startWith(directory, garbage);
    expect(kept).toEqual([]);
    expect(seq).toBeGreaterThan(garbage.length / 100);
    expect(await readFile(join(directory, `${segment}.corrupt-2`))).toEqual(garbage);
    expect(await readdir(directory)).not.toContain(segment);
  });

  it("with megabytes of garbage in one line keeps what is before and behind it", async () => {
    const directory = await tempDirectory();
    const garbage = Buffer.concat([Buffer.alloc(5_000_000, "x"), Buffer.from("\n")]);
    const bytes = Buffer.concat([...lines.slice(0, 2), garbage, ...lines.slice(2)]);
    const { kept } = await startWith(directory, bytes);
    expect(kept).toEqual(written);
    expect((await openJournal(directory)).facts().unreadable).toBe(1);
  });

  it("that lost the checkpoint at the head of the newest file knows it from the file before", async () => {
    const directory = await tempDirectory();
    const options = { limits: { fileBytes: 2_000 } };
    const before = await openJournal(directory, options);
    await before.append(taken("open"), { durable: true });
    while ((await readdir(directory)).length < 3) await before.append(ended("x"), { durable: false });
    await before.append(ended("y"), { durable: false });
    await before.close();
    const newest = join(directory, (await readdir(directory)).at(-1) ?? "");
    const bytes = await readFile(newest);
    await writeFile(newest, bytes.fill(0, 0, 50));
    const journal = await openJournal(directory, options);
    expect(journal.history().open).toMatchObject([{ taken: { id: "open" } }]);
  });

  it("of any kind whatever starts and can be written and read", async () => {
    const directory = await tempDirectory();
    const pieces = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(Buffer.from("\n"), Buffer.alloc(200), ...lines),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 10 }), async (parts) => {
        const { last, seq } = await startWith(directory, Buffer.concat(parts));
        expect(last).toMatchObject({ id: "next", seq });
        for (const name of await readdir(directory)) await truncate(join(directory, name));
      }),
      { numRuns: 150 },
    );
  });
});

describe("what a killed run had written and not flushed", () => {
  it("is on the disk before the journal is open: what is acted on outlives a power cut", async () => {
    const directory = await tempDirectory();
    await writeFile(join(directory, segment), content);
    const disk = faultyDisk();
    await openJournal(directory, { files: disk.files });
    expect(disk.calls).toContain(`sync ${segment}`);
    expect(disk.calls.some((call) => call.startsWith("sync-directory"))).toBe(true);
  });

  it("and cannot be flushed now, stands at the head of a new file", async () => {
    const directory = await tempDirectory();
    await writeFile(join(directory, segment), content);
    const disk = faultyDisk();
    disk.fail.sync = "EIO";
    const journal = await openJournal(directory, { files: disk.files });
    expect(journal.state()).toMatchObject({ available: true });
    await journal.append(taken("next"), { durable: true });
    await journal.close();
    const names = (await readdir(directory)).filter((name) => name.endsWith(".jsonl"));
    expect(names).toHaveLength(2);
    const [head = ""] = (await readFile(join(directory, names.sort()[1] ?? ""), "utf8")).split("\n");
    expect(JSON.parse(head)).toMatchObject({ type: "carried", open: [{ taken: { id: "b" } }] });
  });
});
