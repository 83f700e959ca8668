import { describe, expect, it } from "vitest";
import type { Controller, Quality, Sensor } from "../../src/greenhouse/model.js";
import { TrendRing } from "../../src/http/trends.js";
import { VirtualClock } from "../support/virtual-clock.js";

const minuteMs = 60_000;

interface Shown {
  readonly value: number | null;
  readonly quality: Quality;
}

function scene(sensors: number, bytes?: number) {
  const clock = new VirtualClock();
  const shown: Shown[] = Array.from({ length: sensors }, () => ({ value: 0, quality: "good" }));
  const controllers = () => {
    const map = new Map<string, Sensor>();
    for (const [at, one] of shown.entries())
      map.set(`s${at}`, { ...one, definition: { id: `s${at}`, numeric: true } } as unknown as Sensor);
    return [{ info: { id: "c" }, sensors: map } as unknown as Controller];
  };
  const ring = new TrendRing(clock, controllers, bytes);
  const minute = async (one: Shown) => {
    shown.fill(one);
    await clock.advance(minuteMs);
    ring.sample();
  };
  const newest = (count: number) => (ring.of("c", ["s0"], 1_440).sensors["s0"] ?? []).slice(-count);
  return { clock, ring, minute, newest, shown };
}

describe("the trend of a sensor", () => {
  it("is a point a minute, with a gap where nothing good was known", async () => {
    const { minute, newest } = scene(1);
    await minute({ value: 20.5, quality: "good" });
    await minute({ value: 21, quality: "uncertain" });
    await minute({ value: 21, quality: "stale" });
    await minute({ value: 99, quality: "bad" });
    await minute({ value: 22, quality: "good" });
    expect(newest(6)).toEqual([null, 20.5, 21, null, null, 22]);
  });

  it("has gaps where nobody sampled, and forgets what is older than a day", async () => {
    const { clock, minute, newest } = scene(1);
    await minute({ value: 1, quality: "good" });
    await clock.advance(2 * minuteMs);
    await minute({ value: 2, quality: "good" });
    expect(newest(4)).toEqual([1, null, null, 2]);
    await clock.advance(24 * 60 * minuteMs);
    await minute({ value: 3, quality: "good" });
    expect(newest(1_440).filter((point) => point !== null)).toEqual([3]);
  });

  it("stays within its memory by keeping fewer points of more sensors", async () => {
    const sensors = 50;
    const { minute, ring, newest } = scene(sensors, 100 * 1_000);
    for (let value = 1; value <= 60; value += 1) await minute({ value, quality: "good" });
    expect(ring.bytes).toBeLessThanOrEqual(100_000);
    const { step_s: step } = ring.of("c", ["s0"], 1_440);
    expect(step).toBe(240);
    expect(newest(1)).toEqual([60]);
    expect(newest(10)).not.toContain(null);
  });

  it("takes memory as it comes, and no more after a day", async () => {
    const { minute, ring } = scene(10);
    await minute({ value: 1, quality: "good" });
    expect(ring.bytes).toBe(40);
    for (let times = 0; times < 1_500; times += 1) await minute({ value: 1, quality: "good" });
    expect(ring.bytes).toBe(40 * 1_440);
  });

  it("that is gone for a while has a gap, and leaves its place to nobody else", async () => {
    const { minute, ring, shown } = scene(2);
    await minute({ value: 7, quality: "good" });
    shown.pop();
    await minute({ value: 8, quality: "good" });
    shown.push({ value: 9, quality: "good" });
    await minute({ value: 9, quality: "good" });
    const { s0, s1 } = ring.of("c", ["s0", "s1"], 1_440).sensors;
    expect([s0?.slice(-4), s1?.slice(-4)]).toEqual([
      [null, 7, 8, 9],
      [null, 7, null, 9],
    ]);
  });

  it("is forgotten where sensors are invented without end", async () => {
    const { minute, ring, shown } = scene(2_000);
    await minute({ value: 7, quality: "good" });
    shown.length = 1;
    await minute({ value: 8, quality: "good" });
    expect(ring.bytes).toBe(4);
  });

  it("is told with as few points as somebody can see", async () => {
    const { minute, ring } = scene(1);
    for (let value = 1; value <= 30; value += 1) await minute({ value, quality: "good" });
    const { sensors, step_s: step } = ring.of("c", ["s0"], 96);
    expect([sensors["s0"]?.length, step]).toEqual([96, 900]);
    expect(sensors["s0"]?.slice(-3)).toEqual([null, 15, 30]);
  });
});
