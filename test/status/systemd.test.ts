import { describe, expect, it } from "vitest";
import type { RecordBody } from "../../src/journal/records.js";
import { jumpMs } from "../../src/runtime/clock.js";
import { readPauseMs, stuckPart, tellClockSet, tellManager } from "../../src/status/status.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const fine = { startedAt: 0, lateMs: 5, outputsAt: 999_000, readEndedAt: 990_000, readPauseMs: 300_000 };

describe("which part makes no progress", () => {
  it.each([
    ["all do", {}, null],
    ["the event loop is a second late", { lateMs: 1_001 }, "event loop"],
    ["outputs stood still for half a minute", { outputsAt: 969_999 }, "outputs"],
    ["outputs never began", { outputsAt: null }, "outputs"],
    ["no read ended for long", { readEndedAt: 699_999 }, "polling"],
    ["no read has ended yet, just started", { readEndedAt: null, startedAt: 900_000 }, null],
    ["no read ever ended", { readEndedAt: null }, "polling"],
    ["intervals of an hour leave pauses", { readEndedAt: 0, readPauseMs: 3 * 3_600_000 }, null],
  ])("%s: %j → %s", (_, over, part) => expect(stuckPart({ ...fine, ...over }, 1_000_000)).toBe(part));

  it("a pause between reads may be three of the shortest intervals, and five minutes at least", () =>
    expect([60_000, 600_000].map(readPauseMs)).toEqual([300_000, 1_800_000]));
});

function watchdog(watchdogMs: number | null) {
  const clock = new VirtualClock();
  const { log, lines } = capturedLog();
  const told: string[] = [];
  const state = { outputsAt: 0, readEndedAt: 0, works: true };
  const life = new AbortController();
  const manager = { watchdogMs, tell: (...assignments: string[]) => told.push(...assignments) };
  const look = () => {
    if (state.works) state.outputsAt = clock.monotonic();
    const { outputsAt, readEndedAt } = state;
    return { outputsAt, readEndedAt, startedAt: 0, readPauseMs: 1e9, line: "all is well" };
  };
  const running = tellManager(manager, look, { clock, log }, life.signal);
  const end = async () => {
    life.abort();
    await running;
  };
  const pings = () => told.filter((one) => one === "WATCHDOG=1").length;
  return { clock, lines, told, state, pings, end };
}

describe("signs of life", () => {
  it("come four times per watchdog time, between READY and STOPPING", async () => {
    const { clock, told, pings, end } = watchdog(60_000);
    expect(told).toEqual(["READY=1", "STATUS=all is well"]);
    await clock.advance(60_000);
    expect(pings()).toBe(4);
    await end();
    expect(told.slice(-2)).toEqual(["STOPPING=1", "STATUS=stopping"]);
  });

  it("end when a part makes no progress, which is logged once, and come back with it", async () => {
    const { clock, lines, told, state, pings, end } = watchdog(60_000);
    await clock.advance(60_000);
    state.works = false;
    await clock.advance(45_000);
    const before = pings();
    await clock.advance(120_000);
    expect(pings()).toBe(before);
    expect(told.at(-1)).toBe("STATUS=outputs makes no progress");
    expect(lines.filter((line) => line.startsWith("error"))).toHaveLength(1);
    state.works = true;
    await clock.advance(30_000);
    expect(pings()).toBe(before + 2);
    await end();
  });

  it("are not sent to a manager that does not wait for them", async () => {
    const { clock, told, pings, end } = watchdog(null);
    await clock.advance(600_000);
    expect(pings()).toBe(0);
    expect(told.filter((one) => one.startsWith("STATUS=")).length).toBeGreaterThan(10);
    await end();
  });
});

const year = 365 * 86_400_000;

describe("whether the clock was set", () =>
  it.each([
    ["only time passed", 1_000, 1_000, null],
    ["the look came late", 45_000, 45_000, null],
    ["a time server slewed it", 1_001, 1_000, null],
    ["a step of two seconds is still daily work", 3_000, 1_000, null],
    ["a step of more than that", 3_001, 1_000, 2_001],
    ["an hour back", -3_599_000, 1_000, -3_600_000],
    ["from 1970 to today", 56 * year, 1_000, 56 * year - 1_000],
    ["ten years ahead", 10 * year, 1_000, 10 * year - 1_000],
  ])("%s: wall %d, monotonic %d → %s", (_, wall, monotonic, by) => {
    expect(jumpMs(1_000_000 - 500, 1_000_000 + wall - (500 + monotonic))).toBe(by);
  }));

function watchedFromStart(startAt?: number) {
  const clock = new VirtualClock(startAt);
  const { log, lines } = capturedLog();
  const records: RecordBody[] = [];
  const life = new AbortController();
  const store = new GreenhouseStore(mirrorSettings(), clock, (text) => text);
  store.onClockSet((byMs) => tellClockSet(byMs, { clock, log }, (record) => records.push(record)));
  let running: Promise<void> | null = null;
  const run = () => {
    running = store.run(life.signal);
  };
  const end = async () => {
    life.abort();
    await running;
  };
  return { clock, lines, records, run, end };
}

function watched(startAt?: number) {
  const { run, ...rest } = watchedFromStart(startAt);
  run();
  return rest;
}

describe("jumps of the wall clock", () => {
  it("are noted also when a time server sets the clock while the bridge is still starting", async () => {
    const { clock, records, run, end } = watchedFromStart(0);
    await clock.advance(8_000);
    clock.setWall(Date.parse("2026-03-01T08:00:00Z"));
    run();
    await clock.advance(2_000);
    await end();
    expect(records).toEqual([{ type: "clock_jump", by_ms: Date.parse("2026-03-01T08:00:00Z") - 8_000 }]);
  });

  it("are said once each, in the log and in the journal", async () => {
    const { clock, lines, records, end } = watched(0);
    await clock.advance(10_000);
    expect(records).toEqual([]);
    clock.setWall(Date.parse("2026-03-01T08:00:00Z"));
    await clock.advance(60_000);
    clock.setWall(clock.now() - 14 * 86_400_000);
    await clock.advance(60_000);
    await end();
    expect(records).toEqual([
      { type: "clock_jump", by_ms: Date.parse("2026-03-01T08:00:00Z") - 10_000 },
      { type: "clock_jump", by_ms: -14 * 86_400_000 },
    ]);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("2026-03-01T08:00:0");
  });

  it("to a time no calendar knows are said as well", async () => {
    const { clock, records, end } = watched();
    clock.setWall(9e15);
    await clock.advance(2_000);
    await end();
    expect(records).toHaveLength(1);
  });
});
