import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pace } from "../../../src/setup/discover/asker.js";
import { VirtualClock } from "../../support/virtual-clock.js";

const minuteMs = 60_000;

/** The most requests any 60 s hold. */
const busiest = (times: readonly number[]): number =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at <= from + minuteMs).length));

async function starts(perMinute: number, workers: number, each: number, extra: () => boolean = () => false) {
  const clock = new VirtualClock();
  const times: number[] = [];
  let extras = 0;
  const pace = new Pace(perMinute, clock, () => extras);
  const worker = async () => {
    for (let n = 0; n < each; n += 1) {
      await pace.turn(new AbortController().signal);
      times.push(clock.monotonic());
      if (!extra()) continue;
      extras += 1;
      times.push(clock.monotonic());
    }
  };
  const done = Promise.all(Array.from({ length: workers }, worker));
  await clock.advance(minuteMs * 60);
  await done;
  return times;
}

describe("the pace of requests", () => {
  it("no 60 s hold more requests than the budget, however many ask at once", async () => {
    for (const perMinute of [1, 7, 60, 300]) {
      const times = await starts(perMinute, 4, perMinute === 1 ? 5 : perMinute);
      expect(times.length).toBeGreaterThan(perMinute);
      expect(busiest(times)).toBeLessThanOrEqual(perMinute);
    }
  });

  it("they are spread over the minute, not sent in a burst at its beginning", async () => {
    const times = await starts(60, 4, 15);
    expect(times[29] ?? 0).toBeGreaterThan(28_000);
  });

  it("what the client repeats by itself is counted in, for any share up to a twentieth", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 20, max: 300 }), async (perMinute) => {
        let n = 0;
        const times = await starts(perMinute, 1, perMinute * 3, () => ++n % 25 === 0);
        expect(busiest(times)).toBeLessThanOrEqual(perMinute);
      }),
      { numRuns: 10 },
    );
  });

  it("without a budget nobody waits", async () => {
    const clock = new VirtualClock();
    const pace = new Pace(0, clock, () => 0);
    for (let n = 0; n < 1_000; n += 1) await pace.turn(new AbortController().signal);
    expect(clock.monotonic()).toBe(0);
  });

  it("a stop ends the wait, and gives no turn to who comes later", async () => {
    const clock = new VirtualClock();
    const pace = new Pace(1, clock, () => 0);
    const stop = new AbortController();
    await pace.turn(stop.signal);
    const waiting = pace.turn(stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(pace.turn(stop.signal)).rejects.toThrow("enough");
  });
});
