import { describe, expect, it } from "vitest";
import { stepsOf } from "../../../src/greenhouse/command/plan.js";
import { CommandBench } from "../../support/command-bench.js";

/** A bridge that starts with a command to open the roof, which an earlier run had sent, on a disk it cannot write. */
async function restartedOnReadOnlyDisk(): Promise<CommandBench> {
  const earlier = new CommandBench();
  earlier.platform.registers.set("101", "10001");
  earlier.platform.onWrite = () => Promise.resolve({ code: "200", requestId: null });
  earlier.send("open");
  await earlier.clock.advance(5_000);
  const [command] = earlier.commander.open;
  const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
  if (!command || !step) throw new Error("the command is over");
  const bench = new CommandBench();
  bench.platform.registers.set("101", "10010");
  bench.journalProblem = "the disk cannot be written";
  const sent = { earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() };
  bench.commander.recover([{ command, step, ...sent }]);
  await bench.clock.advance(5_000);
  return bench;
}

describe("the outcome of a command of an earlier run while the journal cannot write", () => {
  it("is not told, as the next start would find out another one", async () => {
    const bench = await restartedOnReadOnlyDisk();
    await bench.commander.journalAgain();
    expect(bench.commander.open).toEqual([]);
    expect(bench.results).toEqual([]);
  });

  it("keeps nobody waiting at the end", async () => {
    expect((await restartedOnReadOnlyDisk()).commander.isBusy).toBe(false);
  });

  it("is told once as soon as the journal has it", async () => {
    const bench = await restartedOnReadOnlyDisk();
    bench.journalProblem = null;
    await bench.commander.journalAgain();
    await bench.commander.journalAgain();
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010" }]);
    expect(bench.records.filter(({ type }) => type === "result")).toHaveLength(1);
  });

  it("of this run is told at once, because somebody is waiting", async () => {
    const bench = new CommandBench();
    bench.platform.registers.set("101", "10001");
    bench.platform.onWrite = (post) => {
      bench.journalProblem = "the disk is full";
      return bench.platform.accept(post);
    };
    expect(await bench.run("open")).toMatchObject({ outcome: "confirmed" });
  });
});
