import { describe, expect, it } from "vitest";
import { jumpMs } from "../../src/runtime/clock.js";
import { tellClockSet } from "../../src/status/status.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import type { RecordBody } from "../../src/journal/records.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

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

function watched(startAt?: number) {
  const clock = new VirtualClock(startAt);
  const { log, lines } = capturedLog();
  const records: RecordBody[] = [];
  const life = new AbortController();
  const store = new GreenhouseStore(mirrorSettings(), clock, (text) => text);
  store.onClockSet((byMs) => tellClockSet(byMs, { clock, log }, (record) => records.push(record)));
  const running = store.run(life.signal);
  const end = async () => {
    life.abort();
    await running;
  };
  return { clock, lines, records, end };
}

describe("jumps of the wall clock", () => {
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
