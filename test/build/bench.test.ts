import { describe, expect, it } from "vitest";
import { figure } from "../../bench/figures.mjs";
import { overBars } from "../../bench/fleet-bars.mjs";
import { growthOf, mostGrowth, outOfLine, topicsHeld, worseThan } from "../../bench/kept.mjs";

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

  it.each([
    ["all of them", 100, 4_408, 100, []],
    ["a broker that lost some of each controller", 100, 3_088, 100, ["topics: 3088 topics, and not 4408"]],
    ["one too many", 20, 889, 20, ["topics: 889 topics, and not 888"]],
    ["what a clean-up left", 20, 3, null, ["topics: 3 topics, and not 0"]],
  ])("retained topics are counted: %s", (_, controllers, found, expected, faults) => {
    const held = expected === null ? 0 : topicsHeld(controllers);
    const target = { of: "value", atLeast: held, atMost: held };
    expect(outOfLine([figure("q", "topics", "topics", found, { target })])).toEqual(faults);
  });
});

describe("what the bench says of a fleet", () => {
  const good = {
    ...{ accounts: 1_000, rss_mib: 900, rss_after_restart_mib: 1_000 },
    ...{ cpu_percent_of_a_core: 32, restart_cpu_s_of_a_minute: 25 },
  };
  const fast = { all_read_s: 80, restart_all_read_s: 90 };

  it.each([
    ["within its bars", {}, []],
    [
      "as much as they allow",
      { all_read_s: 120, cpu_percent_of_a_core: 50, restart_cpu_s_of_a_minute: 30 },
      [],
    ],
    [
      "too much work in the minute after the restart",
      { restart_cpu_s_of_a_minute: 31 },
      ["restart_cpu_s_of_a_minute is 31.0"],
    ],
    [
      "too much memory after the restart",
      { rss_after_restart_mib: 1_230 },
      ["rss_after_restart_mib is 1230.0"],
    ],
    ["never read", { restart_all_read_s: null }, ["restart_all_read_s is never"]],
    ["another number of accounts", { accounts: 50, all_read_s: null }, []],
  ])("%s", (_, change, faults) => {
    expect(overBars({ ...good, ...fast, ...change })).toEqual(
      faults.map((one) => expect.stringContaining(one) as string),
    );
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
