import { describe, expect, it } from "vitest";
import { CommandTally } from "../../src/compose/status/metrics.js";
import { ReadBook } from "../../src/compose/status/overdue.js";
import type { CommandResult, Outcome } from "../../src/greenhouse/command/outcomes.js";
import { CountingPlatform, failure } from "../support/counting-platform.js";
import { VirtualClock } from "../support/virtual-clock.js";

const { signal } = new AbortController();

async function book() {
  const clock = new VirtualClock();
  const platform = new CountingPlatform(clock);
  const reads = new ReadBook(clock);
  const reader = reads.watching(platform);
  /** Lets a read end. */
  const ended = async (read: Promise<unknown>) => {
    const caught = read.catch((error: unknown) => error);
    await clock.advance(20);
    return caught;
  };
  await clock.advance(1_000);
  return { clock, platform, reads, reader, ended };
}

describe("what polling asked", () => {
  it("is counted by operation and result, and the answer passes through unchanged", async () => {
    const { platform, reads, reader, ended } = await book();
    platform.registers.set("GH-1 101", "10010");
    expect(await ended(reader.value("GH-1", "101", false, signal))).toBe("10010");
    await ended(reader.sensors("GH-1", signal));
    await ended(reader.sensors("GH-2", signal));
    expect(reads.count("register", "ok")).toBe(1);
    expect(reads.count("sensors", "ok")).toBe(2);
    expect(reads.count("controllers", "ok")).toBe(0);
  });

  it("a failed read passes on its error; one that was held back is told apart", async () => {
    const { platform, reads, reader, ended } = await book();
    platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    expect(await ended(reader.sensors("GH-1", signal))).toMatchObject({ facts: { kind: "rejected" } });
    platform.gate = () => {
      throw failure("paused", "realtime");
    };
    expect(await ended(reader.sensors("GH-1", signal))).toMatchObject({ facts: { kind: "paused" } });
    expect([reads.count("sensors", "failed"), reads.count("sensors", "held")]).toEqual([1, 1]);
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });

  it("the time of the last answer is kept for each controller, that of the last end for all", async () => {
    const { clock, platform, reads, reader, ended } = await book();
    expect(reads.endedAt).toBeNull();
    await ended(reader.sensors("GH-1", signal));
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.answeredAt("sensors", "GH-2")).toBeNull();
    expect(reads.answeredAt("running_status", "GH-1")).toBeNull();
    platform.fate = () => {
      throw failure("unreachable", "realtime");
    };
    await ended(reader.sensors("GH-1", signal));
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.endedAt).toBe(clock.monotonic());
    reads.forget("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });
});

const result = (outcome: Outcome, over: Partial<CommandResult> = {}) =>
  ({
    ...{ id: "1", controller: "c", actuator: "a", command: null, value: null, outcome, reason: null },
    ...{ message: null, request_id: null, by: null, via: null, steps: [], read_back: null },
    ...{ received_at: "", sent_at: null, finished_at: "", duration_ms: 0, repeated: false },
    ...over,
  }) satisfies CommandResult;

const valueOf = (samples: ReturnType<CommandTally["durations"]>, label: string) =>
  samples.find(({ labels }) => Object.values(labels ?? {}).includes(label))?.value;

describe("how commands ended", () => {
  it("every outcome and reason is there from the start, so that a rate can be taken", () => {
    const tally = new CommandTally();
    expect(tally.byOutcome()).toHaveLength(9);
    expect(tally.byReason().length).toBeGreaterThan(10);
    expect([...tally.byOutcome(), ...tally.byReason()].every(({ value }) => value === 0)).toBe(true);
  });

  it("a refusal counts under its reason; a reason of another outcome does not", () => {
    const tally = new CommandTally();
    tally.note(result("refused", { reason: "retained" }));
    tally.note(result("rejected", { reason: "unauthorized" }));
    expect(valueOf(tally.byOutcome(), "refused")).toBe(1);
    expect(valueOf(tally.byOutcome(), "rejected")).toBe(1);
    expect(valueOf(tally.byReason(), "retained")).toBe(1);
    expect(tally.byReason().reduce((sum, { value }) => sum + value, 0)).toBe(1);
  });

  it("only commands that were sent have a duration, counted in every bucket that holds it", () => {
    const tally = new CommandTally();
    tally.note(result("refused", { reason: "retained", duration_ms: 3 }));
    tally.note(result("confirmed", { sent_at: "now", duration_ms: 500 }));
    tally.note(result("confirmed", { sent_at: "now", duration_ms: 4_000 }));
    tally.note(result("unconfirmed", { sent_at: "now", duration_ms: 3_600_000 }));
    const samples = tally.durations();
    expect(["0.5", "1", "2", "5", "600", "+Inf"].map((le) => valueOf(samples, le))).toEqual([
      1, 1, 1, 2, 2, 3,
    ]);
    const part = (suffix: string) => samples.find((one) => one.suffix === suffix)?.value;
    expect([part("_sum"), part("_count")]).toEqual([3_604.5, 3]);
  });
});
