import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { journalDirectory } from "../../src/journal/open.js";
import {
  beginLife,
  crashesBefore,
  type EndedRun,
  endLife,
  guardProcess,
} from "../../src/status/crash-loop.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { Journal } from "../../src/journal/journal.js";
import { systemClock } from "../../src/runtime/clock.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { configurationOf, platform } from "../bridge/support/bridge.js";

const now = Date.parse("2026-03-01T08:00:00Z");
const run = (agoS: number, over: Partial<EndedRun> = {}): EndedRun => ({
  at: new Date(now - agoS * 1_000).toISOString(),
  stopped: false,
  worked: false,
  failed: false,
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

/** One run after the other on the same data directory, each in its own way, with the real journal. */
async function lives(kinds: readonly ("killed" | "worked" | "failed" | "stopped")[]) {
  const folder = await mkdtemp(join(tmpdir(), "lives-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { log } = capturedLog();
  const configuration = await configurationOf("http: false", await platform());
  const around = {
    ...{ clock: systemClock, log, version: "test" },
    configuration: { ...configuration, data_dir: folder },
  };
  const begin = async (boot: string) => {
    const journal = await Journal.open(journalDirectory(folder), { clock: systemClock, log, boot });
    const live = new LiveSettings(configuration);
    await beginLife(journal, around, live);
    return { journal, live };
  };
  for (const [place, kind] of kinds.entries()) {
    const { journal } = await begin(`run-${place}`);
    if (kind === "worked" || kind === "failed")
      await journal.append({ type: "result", ...about, result: done }, { durable: false });
    if (kind === "failed") failWith(folder, new Error("boom"));
    if (kind === "stopped") await endLife(journal);
    await journal.close();
  }
  const { journal, live } = await begin("last");
  await journal.close();
  return live.readOnlyBecause;
}

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
    ...{ dataDir, now: () => systemClock.now(), secrets: () => [], fatal: () => undefined },
  });
  listeners[0]?.(error);
}

describe("which lives make a crash loop", () =>
  it.each([
    ["five that ended without a word", ["killed", "killed", "killed", "killed", "killed"], true],
    ["four are not enough", ["killed", "killed", "killed", "killed"], false],
    [
      "not while each did its work until the power went",
      ["worked", "worked", "worked", "worked", "worked", "worked"],
      false,
    ],
    [
      "but when an error that nobody caught ended each, whatever it had done",
      ["failed", "failed", "failed", "failed", "failed"],
      true,
    ],
    [
      "a clean stop among them starts anew",
      ["killed", "failed", "killed", "stopped", "killed", "failed"],
      false,
    ],
    ["mixed ones count together", ["killed", "failed", "killed", "failed", "killed"], true],
  ] as const)("%s: %j → %s", async (_, kinds, isLoop) => {
    expect(await lives(kinds)).toBe(isLoop ? "crash_loop" : null);
  }));
