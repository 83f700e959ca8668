import { describe, expect, it } from "vitest";
import { clockOf } from "../../src/runtime/clock.js";
import { VirtualTime } from "../support/virtual-clock.js";

/** A computer whose Node stands still while it sleeps, as on Linux. */
function computer({ uptimeStepMs = 10 } = {}) {
  const time = new VirtualTime();
  let [sleptMs, wallMs, asked] = [0, 1_000_000, 0];
  const clock = clockOf({
    wall: () => wallMs + time.now,
    monotonic: () => time.now - sleptMs,
    uptime: () => {
      asked += 1;
      return Math.floor((5_000 + time.now) / uptimeStepMs) * uptimeStepMs;
    },
    timer: (ms, call) => time.in(ms, call),
  });
  clock.monotonic();
  return {
    ...{ clock, time },
    asked: () => asked,
    sleep: (ms: number) => {
      sleptMs += ms;
      time.stall(ms);
    },
    setWall: (byMs: number) => {
      wallMs += byMs;
    },
  };
}

describe("the monotonic clock", () => {
  it("counts the time in which the computer was suspended", async () => {
    const { clock, time, sleep } = computer();
    const before = clock.monotonic();
    sleep(3_600_000);
    expect(clock.monotonic() - before).toBeCloseTo(3_600_000, -2);
    await time.runUntil(time.now + 1_000);
    sleep(60_000);
    expect(clock.monotonic() - before).toBeCloseTo(3_661_000, -2);
  });

  it("takes no set wall clock for a sleep", () => {
    const { clock, setWall } = computer();
    const before = clock.monotonic();
    setWall(86_400_000);
    expect(clock.monotonic()).toBe(before);
    setWall(-172_800_000);
    expect(clock.monotonic()).toBe(before);
  });

  it("counts a sleep in which the wall clock was set too", () => {
    const { clock, sleep, setWall } = computer({ uptimeStepMs: 1_000 });
    const before = clock.monotonic();
    sleep(30_000);
    setWall(-7_200_000);
    expect(Math.abs(clock.monotonic() - before - 30_000)).toBeLessThanOrEqual(1_000);
  });

  it("asks for the time since the start of the computer only where the wall clock gives a reason", async () => {
    const { clock, time, asked } = computer();
    const before = asked();
    for (let n = 0; n < 100; n += 1) {
      await time.runUntil(time.now + 1_000);
      clock.monotonic();
    }
    expect(asked()).toBe(before);
  });
});

describe("a timer", () => {
  it("that was due while the computer slept fires as soon as that is noticed, and once", async () => {
    const { clock, time, sleep } = computer();
    let fired = 0;
    clock.after(600_000, () => (fired += 1));
    await time.runUntil(10_000);
    sleep(3_600_000);
    clock.monotonic();
    await time.runUntil(time.now + 1);
    expect(fired).toBe(1);
    await time.runUntil(time.now + 3_600_000);
    expect(fired).toBe(1);
  });

  it("that is not due yet fires when it is, the sleep counted", async () => {
    const { clock, time, sleep } = computer();
    const due = clock.monotonic() + 600_000;
    let firedAt = 0;
    clock.after(600_000, () => (firedAt = clock.monotonic()));
    sleep(120_000);
    clock.monotonic();
    await time.runUntil(time.now + 600_000);
    expect(Math.abs(firedAt - due)).toBeLessThanOrEqual(10);
  });

  it("that was taken back does not fire after a sleep either", async () => {
    const { clock, time, sleep } = computer();
    let fired = 0;
    const takeBack = clock.after(60_000, () => (fired += 1));
    takeBack();
    sleep(120_000);
    clock.monotonic();
    await time.runUntil(time.now + 120_000);
    expect(fired).toBe(0);
  });
});
