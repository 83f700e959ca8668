import { mkdir, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { journalLimits } from "../../src/journal/journal.js";
import { segmentsToDelete } from "../../src/journal/retention.js";
import type { RecordBody } from "../../src/journal/records.js";
import { systemClock } from "../../src/runtime/clock.js";
import { faultyDisk, openJournal, recordsIn, stillClock, tempDirectory, until } from "./support/disk.js";
import { about, ended, refused, sent, taken } from "./support/samples.js";

const gate = () => {
  const turns: (() => void)[] = [];
  return { turns, hold: () => new Promise<void>((resolve) => turns.push(resolve)) };
};

async function onDisk() {
  const disk = faultyDisk();
  return { disk, journal: await openJournal(await tempDirectory(), { files: disk.files }) };
}

describe("a record", () => {
  it("carries number, time, boot and whether the clock is to be trusted", async () => {
    const directory = await tempDirectory();
    const clock = stillClock(Date.UTC(1970, 0, 1));
    let skewMs: number | null = null;
    const journal = await openJournal(join(directory, "journal"), {
      clock,
      boot: "b1",
    });
    journal.compareClock(() => skewMs);
    await journal.append({ type: "start", version: "1.0.0" }, { durable: false });
    skewMs = 0;
    clock.setWall(Date.UTC(2026, 4, 1));
    await clock.advance(2_000);
    await journal.append(taken("a"), { durable: true });
    expect(await recordsIn(journal.directory)).toMatchObject([
      { seq: 2, at: "1970-01-01T00:00:00.000Z", mono: 0, boot: "b1", clock_synced: null, type: "start" },
      { seq: 3, at: "2026-05-01T00:00:02.000Z", mono: 2_000, boot: "b1", clock_synced: true, id: "a" },
    ]);
  });

  it("keeps its place: 10,000 commands give 10,000 results in the order of the calls", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory, { clock: systemClock });
    const ids = Array.from({ length: 10_000 }, (_, index) => `c${index}`);
    await Promise.all(ids.map((id, index) => journal.append(ended(id), { durable: index % 500 === 0 })));
    const results = (await recordsIn(directory)).map((record) => "result" in record && record.result.id);
    expect(results).toEqual(ids);
  });
});

describe("a durable append", () => {
  it("resolves only after an fsync that began when the record was in the file", async () => {
    const { disk, journal } = await onDisk();
    const { turns, hold } = gate();
    await journal.append({ type: "start", version: "1" }, { durable: false });
    disk.holdSync = hold;
    disk.calls.length = 0;
    let durable = false;
    const appended = journal.append(taken("a"), { durable: true }).then(() => {
      durable = true;
    });
    await until(() => turns.length === 1);
    expect(disk.calls.map((call) => call.split(" ")[0])).toEqual(["write", "datasync"]);
    expect(durable).toBe(false);
    disk.holdSync = null;
    turns[0]?.();
    await appended;
    expect(durable).toBe(true);
  });

  it("starts writing in the same turn of the event loop", async () => {
    const { disk, journal } = await onDisk();
    await journal.append({ type: "start", version: "1" }, { durable: false });
    disk.calls.length = 0;
    const appended = journal.append(taken("a"), { durable: true });
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(disk.calls).toEqual(["write journal-000000000001.jsonl"]);
    await appended;
  });

  it("shares its fsync with all others of the turn, and with all that come while one runs", async () => {
    const { disk, journal } = await onDisk();
    const { turns, hold } = gate();
    await journal.append({ type: "start", version: "1" }, { durable: false });
    disk.holdSync = hold;
    const first = Promise.all([1, 2, 3].map((n) => journal.append(taken(`${n}`), { durable: true })));
    await until(() => turns.length === 1);
    const second: Promise<number>[] = [];
    for (let n = 0; n < 5; n += 1) {
      second.push(journal.append(taken(`later ${n}`), { durable: true }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    turns[0]?.();
    await first;
    await until(() => turns.length === 2);
    disk.holdSync = null;
    turns[1]?.();
    await Promise.all(second);
    expect(turns).toHaveLength(2);
  });

  it("does not keep others waiting that need no fsync", async () => {
    const { disk, journal } = await onDisk();
    const { turns, hold } = gate();
    disk.holdSync = hold;
    const durable = journal.append(taken("a"), { durable: true });
    await until(() => turns.length === 1);
    await journal.append(sent("a"), { durable: false });
    disk.holdSync = null;
    turns[0]?.();
    await durable;
  });

  it("makes the names of a new directory and a new file durable too", async () => {
    const disk = faultyDisk();
    const directory = join(await tempDirectory(), "data", "journal");
    await mkdir(join(directory, ".."));
    const journal = await openJournal(directory, { files: disk.files });
    await journal.append(taken("a"), { durable: true });
    const order = disk.calls.filter(
      (call) => call.startsWith("sync-directory") || call.startsWith("datasync"),
    );
    expect(order).toEqual([
      "sync-directory data",
      "sync-directory journal",
      "datasync journal-000000000001.jsonl",
    ]);
  });
});

describe("an append behind what is to be durable", () => {
  /** A record that is to be durable has been written, and its fsync is held. */
  const begun = async () => {
    const disk = faultyDisk();
    const clock = stillClock();
    const journal = await openJournal(await tempDirectory(), { files: disk.files, clock });
    const { turns, hold } = gate();
    await journal.append({ type: "start", version: "1" }, { durable: true });
    disk.holdSync = hold;
    disk.calls.length = 0;
    const before = journal.append(taken("a"), { durable: true });
    await until(() => turns.length === 1);
    const letGo = () => {
      disk.holdSync = null;
      for (const turn of turns) turn();
    };
    return { disk, clock, journal, turns, letGo, before };
  };
  const verbs = (calls: readonly string[]) => calls.map((call) => call.split(" ")[0]);

  it("waits for that, and for no fsync of its own", async () => {
    const { disk, journal, turns, letGo, before } = await begun();
    let isThere = false;
    const appended = journal.append(sent("a"), { durable: "before" }).then(() => {
      isThere = true;
    });
    await until(() => disk.calls.length === 3);
    for (let n = 0; n < 10; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isThere).toBe(false);
    letGo();
    await Promise.all([before, appended]);
    await journal.append(sent("a"), { durable: "before" });
    expect(verbs(disk.calls)).toEqual(["write", "datasync", "write", "write"]);
    expect(turns).toHaveLength(1);
  });

  it("is rejected where that fails", async () => {
    const { disk, journal, letGo, before } = await begun();
    const both = [before, journal.append(sent("a"), { durable: "before" })].map((one) =>
      one.then(() => "kept", String),
    );
    await until(() => disk.calls.length === 3);
    disk.fail.datasync = "EIO";
    letGo();
    for (const one of both) expect(await one).toContain("the disk reports input/output errors");
  });

  it("comes to the disk itself once records were lost", async () => {
    const { disk, clock, journal, letGo, before } = await begun();
    disk.fail.datasync = "EIO";
    letGo();
    await expect(before).rejects.toMatchObject({ code: "EIO" });
    disk.fail.datasync = null;
    await clock.advance(1_000);
    await journal.append(taken("b"), { durable: false });
    disk.calls.length = 0;
    await journal.append(sent("b"), { durable: "before" });
    expect(verbs(disk.calls)).toEqual(["write", "datasync"]);
  });
});

describe("a command that was being checked when its run ended", () => {
  const checking = (id: string): RecordBody => ({ type: "phase", ...about, id, phase: "checking" });
  const mayBeSent = { id: "a", steps: [], is_accepted: false, request_id: null, sent_at: null };

  /** What the next start finds of it. */
  const leftBy = async (kernel: string | null, next: string | null, more: readonly RecordBody[] = []) => {
    const directory = await tempDirectory();
    const run = await openJournal(directory, { kernel });
    for (const body of [taken("a"), checking("a"), ...more]) await run.append(body, { durable: true });
    await run.close();
    const { open } = (await openJournal(directory, { kernel: next })).history();
    return open.map(({ sent }) => sent);
  };

  it("was not sent where the program alone ended: what it wrote is there", async () =>
    expect(await leftBy("a", "a")).toEqual([null]));

  it("may have been sent where the machine ended", async () =>
    expect(await leftBy("a", "b")).toEqual([mayBeSent]));

  it("may have been sent where this start of the machine has no name", async () =>
    expect(await leftBy("a", null)).toEqual([mayBeSent]));

  it("was not sent where nothing told one start of the machine from the next: then the disk had it", async () =>
    expect(await leftBy(null, "b")).toEqual([null]));

  it("is as the journal says where that knows what was sent", async () => {
    const sending = { ...mayBeSent, is_accepted: true };
    const record = {
      type: "phase",
      ...about,
      id: "a",
      phase: "sending",
      memory: { sent: [sending] },
    } as const;
    expect(await leftBy("a", "b", [record])).toEqual([sending]);
  });

  it("is known so after any number of files, to which it is carried on", async () => {
    const directory = await tempDirectory();
    const run = await openJournal(directory, { kernel: "a", limits: { fileBytes: 2_000 } });
    await run.append(taken("a"), { durable: true });
    await run.append(checking("a"), { durable: true });
    for (let n = 0; n < 20; n += 1) await run.append(ended(`${n}`), { durable: false });
    await run.close();
    const { open } = (await openJournal(directory, { kernel: "b" })).history();
    expect(open.map(({ sent }) => sent)).toEqual([mayBeSent]);
  });

  it("and whose record the journal refused is not checked for it: a disk that hangs refuses, and is no outage", async () => {
    const disk = faultyDisk();
    const clock = stillClock();
    const journal = await openJournal(await tempDirectory(), { files: disk.files, clock, kernel: "a" });
    const { turns, hold } = gate();
    await journal.append(taken("a"), { durable: true });
    disk.holdSync = hold;
    const slow = journal.append(taken("b"), { durable: true });
    await until(() => turns.length === 1);
    await clock.advance(11_001);
    await expect(journal.append(checking("a"), { durable: true })).rejects.toMatchObject({ code: "STALLED" });
    turns[0]?.();
    await slow;
    expect(journal.isChecked(about, "a")).toBe(false);
    disk.holdSync = null;
    await journal.append(checking("a"), { durable: true });
    expect(journal.isChecked(about, "a")).toBe(true);
  });
});

describe("records that are not durable", () => {
  it("cause no fsync", async () => {
    const { disk, journal } = await onDisk();
    for (let n = 0; n < 50; n += 1) await journal.append(sent(`${n}`), { durable: false });
    expect(disk.calls.filter((call) => call.startsWith("datasync"))).toEqual([]);
  });

  it("are written together when they come together", async () => {
    const { disk, journal } = await onDisk();
    const writes = () => disk.calls.filter((call) => call.startsWith("write")).length;
    const before = writes();
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => journal.append(ended(`${n}`), { durable: false })),
    );
    expect(writes() - before).toBeLessThan(10);
  });
});

describe("a closed journal", () =>
  it("has written what was appended before and refuses what comes after", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    const stop = journal.append({ type: "stop", reason: "SIGTERM" }, { durable: false });
    await journal.close();
    await stop;
    await expect(journal.append(taken("late"), { durable: true })).rejects.toMatchObject({ code: "CLOSED" });
    expect(journal.state()).toMatchObject({ available: false });
    expect((await recordsIn(directory)).map(({ type }) => type)).toEqual(["stop"]);
    expect(await readdir(directory)).toHaveLength(1);
  }));

const day = 86_400_000;

/** A busy machine takes its time. */
const patient = { timeout: 20_000 };
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
    await expect.poll(() => journal.facts().bytes, patient).toBeLessThan(26_000);
    // Old files go after the new one has begun.
    await expect.poll(async () => (await readdir(directory)).length, patient).toBeLessThan(8);
    await journal.close();
    const records = await recordsIn(directory);
    const names = (await readdir(directory)).sort();
    expect(names.length).toBeGreaterThan(3);
    expect(names.length).toBeLessThan(8);
    expect(journal.facts().bytes).toBeLessThan(26_000);
    expect(records.at(-1)).toMatchObject({ result: { id: "399" } });
    for (const name of names) expect(name).toMatch(/^journal-\d{12}\.jsonl$/);
    expect(Number(names.at(-1)?.slice(8, 20))).toBeLessThan(records.at(-1)?.seq ?? 0);
    expect(records.map(({ seq }) => seq)).toEqual(records.map(({ seq }) => seq).toSorted((a, b) => a - b));
  });

  it("begins no file for each record where what has to be carried over is longer than a file", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory, { limits: { fileBytes: 2_000 } });
    const lock = { by: "anna", via: null, reason: null, since: 0, until: null };
    const nothing = { guards: {}, starts: [], moved_until: null, direction: null, hold: null, lease: null };
    for (let n = 0; n < 100; n += 1) {
      const kept = { ...nothing, lock };
      const about = { controller: "GH-0001", actuator: `a${n}`, target: "actuator" } as const;
      await journal.append({ type: "lane", ...about, memory: { limits: kept } }, { durable: false });
    }
    const { length } = await readdir(directory);
    for (let n = 0; n < 20; n += 1) await journal.append(ended(`${n}`), { durable: false });
    await journal.close();
    expect((await readdir(directory)).length).toBeLessThanOrEqual(length + 1);
    expect((await openJournal(directory)).history().lanes).toHaveLength(100);
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
    expect(journal.facts().bytes).toBeLessThan(30_000);
    expect((await readdir(directory)).filter((name) => name.endsWith(".stripped"))).toEqual([]);
  });

  it("still knows commands, unread posts and problems whose files it deleted", async () => {
    const progress = { id: "open", steps: [], is_accepted: false, request_id: null, sent_at: null };
    const at = "2026-05-01T06:00:00.000Z";
    const problem = { command: "open", outcome: "failed", reason: null, message: "It failed.", at };
    const directory = await tempDirectory();
    const options = {
      clock: stillClock(Date.now() + day),
      limits: { fileBytes: 3_000, totalBytes: 9_000, youngMs: 0 },
    };
    const before = await openJournal(directory, options);
    await before.append(taken("open"), { durable: true });
    await before.append({ ...sent("open"), memory: { sent: [progress], unread: true } }, { durable: true });
    const memory = { problem };
    await before.append({ ...ended("bad"), actuator: "vent", memory }, { durable: true });
    for (let n = 0; n < 200; n += 1)
      await before.append({ ...ended(`${n}`), actuator: "light" }, { durable: false });
    await before.close();
    expect((await recordsIn(directory)).some((record) => "id" in record && record.id === "open")).toBe(false);
    const { open, lanes } = (await openJournal(directory, options)).history();
    expect(open).toMatchObject([{ taken: { id: "open", value: "10010" }, sent: progress }]);
    expect(lanes).toEqual([
      { controller: "GH-0001", actuator: "roof", target: "actuator", memory: { unread: true } },
      { controller: "GH-0001", actuator: "vent", target: "actuator", memory },
    ]);
  });

  it("deletes files by age with the next new file", async () => {
    const directory = await tempDirectory();
    const limits = { fileBytes: 1_000 };
    const before = await openJournal(directory, { limits });
    for (let n = 0; n < 6; n += 1) await before.append(ended(`${n}`), { durable: true });
    await before.close();
    const [oldest = ""] = await readdir(directory);
    await utimes(join(directory, oldest), 0, (Date.now() - 91 * day) / 1_000);
    const journal = await openJournal(directory, { limits, clock: stillClock(Date.now()) });
    expect(await readdir(directory)).toContain(oldest);
    journal.compareClock(() => 0);
    for (let n = 6; n < 12; n += 1) await journal.append(ended(`${n}`), { durable: true });
    expect(await readdir(directory)).not.toContain(oldest);
  });
});
