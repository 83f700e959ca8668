import { describe, expect, it } from "vitest";
import { readPauseMs, stuckPart, tellManager } from "../../src/status/status.js";
import { capturedLog } from "../mqtt-connection/support.js";
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
  const ports = {
    manager: { watchdogMs, tell: (...assignments: string[]) => told.push(...assignments) },
    ...{ clock, log, status: () => "all is well" },
    progress: () => {
      if (state.works) state.outputsAt = clock.monotonic();
      return { ...state, startedAt: 0, readPauseMs: 1e9 };
    },
  };
  const running = tellManager(ports, life.signal);
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
