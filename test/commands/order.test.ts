import { describe, expect, it } from "vitest";
import { CommandBench } from "../support/command-bench.js";
import { fan, fanBench, ignored, stopBench, roofBench } from "./benches.js";

describe("superseding", () => {
  it("50 values within a second give at most two write sequences, and every command one result", async () => {
    const bench = roofBench();
    for (let degree = 1; degree <= 50; degree++) {
      await bench.play(String(degree), 20);
    }
    await bench.clock.advance(400_000);
    expect(bench.results).toHaveLength(50);
    expect(bench.results.filter(({ outcome }) => outcome === "superseded").length).toBeGreaterThanOrEqual(48);
    expect(bench.values()).toEqual(["101=10100", "101=1", "101=10100", "101=50"]);
    expect(bench.results.at(-1)).toMatchObject({ command: "50", outcome: "confirmed" });
  });

  it("a refused command supersedes nothing", async () => {
    const bench = fanBench();
    await bench.play("on", 100);
    bench.platform.connectionNow = "offline";
    await bench.play("auto", 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "refused controller_offline" });
  });

  it("a dry run takes over nothing: the command being confirmed ends as itself", async () => {
    const bench = fanBench();
    bench.platform.onWrite = () => {
      void bench.clock.wait(30_000).then(() => bench.platform.registers.set("140", "1010"));
      return Promise.resolve({ code: "200", requestId: null });
    };
    await bench.play("on", 10_000, '{"command":"on","dry_run":true}', 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "dry_run" });
  });

  it("a command that waited longer than its age is expired and never sent", async () => {
    const bench = new CommandBench({
      actuators: [{ ...fan, minIntervalMs: 120_000 }],
      registers: { "140": "1001" },
    });
    await bench.play("on", 5_000, "auto", 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "refused expired" });
    expect(bench.values()).toEqual(["140=1010"]);
  });
});

describe("stop", () => {
  it("with an address of its own is followed by a read of the state, before its result", async () => {
    const bench = stopBench();
    bench.send("stop");
    bench.platform.registers.set("101", "10100");
    await bench.clock.advance(3_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed" });
    expect(bench.store.get("GH-0001")?.actuators.get("roof")).toMatchObject({ state: "position" });
  });

  it.each([
    ["00000100", "00000100"],
    ["100", "00000100"],
    ["0", "0"],
  ])("that reads %j is told as %s, and as no degree", async (raw, told) => {
    const bench = stopBench();
    bench.platform.onWrite = () => {
      bench.platform.registers.set("109", raw);
      return ignored();
    };
    await bench.play("stop", 400_000);
    expect(bench.results).toMatchObject([{ read_back: told, steps: [{ purpose: "stop", read_back: told }] }]);
  });

  it("that is a dry run interrupts nothing", async () => {
    const bench = stopBench();
    bench.platform.onWrite = async (post) => {
      await bench.clock.wait(3_000);
      return bench.platform.accept(post);
    };
    await bench.play("45", 1_000, '{"command":"stop","dry_run":true}', 400_000);
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "dry_run" });
  });

  it("that grows too old behind a POST leaves nothing for an equal command to take over", async () => {
    const bench = stopBench();
    bench.platform.onWrite = async (_, nth) => {
      if (nth === 1) await bench.clock.wait(20_000);
      bench.platform.registers.set("101", nth === 1 ? "10001" : "10010");
      return { code: "200", requestId: null };
    };
    await bench.play("open", 1_000, '{"command":"stop","max_age":"5s"}', 1_000, "open", 400_000);
    expect(bench.outcomes).toMatchObject({ c2: "refused expired", c3: "confirmed" });
    expect(bench.values()).toEqual(["101=10010", "101=10010"]);
  });

  it("skips the online check, the fresh read and min_interval", async () => {
    const bench = stopBench();
    await bench.play("open", 100);
    bench.platform.connectionNow = "offline";
    await bench.play("STOP", 50);
    expect(bench.values()).toEqual(["101=10010", "109=00000100"]);
  });

  it("replaces what waits, and only a newer stop replaces a waiting stop", async () => {
    const bench = stopBench();
    bench.platform.onWrite = async (post) => {
      await bench.clock.wait(3_000);
      return bench.platform.accept(post);
    };
    for (const payload of ["open", "close", "stop", "auto"]) {
      await bench.play(payload, 10);
    }
    await bench.clock.advance(400_000);
    expect(bench.outcomes).toMatchObject({
      c2: "superseded before_sending",
      c3: "superseded after_sending",
      c4: "confirmed",
    });
    expect(bench.values()).toEqual(["101=10010", "109=00000100", "101=11000"]);
  });
});

describe("stop pressed again", () => {
  it("under the same id is a duplicate: a message that comes twice is one", async () => {
    const bench = stopBench({ "109": "0" });
    await bench.play('{"command":"stop","id":"s"}', 3_000, '{"command":"stop","id":"s"}', 400_000);
    expect(bench.values()).toEqual(["109=00000100"]);
    expect(bench.results.at(-1)).toMatchObject({ outcome: "refused", reason: "duplicate" });
  });

  it("that grows too old while it waits is refused, and the actuator takes the next command", async () => {
    const bench = stopBench({ "109": "0" });
    await bench.play("stop", 100, '{"command":"stop","max_age":"1s"}', 10_000, "open", 400_000);
    expect(bench.outcomes).toMatchObject({ c2: "refused expired", c3: "confirmed" });
    expect(bench.values()).toEqual(["109=00000100", "101=10010"]);
  });

  it("while it waits nothing else is sent before it", async () => {
    const bench = stopBench({ "109": "0" });
    await bench.play("stop", 500, "stop", 100, "open", 400_000);
    expect(bench.values()).toEqual(["109=00000100", "109=00000100", "101=10010"]);
  });

  it("is sent although another bridge works for the account", async () => {
    const bench = stopBench({ "109": "0" });
    bench.otherBridge = true;
    await bench.play("open", "stop", 400_000);
    expect(bench.outcomes).toEqual({ c1: "refused other_bridge", c2: "confirmed" });
  });
});

describe("duplicates", () => {
  it("the same id is a duplicate for 12 h and carries the first result", async () => {
    const bench = fanBench();
    await bench.run('{"command":"on","id":"a"}');
    await bench.clock.advance(11 * 3_600_000);
    expect(await bench.run('{"command":"on","id":"a"}')).toMatchObject({
      outcome: "refused",
      reason: "duplicate",
      original: { outcome: "confirmed", id: "a" },
    });
    await bench.clock.advance(2 * 3_600_000);
    expect(await bench.run('{"command":"on","id":"a"}')).toMatchObject({ outcome: "already" });
  });

  it("the same id while the journal cannot be written is still a duplicate, as the first command is under way", async () => {
    const bench = fanBench();
    await bench.play('{"command":"on","id":"a1"}', 100);
    bench.journalProblem = "disk full";
    await bench.play('{"command":"on","id":"a1"}', 100);
    expect(bench.results).toMatchObject([{ id: "a1", outcome: "refused", reason: "duplicate" }]);
  });

  it("the same id with another command is bad_payload", async () => {
    const bench = fanBench();
    await bench.run('{"command":"on","id":"a"}');
    expect(await bench.run('{"command":"off","id":"a"}')).toMatchObject({
      outcome: "refused",
      reason: "bad_payload",
    });
  });
});

describe("a flood", () => {
  it("above 60 refusals a minute per actuator each is answered, and the rest journaled as one count", async () => {
    const bench = fanBench();
    for (let n = 0; n < 100; n++) bench.send("dance");
    await bench.play(61_000, "dance", 1_000);
    expect(bench.results).toHaveLength(101);
    expect(bench.records.filter(({ type }) => type === "refusal")).toHaveLength(61);
    expect(bench.records.find(({ type }) => type === "refusals_counted")).toMatchObject({ count: 40 });
  });

  it("that has ended is journaled as one count without another command", async () => {
    const bench = fanBench();
    for (let n = 0; n < 100; n++) bench.send("dance");
    await bench.clock.advance(61_000);
    await bench.journalAgain();
    expect(bench.records.filter(({ type }) => type === "refusals_counted")).toMatchObject([{ count: 40 }]);
  });

  it("of invented targets shares one limit, and their names are cut: each is answered, few fill the disk", async () => {
    const bench = fanBench();
    for (let n = 0; n < 900; n++) bench.send("on", { targetId: `invented-${n}-${"x".repeat(2_000)}` });
    await bench.clock.advance(61_000);
    await bench.journalAgain();
    expect(bench.results).toHaveLength(900);
    const refusals = bench.records.filter(({ type }) => type === "refusal");
    expect(refusals).toHaveLength(60);
    expect(JSON.stringify(refusals[0]).length).toBeLessThan(2_000);
    expect(bench.records.filter(({ type }) => type === "refusals_counted")).toMatchObject([
      { controller: "*", actuator: "*", count: 840, reasons: { overloaded: 840 } },
    ]);
  });

  it("that nobody could look at is told as one result that says how many, and journaled as a count", async () => {
    const bench = new CommandBench();
    const about = { code: "GH-0001", controllerId: "gh-0001", target: "actuator", targetId: "roof" } as const;
    bench.commander.feed({
      type: "surplus",
      about,
      id: "one",
      reason: "overloaded",
      count: 3_000,
      ids: ["a"],
    });
    bench.commander.feed({ type: "surplus", about, id: "two", reason: "before_sending", count: 40, ids: [] });
    bench.commander.feed({
      type: "surplus",
      about: null,
      id: "three",
      reason: "overloaded",
      count: 7,
      ids: [],
    });
    await bench.clock.advance(61_000);
    await bench.journalAgain();
    expect(bench.results).toMatchObject([
      {
        id: "one",
        actuator: "roof",
        command: null,
        outcome: "refused",
        reason: "overloaded",
        count: 3_000,
        ids: ["a"],
      },
      {
        id: "two",
        actuator: "roof",
        command: null,
        outcome: "superseded",
        reason: "before_sending",
        count: 40,
      },
    ]);
    expect(bench.records.filter(({ type }) => type === "refusals_counted")).toMatchObject([
      { actuator: "roof", count: 3_040, reasons: { overloaded: 3_000, before_sending: 40 } },
      { actuator: "*", count: 7 },
    ]);
  });

  it("of stops is answered each, and journaled as few records and one count a minute", async () => {
    const bench = new CommandBench({ actuators: [{ stop: { address: "109", value: "00000100" } }] });
    for (let n = 0; n < 1_000; n++) {
      await bench.play(n % 2 === 0 ? "stop" : '{"command":"stop","dry_run":true}', 10);
    }
    await bench.clock.advance(400_000);
    await bench.journalAgain();
    expect(bench.results).toHaveLength(1_000);
    expect(new Set(bench.results.map(({ outcome }) => outcome))).not.toContain("refused");
    const single = bench.records.filter(({ type }) => type === "result").length;
    expect(single).toBeLessThan(80);
    const counts = bench.records.flatMap((one) => (one.type === "refusals_counted" ? [one.count] : []));
    expect(single + counts.reduce((sum, count) => sum + count, 0)).toBe(1_000);
    // Each record that says that a stop was taken has its end in the journal.
    const ends = new Set(bench.records.flatMap((one) => (one.type === "result" ? [one.result.id] : [])));
    for (const one of bench.records) if (one.type === "command_taken") expect(ends).toContain(one.id);
  });

  it("of dry runs writes nothing that anybody waits for until it is on disk", async () => {
    const bench = fanBench();
    for (let n = 0; n < 580; n++) bench.send('{"command":"on","dry_run":true}');
    await bench.clock.advance(400_000);
    expect(bench.results).toHaveLength(580);
    expect(bench.durable).toEqual([]);
    expect(bench.records.length).toBeLessThanOrEqual(2 * 60 + 60 + 1);
  });

  it("of stops leaves the target's own commands their allowance", async () => {
    const bench = stopBench();
    for (let n = 0; n < 500; n++) bench.send("stop");
    await bench.play("open", 400_000);
    expect(bench.results.filter(({ reason }) => reason === "overloaded")).toEqual([]);
    expect(bench.values().at(-1)).toBe("101=10010");
  });
});

describe("what the configuration says by now", () => {
  it.each([
    ["readOnly", "refused read_only"],
    ["dryRun", "dry_run"],
  ] as const)("ends a command that waits: %s makes it %s", async (rule, outcome) => {
    const actuators = [{ ...fan, minIntervalMs: 60_000 }];
    const options = { actuators, registers: { "140": "1001" }, readOnly: false, dryRun: false };
    const bench = new CommandBench(options);
    await bench.play("on", 30_000, "auto", () => (options[rule] = true), 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: outcome });
    expect(bench.values()).toEqual(["140=1010"]);
  });

  it("ends a command that is being checked before its first POST, and lets one go on of which something was sent", async () => {
    const checked = { actuators: [fan], registers: { "140": "1001" }, readOnly: false };
    const bench = new CommandBench(checked);
    bench.diskMs = 1_000;
    await bench.play("on", 500, () => (checked.readOnly = true), 400_000);
    expect(bench.outcomes).toEqual({ c1: "refused read_only" });
    expect(bench.values()).toEqual([]);

    const sent = { registers: { "101": "10001" }, readOnly: false };
    const roof = new CommandBench(sent);
    roof.send("45");
    while (roof.values().length === 0) await roof.clock.advance(100);
    sent.readOnly = true;
    await roof.clock.advance(400_000);
    expect(roof.outcomes).toEqual({ c1: "confirmed" });
    expect(roof.values()).toEqual(["101=10100", "101=45"]);
  });
});

it("a stop whose journal record is still being written when the program ends is refused, not sent", async () => {
  const bench = stopBench();
  bench.send("stop");
  bench.commander.close();
  await bench.clock.advance(10_000);
  expect(bench.values()).toEqual([]);
  expect(bench.results).toMatchObject([{ outcome: "refused", reason: "shutting_down", sent_at: null }]);
});

it("a refusal that the disk may lose with the power is told by the next start, which may find the command open", async () => {
  const bench = roofBench();
  bench.losesWithPower = ({ type }) => type === "result";
  bench.diskMs = 1_000;
  bench.send("45");
  await bench.clock.advance(500);
  bench.commander.close();
  await bench.clock.advance(10_000);
  expect(bench.records.at(-1)).toMatchObject({ type: "result", result: { reason: "shutting_down" } });
  expect(bench.results).toEqual([]);
});
