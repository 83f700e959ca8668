import { describe, expect, it } from "vitest";
import { clockOf, every } from "../../src/runtime/clock.js";
import { VirtualTime } from "../support/virtual-clock.js";

/** A computer whose Node stands still while it sleeps, as on Linux. */
function computer({ uptimeStepMs = 10 } = {}) {
  const time = new VirtualTime();
  let [sleptMs, wallMs, asked, made] = [0, 1_000_000, 0, 0];
  const clock = clockOf({
    wall: () => wallMs + time.now,
    monotonic: () => time.now - sleptMs,
    uptime: () => {
      asked += 1;
      return Math.floor((5_000 + time.now) / uptimeStepMs) * uptimeStepMs;
    },
    timer: (ms, call) => time.in(ms, call),
    interval: (ms, call) => {
      let takeBack = time.in(ms, turn);
      made += 1;
      function turn() {
        takeBack = time.in(ms, turn);
        call();
      }
      return () => takeBack();
    },
  });
  clock.monotonic();
  return {
    ...{ clock, time },
    asked: () => asked,
    made: () => made,
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

describe("what is done every ten seconds", () => {
  const watch = () => {
    const world = computer();
    const stop = new AbortController();
    const at: number[] = [];
    let work: () => void = () => undefined;
    const over = every(10_000, world.clock, stop.signal, () => {
      at.push(Math.round(world.clock.monotonic() / 1_000));
      work();
    });
    return { ...world, stop, over, at, does: (next: () => void) => (work = next) };
  };

  it("goes on by one timer until it is ended, also from within", async () => {
    const { time, made, stop, over, at, does } = watch();
    await time.runUntil(35_000);
    expect([at, made()]).toEqual([[10, 20, 30], 1]);
    does(() => stop.abort());
    await time.runUntil(100_000);
    await over;
    expect(at).toEqual([10, 20, 30, 40]);
    expect(time.pending).toBe(0);
  });

  it("comes as soon as a sleep is noticed in which it was due, once, and then every ten seconds again", async () => {
    const { clock, time, sleep, at } = watch();
    await time.runUntil(12_000);
    sleep(100_000);
    clock.monotonic();
    await time.runUntil(time.now + 25_000);
    expect(at).toEqual([10, 112, 122, 132]);
  });

  it("ends with what it throws", async () => {
    const { time, over, at, does } = watch();
    does(() => {
      throw new Error("broken");
    });
    const ends = expect(over).rejects.toThrow("broken");
    await time.runUntil(100_000);
    await ends;
    expect(at).toEqual([10]);
  });
});
