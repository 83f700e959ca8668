import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { beginLife } from "../../src/status/crash-loop.js";
import { DirectoryInUse, DirectoryLock } from "../../src/journal/lock.js";
import { seededRandom } from "../../src/runtime/random.js";
import { capturedLog } from "../journal/support/captured-log.js";
import { silentLog } from "../support/builders.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";
import { stillClock } from "./support/test-journal.js";

const note = { type: "delivered", through: 1 } as const;

/** A start in a data directory whose lock cannot be written, though the journal beside it could be. */
async function startWithoutLock() {
  const folder = await mkdtemp(join(tmpdir(), "late-lock-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const hindrance = join(folder, "bridge.lock");
  await mkdir(hindrance);
  const configuration = { ...(await configurationOf("http: false", await platform())), data_dir: folder };
  const clock = stillClock();
  const { log, lines } = capturedLog();
  const around = { configuration, clock, log, random: seededRandom(1), version: "test" };
  const opened = await openJournal({ dataDir: folder, clock, log });
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

const otherBridge = (folder: string) =>
  DirectoryLock.acquire(folder, { boot: "other", at: "2026-05-01", pid: process.pid, log: silentLog });

describe("a start that could not lock the data directory", () => {
  it("has no journal until the directory is locked, even where the journal could be written", async () => {
    const { folder, journal, append, free, hindrance } = await startWithoutLock();
    expect(journal.state().available).toBe(false);
    await expect(append()).rejects.toThrow("cannot be written");
    await free();
    await append();
    expect(journal.state().available).toBe(true);
    expect(await readFile(hindrance, "utf8")).toContain(journal.boot);
    await expect(otherBridge(folder)).rejects.toBeInstanceOf(DirectoryInUse);
  });

  it("has no journal while another bridge holds the directory, says so, and takes no commands afterwards", async () => {
    const { folder, around, journal, lines, append, free } = await startWithoutLock();
    const live = new LiveSettings(around.configuration);
    await beginLife(journal, around, live);
    await free();
    const other = await otherBridge(folder);
    await expect(append()).rejects.toMatchObject({ code: "IN_USE" });
    expect(journal.state().reason).toContain("stop that one, then restart this one");
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
