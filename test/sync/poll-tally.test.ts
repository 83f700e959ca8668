import { describe, expect, it } from "vitest";
import { PollTally } from "../../src/sync/poll-reads.js";
import { CountingPlatform, failure } from "../support/counting-platform.js";
import { VirtualClock } from "../support/virtual-clock.js";

const { signal } = new AbortController();

async function book() {
  const clock = new VirtualClock();
  const platform = new CountingPlatform(clock);
  const reads = new PollTally(clock);
  /** Lets a read end. */
  const ended = async (read: Promise<unknown>) => {
    const caught = read.catch((error: unknown) => error);
    await clock.advance(20);
    return caught;
  };
  await clock.advance(1_000);
  const sensors = (code: string) => ended(reads.noted("sensors", code, platform.sensors(code, signal)));
  return { clock, platform, reads, sensors, ended };
}

describe("what polling asked", () => {
  it("is counted by operation and result, and the answer passes through unchanged", async () => {
    const { platform, reads, sensors, ended } = await book();
    platform.registers.set("GH-1 101", "10010");
    expect(await ended(reads.noted("register", "GH-1", platform.value("GH-1", "101", false, signal)))).toBe(
      "10010",
    );
    await sensors("GH-1");
    await sensors("GH-2");
    expect(reads.count("register", "ok")).toBe(1);
    expect(reads.count("sensors", "ok")).toBe(2);
    expect(reads.count("controllers", "ok")).toBe(0);
  });

  it("a failed read passes on its error; one that was held back is told apart", async () => {
    const { platform, reads, sensors } = await book();
    platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "rejected" } });
    platform.gate = () => {
      throw failure("paused", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "paused" } });
    platform.gate = () => {
      throw failure("throttled", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "throttled", sent: false } });
    expect([reads.count("sensors", "failed"), reads.count("sensors", "held")]).toEqual([1, 2]);
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });

  it("the time of the last answer is kept for each controller, that of the last end for all", async () => {
    const { clock, platform, reads, sensors } = await book();
    expect(reads.endedAt).toBeNull();
    await sensors("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.answeredAt("sensors", "GH-2")).toBeNull();
    expect(reads.answeredAt("running_status", "GH-1")).toBeNull();
    platform.fate = () => {
      throw failure("unreachable", "realtime");
    };
    await sensors("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.endedAt).toBe(clock.monotonic());
    reads.forget("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });
});
