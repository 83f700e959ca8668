import { describe, expect, it } from "vitest";
import { type End, FrameRate, liveness, pauseMs, triesAfter } from "../../../src/platform/push/connection.js";

describe("liveness of an open channel", () => {
  it.each([
    ["just heard: ask in 20 s", { heardAt: 0, pingedAt: null }, 0, { type: "wait", ms: 20_000 }],
    ["20 s of silence: ask", { heardAt: 0, pingedAt: null }, 20_000, { type: "ping" }],
    ["asked: wait for 20 s", { heardAt: 0, pingedAt: 20_000 }, 20_000, { type: "wait", ms: 20_000 }],
    ["no answer to the first: ask again", { heardAt: 0, pingedAt: 20_000 }, 40_000, { type: "ping" }],
    ["asked twice: a last chance", { heardAt: 0, pingedAt: 40_000 }, 40_000, { type: "wait", ms: 4_000 }],
    ["44 s of silence: dead", { heardAt: 0, pingedAt: 40_000 }, 44_000, { type: "dead" }],
    ["an answer starts it over", { heardAt: 20_100, pingedAt: 20_000 }, 20_100, { type: "wait", ms: 20_000 }],
    ["a machine that slept through it", { heardAt: 0, pingedAt: null }, 600_000, { type: "dead" }],
  ] as const)("%s", (_name, heard, now, step) => expect(liveness(heard, now)).toEqual(step));

  it("a hole is found within 45 s of its beginning, whenever that is", () => {
    for (let holeAt = 0; holeAt <= 60_000; holeAt += 500) {
      let now = 0;
      let heardAt = 0;
      let pingedAt: number | null = null;
      for (;;) {
        const step = liveness({ heardAt, pingedAt }, now);
        if (step.type === "dead") break;
        if (step.type === "wait") now += step.ms;
        else {
          pingedAt = now;
          if (now < holeAt) heardAt = now;
        }
      }
      expect(now - holeAt).toBeLessThanOrEqual(45_000);
      expect(now).toBeGreaterThanOrEqual(holeAt);
    }
  });
});

const lost = (livedMs: number): End => ({ type: "lost", livedMs, why: "closed" });
const failed: End = { type: "failed", why: "refused" };
const status = (code: number): End => ({ type: "refused", status: code });

describe("the pause before the next try", () => {
  it.each([
    ["a good life starts the count over", 9, lost(60_000), 1],
    ["a short life does not", 9, lost(59_999), 10],
    ["a failed try counts", 0, failed, 1],
    ["a refusal counts", 3, status(503), 4],
  ] as const)("%s", (_name, tries, end, after) => expect(triesAfter(tries, end)).toBe(after));

  it.each([
    ["first try: up to 1 s", failed, 1, 1_000],
    ["then doubling", failed, 4, 8_000],
    ["up to 120 s", failed, 30, 120_000],
    ["the same for a busy platform", status(503), 1, 1_000],
    ["and one that says too many", status(429), 1, 1_000],
    ["ten minutes for a channel that does not exist", status(404), 1, 600_000],
    ["and for a refused credential", status(401), 1, 600_000],
  ] as const)("%s", (_name, end, tries, most) => {
    expect(pauseMs(end, tries, 1)).toBe(most);
    expect(pauseMs(end, tries, 0)).toBe(most === 600_000 ? 300_000 : 0);
  });
});

describe("the share of the bridge's time one channel may take", () => {
  it("is 200 frames a second, then it rests for the rest of that second", () => {
    const rate = new FrameRate();
    for (let n = 1; n < 200; n += 1) expect(rate.restMs(100, n)).toBe(0);
    expect(rate.restMs(100, 300)).toBe(701);
    expect(rate.restMs(100, 1_001)).toBe(0);
  });

  it("is 2 MiB a second", () => {
    const rate = new FrameRate();
    expect(rate.restMs(1_048_576, 0)).toBe(0);
    expect(rate.restMs(1_048_576, 10)).toBe(990);
  });
});
