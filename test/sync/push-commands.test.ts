import { describe, expect, it } from "vitest";
import { stepsOf } from "../../src/greenhouse/command/plan.js";
import { CommandBench } from "../support/command-bench.js";

const code = "GH-0001";

/** A platform that takes the value but shows it only when told to. */
function slowBench() {
  const bench = new CommandBench();
  bench.platform.registers.set("101", "10001");
  bench.platform.onWrite = () => Promise.resolve({ code: "200", requestId: null });
  return bench;
}

const confirming = async (bench: CommandBench) => {
  bench.send("open");
  await bench.clock.advance(5_000);
  return bench.platform.reads;
};

describe("a push while a command is being confirmed", () => {
  it("that shows the value leads to a read-back at once, which confirms it", async () => {
    const bench = slowBench();
    const reads = await confirming(bench);
    bench.platform.registers.set("101", "10010");
    expect(bench.commander.ring(code, "101", 10010)).toBe(true);
    await bench.clock.advance(0);
    expect(bench.platform.reads).toBe(reads + 1);
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010", duration_ms: 5_000 }]);
  });

  it("never confirms by itself: the read-back decides", async () => {
    const bench = slowBench();
    await confirming(bench);
    for (let n = 0; n < 10; n++) {
      bench.commander.ring(code, "101", "10010");
      await bench.clock.advance(20_000);
    }
    expect(bench.results).toMatchObject([{ outcome: "unconfirmed", read_back: "10001" }]);
  });

  it("costs one read-back a second at most, however many there are", async () => {
    const bench = slowBench();
    const reads = await confirming(bench);
    for (let n = 0; n < 1_000; n++) {
      bench.commander.ring(code, "101", "10010");
      await bench.clock.advance(10);
    }
    expect(bench.platform.reads - reads).toBeLessThanOrEqual(13);
    expect(bench.platform.reads - reads).toBeGreaterThanOrEqual(10);
  });

  it("of another value is worth one look in ten seconds", async () => {
    const bench = slowBench();
    const reads = await confirming(bench);
    for (let n = 0; n < 1_000; n++) {
      expect(bench.commander.ring(code, "101", String(n % 100))).toBe(false);
      await bench.clock.advance(10);
    }
    expect(bench.platform.reads - reads).toBeLessThanOrEqual(4);
  });

  it("of another address or controller changes nothing", async () => {
    const bench = slowBench();
    const reads = await confirming(bench);
    bench.commander.ring(code, "102", "10010");
    bench.commander.ring("GH-0002", "101", "10010");
    await bench.clock.advance(1_000);
    expect(bench.platform.reads).toBe(reads);
  });

  it("is listened to no longer than the command lasts", async () => {
    const bench = slowBench();
    await confirming(bench);
    expect(bench.commander.readsBack(code, "101")).toBe(true);
    await bench.clock.advance(400_000);
    expect(bench.commander.readsBack(code, "101")).toBe(false);
    expect(bench.commander.ring(code, "101", "10010")).toBe(false);
  });

  it("that was sent before the POST ended proves nothing, as the read-back begun then does not", async () => {
    const bench = slowBench();
    let answer: () => void = () => undefined;
    bench.platform.onWrite = () =>
      new Promise((resolve) => {
        answer = () => resolve({ code: "200", requestId: null });
      });
    bench.send("open");
    await bench.clock.advance(1_000);
    expect(bench.commander.ring(code, "101", "10010")).toBe(false);
    answer();
    await bench.clock.advance(1_000);
    expect(bench.results).toEqual([]);
  });
});

describe("a push while a command of an earlier run is being read back", () => {
  /** A bridge that starts with a command to open the roof, which an earlier run had sent. */
  const restarted = async () => {
    const earlier = slowBench();
    earlier.send("open");
    await earlier.clock.advance(5_000);
    const [command] = earlier.commander.open;
    if (!command) throw new Error("the command is over");
    const bench = slowBench();
    const [step] = stepsOf(command.settings, command.wanted, null);
    if (!step) throw new Error("the command has no step");
    const sent = { earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() };
    bench.recover({ command, step, ...sent });
    await bench.clock.advance(5_000);
    return bench;
  };

  it("that shows the value leads to a read-back at once, which confirms it", async () => {
    const bench = await restarted();
    expect(bench.platform.reads).toBe(1);
    bench.platform.registers.set("101", "10010");
    expect(bench.commander.ring(code, "101", 10010)).toBe(true);
    await bench.clock.advance(0);
    expect(bench.platform.reads).toBe(2);
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010" }]);
    expect(bench.platform.posts).toEqual([]);
  });

  it("never confirms by itself, costs one read-back a second at most, and puts off no deadline", async () => {
    const bench = await restarted();
    const { confirmWithinMs } = bench.commander.open[0]?.settings ?? { confirmWithinMs: 0 };
    for (let n = 0; n < confirmWithinMs / 100; n++) {
      bench.commander.ring(code, "101", "10010");
      await bench.clock.advance(100);
    }
    expect(bench.results).toMatchObject([{ outcome: "unconfirmed", read_back: "10001" }]);
    expect(bench.platform.reads).toBeLessThanOrEqual(confirmWithinMs / 1_000 + 2);
    expect(bench.commander.readsBack(code, "101")).toBe(false);
    expect(bench.platform.posts).toEqual([]);
  });
});
