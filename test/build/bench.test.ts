import { describe, expect, it } from "vitest";
import { figure } from "../../bench/figures.mjs";
import { growthOf, mostGrowth, outOfLine, worseThan } from "../../bench/kept.mjs";

/** Seconds of work for so many controllers, by what one costs. */
const rows = (costOfOne: (controllers: number) => number) =>
  [20, 500, 2_000].map((controllers) => ({ controllers, cost: controllers * costOfOne(controllers) }));
const timesOf = (costOfOne: (controllers: number) => number) =>
  growthOf(rows(costOfOne)).map(({ times }) => Number(times.toFixed(2)));

describe("what the bench says of a growing account", () => {
  it("work that costs n is in line, and so is work that begins with something fixed", () => {
    expect(timesOf(() => 0.002)).toEqual([1, 1]);
    expect(Math.max(...timesOf((controllers) => 0.002 + 0.3 / controllers))).toBeLessThan(1);
  });

  it("a planted n² is out of line, also where it is half of the work", () => {
    expect(Math.max(...timesOf((controllers) => controllers * 1e-6))).toBeGreaterThan(mostGrowth);
    expect(timesOf((controllers) => 0.001 + controllers * 2e-6)[1]).toBeGreaterThan(mostGrowth);
  });

  it("less than the processor's clock can tell is no growth", () => {
    expect(Math.max(...growthOf(rows(() => 1e-9)).map(({ times }) => times))).toBeLessThan(1);
  });

  it("names the row that is out of line", () => {
    const target = { of: "value", atMost: mostGrowth };
    const figures = [1.2, 1.4].map((times) => figure("q", `a sweep, ${times}`, "times", times, { target }));
    expect(outOfLine(figures)).toEqual([expect.stringContaining("a sweep, 1.4: 1.40 times")]);
  });
});

describe("what the bench says of the landing before", () => {
  const told = (ratio: number) => [figure("a", "messages", "messages", ratio, { bare: 1, isKept: true })];

  it("a ratio to the bare loop that is worse by more than a tenth fails, and what has none to compare with does not", () => {
    expect(worseThan({ messages: 2 }, told(2.19))).toEqual([]);
    expect(worseThan({ messages: 2 }, told(2.21))).toEqual([
      "messages: 2.21 times the bare loop, 2 at the landing before",
    ]);
    expect(worseThan({}, told(9))).toEqual([]);
  });
});
