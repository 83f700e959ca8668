import { describe, expect, it } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { journalDirectory } from "../../src/journal/open.js";
import {
  awaitProven,
  beginLife,
  crashesBefore,
  crashLoopText,
  endLife,
  guardProcess,
} from "../../src/status/crash-loop.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { Journal } from "../../src/journal/journal.js";
import type { RecordedStart } from "../../src/journal/records.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";
import { tempFolder, capturedLog } from "../mqtt-connection/support.js";

const minute = 60_000;
const now = Date.parse("2026-03-01T08:00:00Z");
const run = (agoS: number, over: Partial<RecordedStart> = {}) => ({
  at: new Date(now - agoS * 1_000).toISOString(),
  stopped: false,
  ...over,
});
const stopped = { stopped: true };
const worked = { worked: true };

describe("how many runs just crashed", () =>
  it.each([
    ["no run before", [], 0],
    ["one that ended in order", [run(60, stopped)], 0],
    ["one that did not", [run(60)], 1],
    ["five", [run(500), run(400), run(300), run(200), run(100)], 5],
    ["a clean stop ends the row", [run(400), run(300, stopped), run(200), run(100)], 2],
    ["the newest was clean", [run(300), run(200), run(100, stopped)], 0],
    ["the power went while commands were carried out", [run(300), run(200), run(100, worked)], 0],
    ["such a run ends the row", [run(300), run(200, worked), run(100)], 1],
    ["an uncaught error is a crash whatever was done before", [run(9, { failed: true, worked: true })], 1],
    ["what is longer ago than 10 min counts no more", [run(700), run(601), run(600), run(1)], 2],
    ["a clock that was set back a little", [run(-30), run(10)], 2],
    ["another time altogether", [run(10), run(-86_400)], 0],
    ["an unreadable time", [run(10), { ...run(0), at: "" }], 0],
  ])("%s → %i", (_, runs, crashes) => expect(crashesBefore(runs, now)).toBe(crashes)));

type Kind = "killed" | "worked" | "failed" | "stopped";

/** Runs on one data directory, with the real journal and a clock that the test moves. */
async function greenhouse() {
  const folder = await tempFolder();
  const loaded = await configurationOf("http: false", await platform());
  const configuration = { ...loaded, data_dir: folder };
  const clock = new VirtualClock(now);
  const begin = async () => {
    const { log, lines } = capturedLog();
    const journal = await Journal.open(journalDirectory(folder), { clock, log });
    const live = new LiveSettings(configuration);
    const startedAt = clock.monotonic();
    const told = await beginLife(journal, { configuration, clock, log, version: "test" }, live);
    const end = new AbortController();
    const news: (string | null)[] = [];
    const proving = awaitProven({ clock, log, journal }, live, startedAt, end.signal).then((isNews) => {
      if (isNews) news.push(live.readOnlyBecause);
    });
    /** In its own way: killed as a power cut would end it. */
    const over = async (kind: Kind = "killed") => {
      if (kind === "worked" || kind === "failed")
        await journal.append({ type: "result", ...about, result: done }, { durable: false });
      if (kind === "failed") failWith(folder, new Error("boom"));
      if (kind === "stopped") await endLife(journal);
      end.abort();
      await proving;
      await journal.close();
    };
    return { live, lines, news, told, over };
  };
  const lives = async (kinds: readonly Kind[]) => {
    for (const kind of kinds) await (await begin()).over(kind);
  };
  return { clock, begin, lives };
}

const times = (count: number, kind: Kind) => Array<Kind>(count).fill(kind);

const about = { controller: "GH-0001", actuator: "fan" };
const done: CommandResult = {
  ...{ id: "1", controller: "gh-0001", actuator: "fan", command: "on", value: "1010" },
  ...{ outcome: "confirmed", reason: null, message: null, request_id: null, by: null, via: null },
  ...{ steps: [], read_back: "1010", received_at: "2026-03-01T08:00:00.000Z", sent_at: null },
  ...{ finished_at: "2026-03-01T08:00:01.000Z", duration_ms: 1, repeated: false, interlock: null },
};

/** What the guard does with an error, without ending the test's own process. */
function failWith(dataDir: string, error: unknown): void {
  const listeners: ((error: unknown) => void)[] = [];
  guardProcess({
    process: { on: (_, listener) => listeners.push(listener), off: () => undefined, exit: () => undefined },
    ...{ dataDir, now: () => now, secrets: () => [], fatal: () => undefined },
  });
  listeners[0]?.(error);
}

describe("which lives make a crash loop", () =>
  it.each<[string, Kind[], boolean]>([
    ["five that ended without a word", times(5, "killed"), true],
    ["four are not enough", times(4, "killed"), false],
    ["not while each did its work until the power went", times(6, "worked"), false],
    ["but when an error that nobody caught ended each, whatever it had done", times(5, "failed"), true],
    [
      "a clean stop among them starts anew",
      ["killed", "failed", "killed", "stopped", "killed", "failed"],
      false,
    ],
    ["mixed ones count together", ["killed", "failed", "killed", "failed", "killed"], true],
  ])("%s: %j → %s", async (_, kinds, isLoop) => {
    const { begin, lives } = await greenhouse();
    await lives(kinds);
    const last = await begin();
    expect(last.live.readOnlyBecause).toBe(isLoop ? "crash_loop" : null);
    await last.over();
  }));

describe("a run that is read-only after a crash loop", () => {
  it("takes commands again after 15 minutes, and says so", async () => {
    const { clock, begin, lives } = await greenhouse();
    await lives(times(5, "killed"));
    const careful = await begin();
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
    await careful.over();
  });

  it("tells which build ended and the newest error with its place, until it has run for 15 minutes", async () => {
    const { clock, begin, lives } = await greenhouse();
    await lives(times(4, "failed"));
    expect((await begin()).told()).toBeNull();
    await lives(["failed", "killed"]);
    const careful = await begin();
    expect(careful.told()).toMatch(
      /^The last \d runs \(version test\).* Error: boom at .*crash-loop\.test\.ts/,
    );
    await clock.advance(15 * minute);
    expect(careful.told()).toBeNull();
    await careful.over();
  });

  it("tells no more than 1,000 characters, whatever was thrown", () => {
    const error = `Error: ${"x".repeat(5_000)}\n${"    at somewhere\n".repeat(100)}`;
    expect(crashLoopText([{ version: "1.0.0" }, { version: "1.0.1" }], error)).toHaveLength(1_000);
    expect(crashLoopText([{ version: "1.0.0" }, { version: "1.0.1" }], null)).toBe(
      "The last 2 runs (version 1.0.0, 1.0.1) ended without being asked to, so this one refuses commands. None of them left an error behind: they were killed, or memory or power ran out.",
    );
  });

  it("goes by the time it ran and not by the wall clock", async () => {
    const { clock, begin, lives } = await greenhouse();
    await lives(times(5, "killed"));
    const careful = await begin();
    clock.setWall(clock.now() + 365 * 24 * 60 * minute);
    await clock.advance(minute);
    expect(careful.live.readOnlyBecause).toBe("crash_loop");
    await careful.over();
  });

  it("begins anew when it ends before", async () => {
    const { clock, begin, lives } = await greenhouse();
    await lives(times(5, "killed"));
    const careful = await begin();
    await clock.advance(minute);
    await careful.over();
    const next = await begin();
    expect(next.live.readOnlyBecause).toBe("crash_loop");
    await next.over();
  });
});

describe("a run of 15 minutes that a power cut ended", () =>
  it("counts as good for the next start, also where the clock was set back meanwhile", async () => {
    const { clock, begin, lives } = await greenhouse();
    await lives(times(4, "killed"));
    const good = await begin();
    const before = clock.now();
    await clock.advance(16 * minute);
    await good.over();
    clock.setWall(before + minute);
    const next = await begin();
    expect(next.live.readOnlyBecause).toBeNull();
    expect(good.lines.filter((line) => line.includes("read-only"))).toEqual([]);
    await next.over();
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
