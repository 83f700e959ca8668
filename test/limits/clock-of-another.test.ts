import { expect, it } from "vitest";
import { inForceNow, isRuleDue } from "../../src/limits/rules/due.js";
import { afterClockSet, newEntry, restore } from "../../src/limits/rules/entry.js";
import type { LimitContext } from "../../src/limits/rules/guards.js";
import { actuator } from "../support/builders.js";

const hourMs = 3_600_000;
const kept = {
  guards: {},
  starts: [],
  moved_until: null,
  direction: null,
  lock: null,
  lease: { id: "c1", by: null, command: "on", ends_with: "off", until: 10 * 60_000 },
  hold: null,
};

/** A lease of ten more minutes, at its next owner whose clock is so much ahead. */
function left(clockAheadMs: number, isOfCluster = true, setByMs = 0) {
  const at = { at: clockAheadMs, mono: 0, isBehind: false, isOpen: () => false };
  const restored = restore(newEntry("GH-0001", actuator({ id: "valve" })), kept, { ...at, isOfCluster });
  const entry = setByMs === 0 ? restored : afterClockSet(restored, setByMs, 0);
  const isDue = (mono: number, aheadMs: number | null, isReachable = true) => {
    const context = {
      own: { platformAnswers: isReachable },
      now: { mono, watchedSince: 0, iso: () => "" },
      startedAt: 0,
      aheadMs,
    } as unknown as LimitContext;
    return isRuleDue(inForceNow(entry, context), mono);
  };
  return isDue;
}

it("the lease of another computer's run waits for the platform's time: a clock that is ahead does not end it", () => {
  const isDue = left(hourMs);
  expect(isDue(1_000, null)).toBe(false);
  expect(isDue(20_000, hourMs)).toBe(false);
  expect(isDue(9 * 60_000, hourMs)).toBe(false);
  expect(isDue(10 * 60_000, hourMs)).toBe(true);
});

it("and ends in its time by a clock that is right, or where the platform answers and tells none", () => {
  expect(left(0)(9 * 60_000, 0)).toBe(false);
  expect(left(0)(10 * 60_000, 0)).toBe(true);
  expect(left(hourMs)(29_000, null)).toBe(false);
  expect(left(hourMs)(31_000, null)).toBe(true);
  expect(left(hourMs)(60_000, null, false)).toBe(false);
});

it("one of the same computer's run ends at once", () => {
  expect(left(hourMs, false)(1_000, null)).toBe(true);
});

it("a clock that is set right before the platform tells the time ends it no sooner and no later", () => {
  for (const aheadMs of [hourMs, -100_000]) {
    expect(left(aheadMs, true, -aheadMs)(9 * 60_000, 0), String(aheadMs)).toBe(false);
    expect(left(aheadMs, true, -aheadMs)(10 * 60_000, 0), String(aheadMs)).toBe(true);
  }
});

it("one that is set for the worse is judged by the platform's time all the same", () => {
  expect(left(0, true, hourMs)(9 * 60_000, hourMs)).toBe(false);
  expect(left(0, true, hourMs)(10 * 60_000, hourMs)).toBe(true);
});
