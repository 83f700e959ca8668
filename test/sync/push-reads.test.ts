import { describe, expect, it } from "vitest";
import { PushReads } from "../../src/sync/push-mirror.js";
import { RequestBudget } from "../../src/runtime/schedule.js";
import { silentLog } from "../support/builders.js";
import { failure } from "../support/counting-platform.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

function reading(perMinute = 0, share = 0) {
  const clock = new VirtualClock();
  const reads = new PushReads({
    clock,
    budgets: [new RequestBudget(perMinute), new RequestBudget(share)],
    log: silentLog,
  });
  const quit = new AbortController();
  const done = reads.run(quit.signal);
  const begun: string[] = [];
  let running = 0;
  let most = 0;
  const want = (name: string, { gapMs = 5_000, takesMs = 100, fails = false } = {}) =>
    reads.want(name, gapMs, async (signal) => {
      begun.push(`${name} ${clock.monotonic()}`);
      most = Math.max(most, ++running);
      try {
        await clock.wait(takesMs, signal);
        if (fails) throw failure("unreachable", "realtime");
      } finally {
        running--;
      }
    });
  return { clock, reads, quit, done, begun, want, most: () => most };
}

describe("reads that pushes ask for", () => {
  it("happen at once, and once however often they are wanted", async () => {
    const { clock, begun, want } = reading();
    for (let n = 0; n < 100; n++) want("a");
    want("b");
    await clock.advance(60_000);
    expect(begun).toEqual(["a 0", "b 0"]);
  });

  it("wanted again while one runs, or soon after it, wait for the gap", async () => {
    const { clock, begun, want } = reading();
    want("a");
    await clock.advance(50);
    want("a");
    await clock.advance(60_000);
    want("a");
    await clock.advance(1_000);
    expect(begun).toEqual(["a 0", "a 5000", "a 60050"]);
  });

  it("are never more than four at once", async () => {
    const { clock, begun, want, most } = reading();
    for (let n = 0; n < 40; n++) want(`a${n}`);
    await clock.advance(60_000);
    expect([begun.length, most()]).toEqual([40, 4]);
  });

  it("keep to the request budget", async () => {
    const { clock, begun, want } = reading(10);
    for (let n = 0; n < 40; n++) want(`a${n}`);
    await clock.advance(59_000);
    expect(begun).toHaveLength(10);
    await clock.advance(61_000);
    expect(begun).toHaveLength(20);
  });

  it("leave polling its part of the budget", async () => {
    const { clock, begun, want } = reading(100, 25);
    for (let n = 0; n < 200; n++) want(`a${n}`);
    await clock.advance(59_000);
    expect(begun).toHaveLength(25);
  });

  it("beyond a thousand are left to polling", () => {
    const { reads, want } = reading();
    for (let n = 0; n < 5_000; n++) want(`a${n}`);
    expect(reads.waiting).toBe(1_000);
  });

  it("that fail are made again at growing pauses, and after the sixth time left to polling", async () => {
    const { clock, begun, want } = reading();
    want("a", { fails: true, takesMs: 0 });
    await clock.advance(3_600_000);
    expect(begun).toEqual(["a 0", "a 5000", "a 15000", "a 35000", "a 75000", "a 155000"]);
  });

  it("wanted anew while a repetition waits, are made at once and have all their tries again", async () => {
    const { clock, begun, want } = reading();
    want("a", { fails: true, takesMs: 0 });
    await clock.advance(20_000);
    want("a", { takesMs: 0 });
    await clock.advance(3_600_000);
    expect(begun).toEqual(["a 0", "a 5000", "a 15000", "a 20000"]);
  });

  it("end with the signal, and leave no timer", async () => {
    const { clock, want, quit, done } = reading();
    want("a", { takesMs: 60_000 });
    await clock.advance(10);
    quit.abort();
    await done;
    await settled();
    expect(clock.pendingTimers).toBe(0);
  });
});
