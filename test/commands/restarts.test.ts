import { describe, expect, it } from "vitest";
import { payloadKey } from "../../src/commands/payload.js";
import { abandonedFrom, lanesFrom } from "../../src/commands/restore.js";
import { stepsOf } from "../../src/greenhouse/command/plan.js";
import { History } from "../../src/journal/history.js";
import type { LaneMemory, OpenCommand, RememberedLane } from "../../src/journal/records.js";
import { restored } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { fan, ignored, roofBench, stopBench } from "./benches.js";

const notKnown = { id: "a", steps: [], is_accepted: false, request_id: null, sent_at: null };

const open = (
  over: Partial<OpenCommand["taken"]> = {},
  sent: OpenCommand["sent"] = notKnown,
): OpenCommand => ({
  taken: {
    ...{ type: "command_taken", controller: "GH-0001", actuator: "roof", target: "actuator", id: "a" },
    ...{ command: "open", value: "10010", by: null, via: null, payload_hash: "h", max_age_ms: 60_000 },
    steps: [{ purpose: "value", address: "101", value: "10010" }],
    received_at: "2026-05-01T06:00:00.000Z",
    ...over,
  },
  sent,
});

describe("a command of the journal without a result", () => {
  const { store, clock } = new CommandBench();
  const interrupted = (one: OpenCommand) =>
    lanesFrom({ open: [one], lanes: [] }, new Map(), store, clock).flatMap((lane) => lane.interrupted);

  it("is read back where something can be", () =>
    expect(interrupted(open())).toMatchObject([{ command: { id: "a" }, attempts: 0, sentAt: null }]));

  it("is read back as far as it came", () => {
    const report = { address: "101", attempts: 1, code: "200" };
    const mode = { ...report, purpose: "mode", value: "10100", read_back: "10100" } as const;
    const degree = {
      ...report,
      purpose: "value",
      value: "60",
      attempts: 2,
      code: null,
      read_back: null,
    } as const;
    const sent = { ...notKnown, steps: [mode, degree], sent_at: "2026-05-01T06:00:00.000Z" };
    const { purpose, ...planned } = { purpose: "value", address: "101", value: "60" } as const;
    const one = open({ command: "60", steps: [{ purpose, ...planned }] }, sent);
    expect(interrupted(one)).toMatchObject([
      { earlier: [mode], attempts: 2, code: null, sentAt: Date.parse("2026-05-01T06:00:00.000Z") },
    ]);
  });

  it("is recognised by what an earlier version kept of its payload, as by what this one keeps", () => {
    const keyOf = (payload_hash: string) => interrupted(open({ payload_hash }))[0]?.command.payloadKey;
    const key = payloadKey(new TextEncoder().encode(" open\n"));
    expect(key).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect([keyOf("open"), keyOf(key)]).toEqual([key, key]);
  });

  it("is not read back where nothing of it was sent: it ends refused, and its id is known", () => {
    const waited = open({ own_id: true }, null);
    expect(interrupted(waited)).toEqual([]);
    expect(abandonedFrom(waited, store)).toMatchObject({
      ownId: true,
      ending: { outcome: "refused", reason: "shutting_down", steps: [], sentAt: null },
    });
  });

  it("is not read back where nobody knows whether a stop was sent: it ends unknown", () => {
    const steps = [{ purpose: "stop", address: "109", value: "00000100" } as const];
    const stop = open({ command: "stop", steps }, null);
    expect(interrupted(stop)).toEqual([]);
    expect(abandonedFrom(stop, store).ending).toMatchObject({ outcome: "unknown" });
  });

  it("is not read back where a rule had asked for it and the journal says of nothing sent: it ends so, in these words", () => {
    const rule = open({ by: "lease a", max_age_ms: 0 }, null);
    expect(interrupted(rule)).toEqual([]);
    const { ending } = abandonedFrom(rule, store);
    expect(ending.outcome).toBe("refused");
    expect(String(ending.message)).toContain("its journal says of nothing that was sent");
  });

  it("that was a dry run is not: it ends refused, and nothing was sent", () => {
    const dry = open({ dry_run: true }, null);
    expect(interrupted(dry)).toEqual([]);
    expect(abandonedFrom(dry, store).ending).toMatchObject({
      ...{ outcome: "refused", reason: "shutting_down", steps: [] },
    });
  });

  it("whose actuator is gone ends unknown", () => {
    const gone = open({ actuator: "none" });
    expect(interrupted(gone)).toEqual([]);
    expect(abandonedFrom(gone, store).ending).toMatchObject({ outcome: "unknown" });
  });

  it("whose controller is gone ends under the topic id it had", () => {
    const gone = open({ controller: "温室1" });
    expect(abandonedFrom(gone, store).asked).toMatchObject({ controller: "wen_shi1_fmxa87c0" });
  });
});

const step = { purpose: "value", address: "140", value: "1010" } as const;
const late = {
  ...{ id: "a", word: "on", step, is_told: true, is_taken: true },
  ended_at: "2026-05-01T00:00:00.000Z",
};
const problem = { command: "on", outcome: "unconfirmed", reason: null, message: "Look.", at: late.ended_at };
const laneOf = (memory: LaneMemory, over: Partial<RememberedLane> = {}): RememberedLane => ({
  ...{ controller: "GH-0001", actuator: "roof", target: "actuator", memory },
  ...over,
});
const lookedFor = (
  { store, clock }: CommandBench,
  lane: RememberedLane,
  commands: readonly OpenCommand[] = [],
) => lanesFrom({ open: commands, lanes: [lane] }, new Map(), store, clock)[0];

describe("a value that an earlier run sent and had not seen", () => {
  it("is looked for over a day, and for as long as its problem is open", async () => {
    const bench = new CommandBench({ actuators: [fan] });
    const second = { id: "a", step, ended_at: late.ended_at };
    const isLookedFor = (memory: LaneMemory) => {
      const { awaited = null, secondLook = null } = lookedFor(bench, laneOf(memory)) ?? {};
      return [awaited !== null, secondLook !== null];
    };
    const both = { awaited: late, second_look: second };
    await bench.clock.advance(Date.parse("2026-05-02T00:00:00.000Z") - bench.clock.now());
    expect(isLookedFor(both)).toEqual([true, true]);
    await bench.clock.advance(1);
    expect(isLookedFor(both)).toEqual([false, false]);
    expect(isLookedFor({ ...both, problem })).toEqual([true, true]);
  });

  it("is not looked for beside its own command, which is still to end", () => {
    const bench = new CommandBench({ actuators: [fan] });
    const own = open({ command: "on", steps: [step] });
    expect(lookedFor(bench, laneOf({ awaited: late }), [own])).toMatchObject({ awaited: null });
    expect(lookedFor(bench, laneOf({ awaited: { ...late, id: "b" } }), [own])?.awaited).not.toBeNull();
  });

  it.each([
    ["at the first read", ["1010"]],
    ["after another value", ["1001", "1010", "1010"]],
  ])("is confirmed_late %s, is no change by somebody else, and clears the problem", async (_, reads) => {
    const bench = new CommandBench({ actuators: [fan] });
    const lane = lookedFor(bench, laneOf({ awaited: late, problem }));
    if (!lane) throw new Error("nothing is awaited");
    bench.commander.feed(restored(lane.about, lane));
    for (const raw of reads) {
      bench.polled("140", raw);
      await bench.clock.advance(1_000);
    }
    expect(bench.events).toMatchObject([{ type: "confirmed_late", facts: { id: "a", actuator: "roof" } }]);
    expect(bench.events[0]?.message).toContain("shows on now");
    expect(bench.records).toMatchObject([
      { type: "confirmed_late", controller: "GH-0001", id: "a", memory: {} },
    ]);
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
  });

  it.each([
    ["may have been taken", true, 3_600_000, "ours"],
    ["was not taken", false, 30_000, "ours"],
    ["was not taken", false, 61_000, "somebody else's"],
  ] as const)("of one that %s is (%s), %i ms later, %s", async (_, isTaken, agoMs, whose) => {
    const bench = new CommandBench({ actuators: [fan] });
    const endedAt = new Date(bench.clock.now() - agoMs).toISOString();
    const awaited = { ...late, is_told: false, is_taken: isTaken, ended_at: endedAt };
    const lane = lookedFor(bench, laneOf({ awaited }));
    if (!lane) throw new Error("nothing is awaited");
    bench.commander.feed(restored(lane.about, lane));
    for (const raw of ["1001", "1010"]) {
      bench.polled("140", raw);
      await bench.clock.advance(1_000);
    }
    const isOurs = whose === "ours";
    expect(bench.events.map(({ type }) => type)).toEqual(isOurs ? [] : ["changed_elsewhere"]);
    // So that a further restart does not look for it again.
    expect(bench.records).toMatchObject(
      isOurs
        ? [{ type: "read_back", id: "a", address: "140", value: "1010", memory: {} }]
        : [{ type: "changed_elsewhere" }],
    );
  });

  it("of a target the configuration no longer has is not awaited, and its problem stays", () => {
    const bench = new CommandBench({ actuators: [{ ...fan, id: "other" }] });
    for (const over of [{}, { controller: "GH-0009" }])
      expect(lookedFor(bench, laneOf({ awaited: late, problem }, over))).toMatchObject({
        awaited: null,
        problem: { outcome: "unconfirmed" },
      });
  });
});

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

describe("a stop that was sent while the journal could not write", () => {
  /** Accepted, and not shown yet. */
  async function stopped(): Promise<CommandBench> {
    const bench = stopBench();
    bench.platform.onWrite = ignored;
    bench.journalProblem = "the disk is full";
    await bench.play('{"command":"stop","id":"a"}', 5_000);
    expect(bench.values()).toEqual(["109=00000100"]);
    return bench;
  }

  /** What the next start finds of it, by the journal alone. */
  function left(bench: CommandBench): OpenCommand | undefined {
    const history = new History();
    for (const [seq, record] of bench.records.entries())
      history.add({ seq, at: new Date(0).toISOString(), mono: 0, boot: "b", clock_synced: true, ...record });
    return history.parts().open.find(({ taken }) => taken.id === "a");
  }

  it("comes into the journal once that can be written again, as one that the next start reads back", async () => {
    const bench = await stopped();
    bench.journalProblem = null;
    await bench.journalAgain();
    expect(left(bench)).toMatchObject({ taken: { command: "stop" }, sent: { steps: [{ attempts: 1 }] } });
    const before = bench.records.length;
    await bench.journalAgain();
    expect(bench.records).toHaveLength(before);
  });

  it("comes into the journal as the program ends, which has not noticed yet that it can be written again", async () => {
    const bench = await stopped();
    bench.journalProblem = null;
    bench.journalAvailable = false;
    bench.commander.close();
    bench.commander.journalAgain({ isLast: true });
    await bench.clock.advance(0);
    expect(left(bench)).toMatchObject({ sent: { steps: [{ address: "109", attempts: 1 }] } });
    expect(bench.results).toEqual([]);
  });

  it("ends as the program does where the journal takes nothing until then, as no later start knows of it", async () => {
    const bench = await stopped();
    bench.commander.close();
    bench.commander.journalAgain({ isLast: true });
    await bench.clock.advance(0);
    bench.commander.giveUp();
    await bench.clock.advance(0);
    expect(bench.results).toMatchObject([{ id: "a", outcome: "unknown", steps: [{ attempts: 1 }] }]);
  });
});

describe("a command whose process ended before the journal had a record of its POST", () => {
  /** About to be sent, by the journal. */
  function restarted(bench: CommandBench, word: string): void {
    const earlier = new CommandBench({
      actuators: [bench.store.get("GH-0001")?.actuators.get("roof")?.settings ?? {}],
    });
    earlier.send(word);
    const [command] = earlier.commander.open;
    const step = command && stepsOf(command.settings, command.wanted, null).at(-1);
    if (!command || !step) throw new Error("the command is over");
    bench.recover({ command, step, earlier: [], attempts: 0, code: null, requestId: null, sentAt: null });
  }

  it.each([
    ["a value", "on", { ...fan, travelMs: 10_000 }, "140", ["1001", "1010"]],
    ["a degree", "45", { id: "roof", travelMs: 10_000 }, "101", ["10001", "10100", "45", "45"]],
  ] as const)(
    "and ended badly is still ours when %s comes late",
    async (_, word, actuator, address, [first, ...late]) => {
      const bench = new CommandBench({ actuators: [actuator], registers: { [address]: first } });
      bench.polled(address, first);
      restarted(bench, word);
      while (bench.results.length === 0) await bench.clock.advance(1_000);
      expect(bench.results).toMatchObject([{ outcome: "failed", sent_at: null, steps: [] }]);
      await bench.clock.advance(20_000);
      for (const raw of late) {
        bench.polled(address, raw);
        await bench.clock.advance(1_000);
      }
      expect(bench.events.map(({ type }) => type)).toEqual(["command_failed"]);
    },
  );
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

it("how long a command of an earlier run took counts from its receipt, the time between the runs included", async () => {
  const earlier = new CommandBench();
  earlier.send("open");
  const [command] = earlier.commander.open;
  const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
  if (!command || !step) throw new Error("the command is over");
  const bench = new CommandBench({ registers: { "101": "10010" } });
  const receivedAt = bench.clock.now() - 60_000;
  const sent = { earlier: [], attempts: 1, code: "200", requestId: null, sentAt: receivedAt };
  bench.recover({ command: { ...command, isRecovered: true, receivedAt }, step, ...sent });
  await bench.clock.advance(5_000);
  const [result] = bench.results;
  expect(result?.duration_ms).toBe(Date.parse(result?.finished_at ?? "") - receivedAt);
  expect(result?.duration_ms).toBeGreaterThanOrEqual(60_000);
});

describe("an equal command while one of an earlier run is being read back", () => {
  const equal = '{"command":"on","id":"equal"}';

  /** The earlier run has sent `on`; what its reads showed, this run does not know. */
  function restarted(): CommandBench {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    const earlier = new CommandBench({ actuators: [fan] });
    earlier.send('{"command":"on","id":"earlier"}');
    const [command] = earlier.commander.open;
    const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
    if (!command || !step) throw new Error("the command is over");
    bench.recover({ command, step, earlier: [], attempts: 1, code: "200", requestId: null, sentAt: 0 });
    return bench;
  }

  it("is sent where this run has not read it yet", async () => {
    const bench = restarted();
    await bench.play(equal, 100_000);
    expect(bench.values()).toEqual(["140=1010"]);
    expect(bench.outcomes).toEqual({ earlier: "superseded after_sending", equal: "confirmed" });
  });
});
