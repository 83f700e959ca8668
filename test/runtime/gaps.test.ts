import { describe, expect, it } from "vitest";
import { ArrivalAge, GapWatch } from "../../src/runtime/gaps.js";
import { waitingBy } from "../../src/runtime/clock.js";
import { VirtualTime } from "../support/virtual-clock.js";
import { gapsByHand } from "../support/stood-still.js";

function watching() {
  const time = new VirtualTime();
  const after = (ms: number, call: () => void) => time.in(ms, call);
  const clock = {
    ...{ now: () => time.now, monotonic: () => time.now, after, wait: waitingBy(after) },
    soon: (call: () => void) => void time.in(0, call),
  };
  const gaps = new GapWatch(clock);
  const end = new AbortController();
  void gaps.run(end.signal);
  return { time, clock, gaps };
}

describe("a gap", () => {
  it("is noticed by whoever asks first: what is read may have been sent since the last look", async () => {
    const { time, gaps } = watching();
    await time.runUntil(10_500);
    expect(gaps.newest()).toBeNull();
    expect(gaps.sentSince(time.now)).toBe(10_500);
    time.stall(40_000);
    expect(gaps.sentSince(time.now)).toBe(10_500);
    expect(gaps.newest()).toEqual({ from: 10_500, until: 50_500 });
  });

  it("is noticed by the beat where nobody asks, and told", async () => {
    const { time, gaps } = watching();
    let told = 0;
    const leave = gaps.onGap(() => (told += 1));
    await time.runUntil(10_000);
    time.stall(9_000);
    await time.runUntil(time.now + 1);
    expect(told).toBe(1);
    leave();
    time.stall(9_000);
    await time.runUntil(time.now + 1);
    expect(told).toBe(1);
  });

  it("is none where the loop is a little late", async () => {
    const { time, gaps } = watching();
    for (let n = 0; n < 20; n += 1) {
      time.stall(1_400);
      await time.runUntil(time.now + 100);
    }
    expect(gaps.newest()).toBeNull();
  });

  it("that was long is still known by whoever asks for long ones, after short ones", async () => {
    const { time, gaps } = watching();
    await time.runUntil(10_000);
    for (const ms of [600_000, 40_000, 5_000]) {
      time.stall(ms);
      await time.runUntil(time.now + 2_000);
    }
    expect([0, 10_000, 100_000, 1_000_000].map((least) => gaps.newest(least)?.until ?? null)).toEqual([
      659_000,
      652_000,
      610_000,
      null,
    ]);
  });

  it("is over for the sockets of the process once they were read empty, and not before that for what was read in it", async () => {
    const { time, gaps } = watching();
    await time.runUntil(10_000);
    time.stall(20_000);
    const readAt = time.now;
    expect(gaps.sentSince(readAt)).toBe(10_000);
    await time.runUntil(time.now + 500);
    expect(gaps.sentSince(time.now)).toBe(time.now);
    expect(gaps.sentSince(readAt)).toBe(10_000);
  });

  it("that follows another before its sockets were read empty counts with it", async () => {
    const { time, gaps } = watching();
    await time.runUntil(10_000);
    time.stall(20_000);
    gaps.newest();
    time.stall(5_000);
    expect(gaps.sentSince(time.now)).toBe(10_000);
  });
});

describe("what is read of a peer", () => {
  const peer = () => {
    const clock = { at: 1_000, monotonic: () => clock.at };
    const gaps = gapsByHand();
    const asked: (() => void)[] = [];
    const age = new ArrivalAge(clock, gaps, (proven) => asked.push(proven));
    const standStill = (ms: number) => {
      const from = clock.at;
      clock.at += ms;
      gaps.stoodStill(from, clock.at);
    };
    return { clock, gaps, asked, age, standStill };
  };

  it("is as old as the gap until the peer has answered what was asked after it", () => {
    const { clock, asked, age, standStill } = peer();
    expect(age.ms()).toBe(0);
    clock.at += 5_000;
    standStill(30_000);
    expect(age.ms()).toBe(30_000);
    clock.at += 400;
    expect(age.ms()).toBe(30_400);
    expect(asked).toHaveLength(1);
    asked[0]?.();
    expect(age.ms()).toBe(0);
  });

  it("stays as old where the process stood still again before the answer: only the newest one counts", () => {
    const { asked, age, standStill } = peer();
    standStill(30_000);
    standStill(10_000);
    asked[0]?.();
    expect(age.ms()).toBe(40_000);
    asked[1]?.();
    expect(age.ms()).toBe(0);
  });

  it("is not older than the connection to it", () => {
    const { clock, gaps, age } = peer();
    clock.at += 20_000;
    gaps.stoodStill(-50_000, clock.at);
    expect(age.ms()).toBe(20_000);
  });

  it("is asked nothing of gaps before it was there, nor after its end", () => {
    const { clock, gaps, asked, age } = peer();
    gaps.stoodStill(-50_000, 500);
    expect(age.ms()).toBe(0);
    age.close();
    clock.at += 10_000;
    gaps.stoodStill(1_000, clock.at);
    expect(asked).toEqual([]);
  });
});
