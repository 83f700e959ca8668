import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestBudget } from "../../src/runtime/schedule.js";
import { stretchFactor } from "../../src/sync/poll-plan.js";

describe("the request budget", () => {
  it("that is used up waits for the oldest to be a minute old", () => {
    const budget = new RequestBudget(3);
    for (const at of [0, 10, 20]) budget.spend(at);
    expect(budget.waitMs(30)).toBe(59_971);
    expect(budget.left(30)).toBe(0);
    expect(budget.waitMs(60_001)).toBe(0);
    expect(budget.left(60_006)).toBe(1);
  });

  it("lets half of it go at once and spreads the rest, so that there is always another soon", () => {
    const budget = new RequestBudget(300);
    const starts: number[] = [];
    for (let now = 0; now < 300_000;) {
      now += budget.waitMs(now);
      budget.spend(now);
      starts.push(now);
    }
    expect(starts[149]).toBe(0);
    const gaps = starts.slice(1).map((at, place) => at - (starts[place] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(500);
    expect(starts.filter((at) => at >= 120_000 && at < 180_000).length).toBeGreaterThan(290);
  });

  it("0 means no limit", () => {
    const budget = new RequestBudget(0);
    for (let n = 0; n < 10_000; n++) budget.spend(0);
    expect(budget.waitMs(0)).toBe(0);
    expect(budget.left(0)).toBeNull();
  });

  it("is never exceeded in any 60 s, whatever the demand", () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }),
        (perMinute, gaps) => {
          const budget = new RequestBudget(perMinute);
          const starts: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            now += budget.waitMs(now);
            budget.spend(now);
            starts.push(now);
          }
          for (const [place, at] of starts.entries()) {
            const inWindow = starts.slice(place).filter((other) => other < at + 60_000).length;
            expect(inWindow).toBeLessThanOrEqual(perMinute);
          }
        },
      ),
    ));
});

describe("intervals stretch evenly", () =>
  it.each([
    [100, 300, 1],
    [300, 300, 1],
    [600, 300, 2],
    [600, 0, 1],
  ])("a demand of %d with a budget of %d: times %d", (demand, budget, factor) =>
    expect(stretchFactor(demand, budget)).toBe(factor),
  ));
