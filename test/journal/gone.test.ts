import { cp, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Home, standingOf } from "../../src/journal/place.js";
import { journalDirectory, openJournal as openLocked } from "../../src/journal/open.js";
import { readRecentCommands } from "../../src/journal/reader.js";
import { standingOfFiles } from "../../src/journal/writer.js";
import { FilesOfRun } from "../../src/runtime/file-system.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { openJournal, recordsIn, stillClock, tempDirectory } from "./support/disk.js";
import { about, ended, taken } from "./support/samples.js";

/* What becomes of a data directory that vanishes under a running bridge, and of what was promised in it. */

const durable = { durable: true } as const;

const lock = { by: "anna", via: null, reason: "repair", since: "2026-05-01T06:00:00.000Z", until: null };
const nothing = { hold: null, lease: null, guards: [], starts: [], not_before: null } as const;
const locked = {
  type: "lane",
  ...about,
  memory: { limits: { ...nothing, lock } },
} as unknown as ReturnType<typeof taken>;

async function working() {
  const dataDir = join(await tempDirectory(), "data");
  const clock = stillClock();
  const { log, lines } = capturedLog();
  const opened = await openLocked({ dataDir, clock, log });
  const { journal } = opened;
  await journal.append(taken("open"), durable);
  await journal.append(locked, durable);
  await journal.append(taken("done"), durable);
  await journal.append(ended("done"), durable);
  return { dataDir, clock, lines, journal, opened };
}

const idsIn = async (dataDir: string) =>
  (await recordsIn(journalDirectory(dataDir))).flatMap((record) => ("id" in record ? [record.id] : []));

/** As the next start finds it. */
const nextStart = async (dataDir: string) => {
  const journal = await openJournal(journalDirectory(dataDir));
  const { open, lanes } = journal.history();
  return { open: open.map((one) => one.taken.id), locks: lanes.map(({ memory }) => memory.limits?.lock?.by) };
};

const known = { open: ["open"], locks: ["anna"] };

type Vanishing = readonly [name: string, how: (dataDir: string) => Promise<unknown>];

const vanishings: readonly Vanishing[] = [
  ["is removed", (dataDir) => rm(dataDir, { recursive: true })],
  ["gets another name", (dataDir) => rename(dataDir, `${dataDir}.away`)],
  ["is removed with the folder above it", (dataDir) => rm(dirname(dataDir), { recursive: true })],
  [
    "has another, empty one in its place",
    async (dataDir) => {
      await rename(dataDir, `${dataDir}.away`);
      await mkdir(journalDirectory(dataDir), { recursive: true });
    },
  ],
  [
    "has a copy of itself in its place",
    async (dataDir) => {
      await cp(dataDir, `${dataDir}.copy`, { recursive: true, filter: (from) => !from.endsWith(".sock") });
      await rename(dataDir, `${dataDir}.away`);
      await rename(`${dataDir}.copy`, dataDir);
    },
  ],
];

describe("where a data directory", () => {
  it.each(vanishings)(
    "%s nothing is promised any more, neither to be on disk nor to be written",
    async (_, vanish) => {
      for (const how of [true, "before", false] as const) {
        const { dataDir, journal, opened } = await working();
        await vanish(dataDir);
        await expect(journal.append(taken("late"), { durable: how })).rejects.toMatchObject({
          code: "ENOENT",
        });
        expect(journal.state()).toMatchObject({ available: false });
        expect(String(journal.state().reason)).toContain("check that its disk is mounted");
        await opened.close();
      }
    },
  );

  it("has gone none is made in its place, so that whoever puts it back can", async () => {
    const { dataDir, clock, journal, opened } = await working();
    await rename(dataDir, `${dataDir}.away`);
    for (let n = 0; n < 3; n += 1) {
      await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
      await clock.advance(16_000);
    }
    expect(await readdir(dirname(dataDir))).toEqual(["data.away"]);
    await rename(`${dataDir}.away`, dataDir);
    await clock.advance(1_000);
    await journal.append(taken("next"), durable);
    expect(journal.state()).toEqual({ available: true, reason: null });
    expect(await idsIn(dataDir)).toEqual(["open", "done", "next"]);
    await opened.close();
  });

  it("comes back empty what the bridge knows is written again, and what it wrote last", async () => {
    const { dataDir, clock, lines, journal, opened } = await working();
    await rm(dataDir, { recursive: true });
    await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
    await mkdir(dataDir);
    await clock.advance(1_000);
    await journal.append(ended("another"), durable);
    await opened.close();
    expect(await nextStart(dataDir)).toEqual(known);
    expect(await idsIn(dataDir)).toEqual(["open", "done"]);
    const commands = await readRecentCommands(journalDirectory(dataDir), 0);
    expect(commands.map(({ id }) => id)).toContain("done");
    expect(lines.filter((line) => line.includes("came back without its newest records"))).toHaveLength(1);
  });

  it("comes back as it was an hour ago the newer things are written again, and those alone", async () => {
    const { dataDir, clock, journal, opened } = await working();
    await cp(dataDir, `${dataDir}.copy`, { recursive: true, filter: (from) => !from.endsWith(".sock") });
    await journal.append(taken("newer"), durable);
    await rm(dataDir, { recursive: true });
    await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
    await rename(`${dataDir}.copy`, dataDir);
    await clock.advance(1_000);
    await journal.append(taken("next"), durable);
    await opened.close();
    expect((await nextStart(dataDir)).open).toEqual(["open", "newer", "next"]);
    expect(await idsIn(dataDir)).toEqual(["open", "done", "newer", "next"]);
  });

  it("vanishes again while it is written again nothing of that is lost", async () => {
    const { dataDir, clock, journal, opened } = await working();
    for (let n = 0; n < 3; n += 1) {
      await rm(dataDir, { recursive: true });
      await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
      await mkdir(dataDir);
      // The place of the file to be begun is taken.
      if (n === 1) await writeFile(journalDirectory(dataDir), "");
      await clock.advance(1_000);
      if (n === 1) await expect(journal.append(taken("late"), durable)).rejects.toThrow("cannot be written");
      if (n === 1) await rm(journalDirectory(dataDir));
      await clock.advance(1_000);
      await journal.append(taken(`next ${n}`), durable);
    }
    await opened.close();
    expect(await nextStart(dataDir)).toEqual({ ...known, open: ["open", "next 0", "next 1", "next 2"] });
  });

  it("is used by another bridge when it comes back this one keeps off", async () => {
    const { dataDir, clock, journal, opened } = await working();
    await rm(dataDir, { recursive: true });
    await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
    const other = await openLocked({ dataDir, clock, log: capturedLog().log });
    await clock.advance(1_000);
    await expect(journal.append(taken("next"), durable)).rejects.toMatchObject({ code: "IN_USE" });
    await other.close();
    await opened.close();
  });

  it("was written by another bridge meanwhile this run says that it does not know all", async () => {
    const { dataDir, clock, journal, opened } = await working();
    await rename(dataDir, `${dataDir}.away`);
    await expect(journal.append(taken("late"), durable)).rejects.toMatchObject({ code: "ENOENT" });
    const other = await openLocked({ dataDir: `${dataDir}.away`, clock, log: capturedLog().log }).catch(
      () => null,
    );
    expect(other).toBeNull();
    await rm(join(`${dataDir}.away`, "bridge.lock"));
    const next = await openLocked({ dataDir: `${dataDir}.away`, clock, log: capturedLog().log });
    for (let n = 0; n < 5; n += 1) await next.journal.append(taken(`theirs ${n}`), durable);
    await next.close();
    await rename(`${dataDir}.away`, dataDir);
    await clock.advance(1_000);
    await journal.append(taken("next"), durable);
    expect(journal.readProblem?.message).toContain("Another process has written");
    await opened.close();
  });
});

it("a directory that was not there at the start, and holds records when it comes, says that this run does not know them", async () => {
  const { dataDir, opened } = await working();
  await opened.close();
  await rename(dataDir, `${dataDir}.away`);
  await writeFile(dataDir, "in the way");
  const clock = stillClock();
  const next = await openLocked({ dataDir, clock, log: capturedLog().log });
  expect(next.journal.state().available).toBe(false);
  await rm(dataDir);
  await rename(`${dataDir}.away`, dataDir);
  await clock.advance(1_000);
  await next.journal.append(taken("next"), durable);
  expect(next.journal.readProblem?.message).toContain("Another process has written");
  await next.close();
});

describe("the folder at the path of a data directory", () => {
  const home: Home = { disks: new Set([2, 3]), beneath: new Set([1, 2]) };

  it.each<[disk: number | null, standing: string, why: string]>([
    [null, "gone", "there is none"],
    [3, "there", "it lies on a disk that this run has worked on"],
    [1, "beneath", "it is what shows where the disk is not mounted"],
    [2, "there", "it is beneath another disk, but was there before that was mounted"],
    [9, "there", "another disk was mounted"],
  ])("on disk %s is %s: %s", (disk, standing) => expect(standingOf(home, disk)).toBe(standing));
});

it.each([
  [null, null, "complete"],
  [null, { seq: 9, boot: "b" }, "complete"],
  [{ seq: 0, boot: "" }, null, "complete"],
  [{ seq: 0, boot: "" }, { seq: 3, boot: "a" }, "complete"],
  [{ seq: 0, boot: "" }, { seq: 3, boot: "b" }, "foreign"],
  [{ seq: 3, boot: "b" }, { seq: 3, boot: "b" }, "complete"],
  [{ seq: 3, boot: "b" }, { seq: 2, boot: "b" }, "behind"],
  [{ seq: 5, boot: "a" }, null, "behind"],
  [{ seq: 5, boot: "a" }, { seq: 4, boot: "a" }, "behind"],
  [{ seq: 5, boot: "a" }, { seq: 4, boot: "b" }, "behind"],
  [{ seq: 5, boot: "a" }, { seq: 5, boot: "a" }, "complete"],
  [{ seq: 5, boot: "a" }, { seq: 7, boot: "a" }, "complete"],
  [{ seq: 5, boot: "a" }, { seq: 7, boot: "b" }, "foreign"],
] as const)("files of a run that knows %j and that hold %j are %s", (known, found, standing) =>
  expect(standingOfFiles(known, found, "a")).toBe(standing),
);

describe("small files of a run", () => {
  it("are written again when the directory is back, of other places none", async () => {
    const above = await tempDirectory();
    const dataDir = join(above, "data");
    await mkdir(dataDir);
    await writeFile(join(above, "token"), "theirs");
    await writeFile(join(dataDir, "read"), "1");
    const files = new FilesOfRun(dataDir);
    await files.read(join(dataDir, "read"));
    await files.read(join(above, "token"));
    await files.writePrivate(join(dataDir, "written"), "2");
    await rm(dataDir, { recursive: true });
    await rm(join(above, "token"));
    await expect(files.writePrivate(join(dataDir, "lost"), "3")).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readdir(above)).toEqual([]);
    await mkdir(dataDir);
    await files.writeAgain();
    expect([await readdir(above), (await readdir(dataDir)).sort()]).toEqual([
      ["data"],
      ["lost", "read", "written"],
    ]);
  });

  it("are not written to the folder that shows where the disk is not mounted, and are once it is", async () => {
    const dataDir = await tempDirectory();
    let isMounted = false;
    const files = new FilesOfRun(dataDir, undefined, undefined, () =>
      isMounted ? Promise.resolve() : Promise.reject(new Error("the disk is not mounted")),
    );
    await expect(files.writePrivate(join(dataDir, "written"), "1")).rejects.toThrow("not mounted");
    await expect(files.writeAgain()).rejects.toThrow("not mounted");
    expect(await readdir(dataDir)).toEqual([]);
    isMounted = true;
    await files.writeAgain();
    expect(await readdir(dataDir)).toEqual(["written"]);
  });
});
