import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { journalDirectory } from "../../src/journal/open.js";
import { awaitProven, beginLife, isProven } from "../../src/status/crash-loop.js";
import { Journal } from "../../src/journal/journal.js";
import type { RecordBody } from "../../src/journal/records.js";
import { capturedLog } from "../journal/support/captured-log.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";

const minute = 60_000;

describe("a run has shown that it works", () =>
  it.each([
    [0, 0, false],
    [0, 15 * minute - 1, false],
    [0, 15 * minute, true],
    [5 * minute, 15 * minute, false],
    [5 * minute, 20 * minute, true],
  ])("begun at %i ms, at %i ms: %s", (startedAt, now, proven) =>
    expect(isProven(startedAt, now)).toBe(proven),
  ));

/** Runs on one data directory whose clock the test moves. */
async function greenhouse() {
  const folder = await mkdtemp(join(tmpdir(), "proven-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const loaded = await configurationOf("http: false", await platform());
  const configuration = { ...loaded, data_dir: folder };
  const begin = async (clock: VirtualClock) => {
    const { log, lines } = capturedLog();
    const journal = await Journal.open(journalDirectory(folder), { clock, log });
    const live = new LiveSettings(configuration);
    const startedAt = clock.monotonic();
    await beginLife(journal, { configuration, clock, log, version: "test" }, live);
    const end = new AbortController();
    const notes: Promise<unknown>[] = [];
    const news: (string | null)[] = [];
    const note = (record: RecordBody) => {
      notes.push(journal.append(record, { durable: true }));
    };
    const onNews = () => {
      news.push(live.readOnlyBecause);
    };
    const proving = awaitProven({ startedAt, clock, log, live, note, onNews }, end.signal);
    /** As a power cut would end it. */
    const cut = async () => {
      end.abort();
      await proving;
      await Promise.all(notes);
      await journal.close();
    };
    return { live, lines, news, cut };
  };
  const crash = async (clock: VirtualClock, times: number) => {
    for (let n = 0; n < times; n += 1) await (await begin(clock)).cut();
  };
  return { begin, crash };
}

describe("a run that is read-only after a crash loop", () => {
  it("takes commands again after 15 minutes, and says so", async () => {
    const { begin, crash } = await greenhouse();
    const clock = new VirtualClock();
    await crash(clock, 5);
    const careful = await begin(clock);
    expect(careful.lines.at(-1)).toContain("takes commands again when it has run for 15 minutes");
    await clock.advance(15 * minute - 1);
    expect(careful.live.readOnlyBecause).toBe("crash_loop");
    expect(careful.live.current.commands.read_only).toBe(true);
    expect(careful.news).toEqual([]);
    await clock.advance(1);
    expect(careful.live.readOnlyBecause).toBeNull();
    expect(careful.live.current.commands.read_only).toBe(false);
    expect(careful.news).toEqual([null]);
    expect(careful.lines.at(-1)).toContain("no longer read-only");
    await careful.cut();
  });

  it("goes by the time it ran and not by the wall clock", async () => {
    const { begin, crash } = await greenhouse();
    const clock = new VirtualClock();
    await crash(clock, 5);
    const careful = await begin(clock);
    clock.setWall(clock.now() + 365 * 24 * 60 * minute);
    await clock.advance(minute);
    expect(careful.live.readOnlyBecause).toBe("crash_loop");
    await careful.cut();
  });

  it("begins anew when it ends before", async () => {
    const { begin, crash } = await greenhouse();
    const clock = new VirtualClock();
    await crash(clock, 5);
    const careful = await begin(clock);
    await clock.advance(minute);
    await careful.cut();
    const next = await begin(clock);
    expect(next.live.readOnlyBecause).toBe("crash_loop");
    await next.cut();
  });
});

describe("a run of 15 minutes that a power cut ended", () =>
  it("counts as good for the next start, also where the clock was set back meanwhile", async () => {
    const { begin, crash } = await greenhouse();
    const clock = new VirtualClock();
    await crash(clock, 4);
    const good = await begin(clock);
    const before = clock.now();
    await clock.advance(16 * minute);
    await good.cut();
    clock.setWall(before + minute);
    const next = await begin(clock);
    expect(next.live.readOnlyBecause).toBeNull();
    expect(good.lines.filter((line) => line.includes("read-only"))).toEqual([]);
    await next.cut();
  }));

describe("several reasons to be read-only", () =>
  it("hold each for itself: the end of one is not the end of the others", async () => {
    const live = new LiveSettings(await configurationOf("http: false", await platform()));
    const holding = new Set(["one", "two"]);
    for (const because of ["one", "two"]) live.forceReadOnly(because, () => holding.has(because));
    expect(live.readOnlyBecause).toBe("one");
    holding.delete("one");
    expect(live.readOnlyBecause).toBe("two");
    expect(live.current.commands.read_only).toBe(true);
    holding.delete("two");
    expect(live.readOnlyBecause).toBeNull();
  }));
