import { describe, expect, it } from "vitest";
import { stepsOf } from "../../src/greenhouse/command/plan.js";
import { CommandBench } from "../support/command-bench.js";
import { ignored, roofBench } from "./benches.js";

/** A bridge that starts with a command to open the roof, which an earlier run had sent, on a disk it cannot write. */
async function restartedOnReadOnlyDisk(): Promise<CommandBench> {
  const earlier = new CommandBench();
  earlier.platform.registers.set("101", "10001");
  earlier.platform.onWrite = ignored;
  await earlier.play("open", 5_000);
  const [command] = earlier.commander.open;
  const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
  if (!command || !step) throw new Error("the command is over");
  const bench = new CommandBench({ registers: { "101": "10010" } });
  bench.journalProblem = "the disk cannot be written";
  const sent = { earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() };
  bench.openBefore.add(command.id);
  bench.recover({ command, step, ...sent });
  await bench.clock.advance(5_000);
  return bench;
}

describe("the outcome of a command of an earlier run while the journal cannot write", () => {
  it("is not told, as the next start would find out another one", async () => {
    const bench = await restartedOnReadOnlyDisk();
    await bench.journalAgain();
    expect(bench.commander.open).toEqual([]);
    expect(bench.results).toEqual([]);
  });

  it("keeps nobody waiting at the end", async () => {
    expect((await restartedOnReadOnlyDisk()).commander.isBusy).toBe(false);
  });

  it("is told once as soon as the journal has it", async () => {
    const bench = await restartedOnReadOnlyDisk();
    bench.journalProblem = null;
    await bench.journalAgain();
    await bench.journalAgain();
    expect(bench.results).toMatchObject([{ outcome: "confirmed", read_back: "10010" }]);
    expect(bench.records.filter(({ type }) => type === "result")).toHaveLength(1);
  });
});

describe("the outcome of a command of this run while the journal cannot write", () => {
  /** The disk fills up while the POST is under way. */
  function filling(over: ConstructorParameters<typeof CommandBench>[0] = {}): CommandBench {
    const bench = new CommandBench({ ...over, registers: { "101": "10001" } });
    bench.platform.onWrite = (post) => {
      bench.journalProblem = "the disk is full";
      return bench.platform.accept(post);
    };
    return bench;
  }

  it("is held back too, as the next start would find out another one, and told once the journal has it", async () => {
    const bench = filling();
    await bench.play('{"command":"open","id":"a"}', 100_000);
    expect(bench.results).toEqual([]);
    expect(bench.commander.heldBack).toBe(1);
    await bench.play('{"command":"open","id":"a"}', 1_000);
    expect(bench.results).toMatchObject([{ outcome: "refused", reason: "duplicate", original: null }]);
    bench.journalProblem = null;
    await bench.journalAgain();
    expect(bench.results.slice(1)).toMatchObject([{ id: "a", outcome: "confirmed" }]);
    expect(bench.commander.heldBack).toBe(0);
  });

  it("is told at once of a stop, which works without the journal", async () => {
    const bench = filling({ actuators: [{ stop: { address: "109", value: "00000100" } }] });
    await bench.play("stop", 5_000);
    expect(bench.results).toMatchObject([{ outcome: "confirmed", command: "stop" }]);
    expect(bench.commander.heldBack).toBe(0);
  });

  it("is told at once of a command that was refused and that the journal does not know", async () => {
    const bench = roofBench();
    bench.journalAvailable = true;
    bench.journalProblem = "the disk is full";
    expect(await bench.run("open")).toMatchObject({ outcome: "refused", reason: "journal_unavailable" });
    expect(bench.values()).toEqual([]);
  });
});

describe("two commands of an earlier run that stood open for one actuator", () => {
  /** The newer one was about to be sent, or was, when the program died. */
  function restarted(attempts: number): CommandBench {
    const commands = ["open", "close"].map((word) => {
      const earlier = new CommandBench();
      earlier.platform.registers.set("101", "11000");
      earlier.send(JSON.stringify({ command: word, id: word }));
      const [command] = earlier.commander.open;
      const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
      if (!command || !step) throw new Error("the command is over");
      return { command, step };
    });
    const bench = new CommandBench({ registers: { "101": "10010" } });
    const sent = { earlier: [], code: null, requestId: null, sentAt: bench.clock.now() };
    const [older, newer] = commands;
    if (older) bench.recover({ ...older, ...sent, code: "200", attempts: 1 });
    if (newer) bench.recover({ ...newer, ...sent, attempts });
    return bench;
  }

  it.each([0, 1])("each have their one result in this run (%i POSTs of the newer)", async (attempts) => {
    const bench = restarted(attempts);
    await bench.clock.advance(300_000);
    expect(bench.results.map(({ id, outcome }) => `${id} ${outcome}`).sort()).toEqual([
      "close failed",
      "open superseded",
    ]);
    expect(bench.platform.posts).toEqual([]);
  });
});
