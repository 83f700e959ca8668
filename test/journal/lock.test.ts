import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import {
  DirectoryInUse,
  holderText,
  identityOf,
  type LockHolder,
  parseHolder,
  showLife,
} from "../../src/journal/lock.js";
import { journalDirectory, openJournal as openLocked } from "../../src/journal/open.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { beginLife } from "../../src/status/crash-loop.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";
import { openJournal, stillClock, tempDirectory, acquire } from "./support/disk.js";
import { tempFolder, capturedLog } from "../mqtt-connection/support.js";

const since = "2026-05-01T06:00:00.000Z";

/** A lock as a process left it that was like us but for `changes`. */
async function leave(directory: string, changes: Partial<LockHolder>): Promise<void> {
  const self = await identityOf(process.pid);
  const holder = { ...self, boot: "gone", since, socket: null, ...changes };
  await writeFile(join(directory, "bridge.lock"), holderText(holder));
}

describe("a data directory", () => {
  it("that is made here is open to its owner alone, and so is the journal in it", async () => {
    const directory = join(await tempDirectory(), "data");
    await acquire(directory);
    await openJournal(join(directory, "journal"));
    const modes = [directory, join(directory, "journal")].map(
      async (path) => (await stat(path)).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o700, 0o700]);
  });

  it("in use by a live bridge refuses a second one and says what to do", async () => {
    const directory = await tempDirectory();
    await acquire(directory);
    const second = acquire(directory);
    await expect(second).rejects.toBeInstanceOf(DirectoryInUse);
    await expect(second).rejects.toThrow(
      new RegExp(
        `in use by another bridge \\(process ${process.pid}, since ${since}\\).*data_dir of its own`,
      ),
    );
  });

  it("given free can be taken again and holds nothing of the lock", async () => {
    const directory = await tempDirectory();
    await (await acquire(directory)).release();
    expect(await readdir(directory)).toEqual([]);
    await acquire(directory);
  });

  it.each<{ rule: string; changes: Partial<LockHolder> }>([
    { rule: "of a dead process", changes: { pid: 2 ** 22 + 1 } },
    { rule: "whose process number another process has now", changes: { started: "1" } },
    { rule: "from before the machine was restarted", changes: { kernel: "another boot" } },
    { rule: "of a container that is gone", changes: { namespace: "pid:[1]", socket: "bridge-gone.sock" } },
    { rule: "of another machine without a sign of life", changes: { kernel: "x", host: "elsewhere" } },
  ])("with a lock $rule is taken over, with a warning", async ({ changes }) => {
    const directory = await tempDirectory();
    await leave(directory, changes);
    const { log, lines } = capturedLog();
    await acquire(directory, log);
    expect(lines).toHaveLength(1);
    expect(parseHolder(await readFile(join(directory, "bridge.lock"), "utf8"))?.pid).toBe(process.pid);
  });

  it.each(["", "{", "null", '{"pid":"1"}', "\u0000".repeat(80)])(
    "with the broken lock %j is taken over",
    async (text) => {
      const directory = await tempDirectory();
      await writeFile(join(directory, "bridge.lock"), text);
      await acquire(directory);
    },
  );

  it("in use by a bridge in another container is refused", async () => {
    const directory = await tempDirectory();
    const endLife = await showLife(directory, "bridge-other.sock");
    onTestFinished(async () => endLife?.());
    await leave(directory, { namespace: "pid:[1]", socket: "bridge-other.sock" });
    await expect(acquire(directory)).rejects.toBeInstanceOf(DirectoryInUse);
  });

  it("whose path is longer than a socket's may be shows life across containers all the same", async () => {
    const directory = join(await tempDirectory(), "d".repeat(120));
    await acquire(directory);
    await expect(acquire(directory)).rejects.toBeInstanceOf(DirectoryInUse);
    const text = await readFile(join(directory, "bridge.lock"), "utf8");
    const holder = { ...(JSON.parse(text) as object), namespace: "pid:[1]" };
    await writeFile(join(directory, "bridge.lock"), `${JSON.stringify(holder)}\n`);
    await expect(acquire(directory)).rejects.toBeInstanceOf(DirectoryInUse);
  });

  it("goes to exactly one of many that start at once over a stale lock", async () => {
    for (let round = 0; round < 20; round += 1) {
      const directory = await tempDirectory();
      await leave(directory, { pid: 2 ** 22 + 1 });
      const starts = await Promise.allSettled(Array.from({ length: 8 }, () => acquire(directory)));
      expect(starts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });

  it("whose taker died half way through taking over is taken over from both", async () => {
    const directory = await tempDirectory();
    await leave(directory, { pid: 2 ** 22 + 1, boot: "first" });
    const root = await readFile(join(directory, "bridge.lock"), "utf8");
    const successor = `bridge.lock.after-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`;
    await writeFile(join(directory, successor), root.replace("first", "second"));
    await acquire(directory);
    await expect(acquire(directory)).rejects.toBeInstanceOf(DirectoryInUse);
    expect((await readdir(directory)).filter((name) => name.startsWith("bridge.lock"))).toEqual([
      "bridge.lock",
    ]);
  });

  it("is not given free by one that has lost it", async () => {
    const directory = await tempDirectory();
    const lock = await acquire(directory);
    await leave(directory, { boot: "thief" });
    await lock.release();
    expect(await readdir(directory)).toEqual(["bridge.lock"]);
  });
});

const note = { type: "delivered", through: 1 } as const;

/** A start in a data directory whose lock cannot be written, though the journal beside it could be. */
async function startWithoutLock() {
  const folder = await tempFolder();
  const hindrance = join(folder, "bridge.lock");
  await mkdir(hindrance);
  const configuration = { ...(await configurationOf("http: false", await platform())), data_dir: folder };
  const clock = stillClock();
  const { log, lines } = capturedLog();
  const around = { configuration, clock, log, random: seededRandom(1), version: "test" };
  const opened = await openLocked({ dataDir: folder, clock, log });
  onTestFinished(() => opened.close());
  const { journal } = opened;
  /** The journal tries again with the next record, a second later. */
  const append = async () => {
    await clock.advance(1_000);
    return journal.append(note, { durable: true });
  };
  const free = () => rm(hindrance, { recursive: true });
  return { folder, around, journal, lines, append, free, hindrance };
}

describe("a start that could not lock the data directory", () => {
  it("has no journal until the directory is locked, even where the journal could be written", async () => {
    const { folder, journal, append, free, hindrance } = await startWithoutLock();
    expect(journal.state().available).toBe(false);
    await expect(append()).rejects.toThrow("cannot be written");
    await free();
    await append();
    expect(journal.state().available).toBe(true);
    expect(await readFile(hindrance, "utf8")).toContain(journal.boot);
    await expect(acquire(folder)).rejects.toBeInstanceOf(DirectoryInUse);
  });

  it("has no journal while another bridge holds the directory, says so, and takes no commands afterwards", async () => {
    const { folder, around, journal, lines, append, free } = await startWithoutLock();
    const live = new LiveSettings(around.configuration);
    await beginLife(journal, around, live);
    await free();
    const other = await acquire(folder);
    await expect(append()).rejects.toMatchObject({ code: "IN_USE" });
    expect(String(journal.state().reason)).toContain("stop that one, then restart this one");
    expect(lines.at(-1)).toMatch(/^error .*no commands are taken/);
    await other.release();
    await append();
    expect(journal.state().available).toBe(true);
    expect(live.readOnlyBecause).toBe("journal_unread");
  });

  it("takes commands as soon as the directory is locked when nobody else worked there", async () => {
    const { around, journal, append, free } = await startWithoutLock();
    const live = new LiveSettings(around.configuration);
    await beginLife(journal, around, live);
    await free();
    await append();
    expect(live.readOnlyBecause).toBeNull();
    expect(journal.state().available).toBe(true);
  });
});

it("a data directory deleted under the running bridge is locked again before the journal is back", async () => {
  const { folder, journal, append, free, hindrance } = await startWithoutLock();
  await free();
  await append();
  await rm(hindrance);
  await rm(journalDirectory(folder), { recursive: true });
  await expect(append()).rejects.toMatchObject({ code: "ENOENT" });
  await append();
  expect(await readFile(hindrance, "utf8")).toContain(journal.boot);
});
