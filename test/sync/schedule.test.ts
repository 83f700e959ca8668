import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestBudget, Rest, Schedule } from "../../src/runtime/schedule.js";
import { nextDueAt, stretchFactor } from "../../src/sync/poll-plan.js";

type Step = readonly ["set", string, number] | readonly ["delete", string] | readonly ["take"];

const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("set" as const), key, fc.integer({ min: 0, max: 20 })),
  fc.tuple(fc.constant("delete" as const), key),
  fc.tuple(fc.constant("take" as const)),
);

describe("the schedule", () =>
  it("always gives a key of the earliest due time, the last one it was given", () =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const schedule = new Schedule<string>();
        const model = new Map<string, number>();
        for (const one of steps) {
          if (one[0] === "set") {
            schedule.set(one[1], one[2]);
            model.set(one[1], one[2]);
          } else if (one[0] === "delete") {
            schedule.delete(one[1]);
            model.delete(one[1]);
          } else {
            const earliest = Math.min(...model.values());
            const taken = schedule.take();
            if (taken === null) expect(model.size).toBe(0);
            else {
              expect(model.get(taken)).toBe(earliest);
              model.delete(taken);
            }
          }
          const first = schedule.first();
          expect(first?.at).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
          for (const name of "abcdefg") expect(schedule.dueAt(name)).toBe(model.get(name));
        }
      }),
      { numRuns: 2_000 },
    )));

it("gives keys of one due time in the order of setting", () =>
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }), (times) => {
      const schedule = new Schedule<number>();
      for (const [key, at] of times.entries()) schedule.set(key, at);
      const wanted = [...times.keys()].sort((one, other) => (times[one] ?? 0) - (times[other] ?? 0));
      expect(times.map(() => schedule.take())).toEqual(wanted);
    }),
  ));

describe("when a job runs next", () => {
  it("is at least nearly half an interval away, at most little more than one and a half", () => {
    const now = fc.double({ min: 0, max: 1e9, noNaN: true });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(
        fc.string(),
        now,
        fc.integer({ min: 1_000, max: 3_600_000 }),
        chance,
        (job, at, interval, luck) => {
          const away = nextDueAt(job, at, interval, luck) - at;
          expect(away).toBeGreaterThan(0.44 * interval);
          expect(away).toBeLessThan(1.56 * interval);
        },
      ),
    );
  });

  it("spreads 1,000 jobs over the interval: no tenth of it has more than a fifth too many", () => {
    const tenths = new Array<number>(10).fill(0);
    for (let n = 0; n < 1_000; n++) {
      const tenth = Math.floor((nextDueAt(`sensors GH-${n}`, 1e6, 60_000, 0.5) % 60_000) / 6_000);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(Math.max(...tenths)).toBeLessThanOrEqual(140);
    expect(Math.min(...tenths)).toBeGreaterThanOrEqual(60);
  });
});

it("a rest of months asks no timer for more than it can hold, as that would fire at once", async () => {
  const asked: number[] = [];
  const wait = (ms: number) => Promise.resolve(void asked.push(ms));
  const clock = { now: () => 0, monotonic: () => 0, wait };
  await new Rest(clock).for(90 * 86_400_000, new AbortController().signal);
  expect(asked).toEqual([2 ** 31 - 1]);
});

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
