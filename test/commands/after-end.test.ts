import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { describe, expect, it } from "vitest";
import { judgeObservation, type Observation, observationOf } from "../../src/commands/after-end.js";
import type { Interrupted, Resting } from "../../src/commands/command.js";
import { actuator } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { fan as plainFan, fanBench, ignored } from "./benches.js";

const fan = { ...plainFan, travelMs: 0 };

const resting = (
  state: string,
  position: number | null = null,
  passing: Resting["passing"] = null,
): Resting => ({
  ...{ state, position, passing },
});
const sight = (state: string | null, position: number | null = null): Observation => ({ state, position });
const foreign = (text: string): Observation => ({ state: "unknown", position: null, foreign: text });

describe("moved by somebody else", () => {
  it.each<[string, Resting | null, Observation, "ours" | "nobody's", string | null]>([
    ["the first sight of a state", null, sight("open"), "nobody's", null],
    ["the same state", resting("open"), sight("open"), "nobody's", null],
    ["another state", resting("open"), sight("closed"), "nobody's", "open to closed"],
    ["another state while a command of ours is open", resting("open"), sight("closed"), "ours", null],
    ["anything after auto", resting("auto"), sight("open"), "nobody's", null],
    ["into auto", resting("open"), sight("auto"), "nobody's", "open to auto"],
    ["a degree seen once", resting("position", 20), sight("position", 50), "nobody's", null],
    ["a degree seen twice", resting("position", 20, 50), sight("position", 50), "nobody's", "20 to 50"],
    ["a degree after only the mode was known", resting("position"), sight("position", 50), "nobody's", null],
    ["an unreadable value", resting("open"), sight("unknown"), "nobody's", null],
    ["a value in no table, seen once", resting("off"), foreign("10101"), "nobody's", null],
    ["it seen twice", resting("off", null, "10101"), foreign("10101"), "nobody's", "off to unknown"],
    ["another one than before", resting("off", null, "10100"), foreign("10101"), "nobody's", null],
    ["it while a command of ours is open", resting("off", null, "10101"), foreign("10101"), "ours", null],
    ["it after auto", resting("auto", null, "10101"), foreign("10101"), "nobody's", null],
    ["it at the first sight", null, foreign("10101"), "nobody's", null],
    ["it where it stays", resting("unknown"), foreign("10101"), "nobody's", null],
    ["what follows it, as it is no settled state", resting("unknown"), sight("off"), "nobody's", null],
  ])("%s", (_, before, now, whose, told) => {
    const { moved } = judgeObservation(before, now, whose === "ours");
    expect(moved && `${moved.from} to ${moved.to}`).toBe(told);
  });

  it("is raised once, with what changed", async () => {
    const bench = new CommandBench({ actuators: [fan] });
    const read = (raw: string) => bench.polled("140", raw);
    read("1001");
    await bench.clock.advance(1_000);
    read("1010");
    await bench.clock.advance(1_000);
    read("1010");
    expect(bench.events).toMatchObject([{ type: "changed_elsewhere", facts: { from: "off", to: "on" } }]);
  });

  it("is raised also where a command finds it before it sends anything", async () => {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    bench.polled("140", "1001");
    await bench.play(1_000, () => bench.platform.registers.set("140", "1010"), "on", 5_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed" });
    expect(bench.events).toMatchObject([{ type: "changed_elsewhere", facts: { from: "off", to: "on" } }]);
  });
});

describe("an irrigation plan that ends by itself", () => {
  const plan = { id: "valve", kind: "irrigation", address: "210", travelMs: 0 } as const;
  const limits = {
    ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: 900_000, atMostMs: null, endsWith: "off" },
    guards: [],
  };

  it.each([
    ["1010", "1001", "ended_by_itself", "on to off"],
    ["1010", "1100", "ended_by_itself", "on to auto"],
    ["11111111", "1001", "ended_by_itself", "rotation to off"],
    ["11111111", "1100", "ended_by_itself", "rotation to auto"],
    ["1001", "1010", "changed_elsewhere", "off to on"],
    ["1010", "11111111", "changed_elsewhere", "on to rotation"],
  ])("%s → %s is %s, and only somebody else's doing is a warning", async (before, after, type, told) => {
    const bench = new CommandBench({ actuators: [plan], registers: { "210": before } });
    await bench.play(
      () => bench.polled("210", before),
      1_000,
      () => bench.polled("210", after),
      1_000,
    );
    const severity = type === "ended_by_itself" ? "info" : "warning";
    const [from, to] = told.split(" to ");
    expect(bench.events).toMatchObject([{ type, severity, facts: { from, to } }]);
    expect(bench.records.map((record) => record.type)).toEqual([type]);
  });

  it("ends its lease, which sends nothing then", async () => {
    const bench = new CommandBench({ actuators: [{ ...plan, limits }], registers: { "210": "1001" } });
    expect(await bench.run("on")).toMatchObject({ outcome: "confirmed" });
    expect(bench.store.get("GH-0001")?.actuators.get("valve")?.restrictions?.lease).toBeTruthy();
    bench.polled("210", "1001");
    await bench.clock.advance(2_000_000);
    expect(bench.values()).toEqual(["210=1010"]);
    expect(bench.store.get("GH-0001")?.actuators.get("valve")?.restrictions?.lease ?? null).toBeNull();
  });
});

describe("our own value after the command had ended unconfirmed", () =>
  it("is confirmed_late, is no change by somebody else, and clears the problem", async () => {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    bench.platform.onWrite = ignored;
    expect(await bench.run("on")).toMatchObject({ outcome: "unconfirmed" });
    bench.polled("140", "1010");
    await bench.clock.advance(10);
    expect(bench.events.map(({ type }) => type)).toEqual(["command_unconfirmed", "confirmed_late"]);
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
  }));

describe("our own value that shows after a bad end", () => {
  const unreadable = platformError({ kind: "server", status: 500 });
  const late = (raw: string) => (bench: CommandBench) => {
    bench.platform.onRead = null;
    bench.platform.registers.set("140", raw);
    bench.polled("140", raw);
  };

  it.each<[string, string, number, (bench: CommandBench) => void]>([
    [
      "accepted, and not readable for long",
      "unknown",
      300_000,
      ({ platform }) => {
        platform.onWrite = () => {
          platform.onRead = () => unreadable;
          return ignored();
        };
      },
    ],
    [
      "answered with another code",
      "rejected",
      40_000,
      ({ platform }) => {
        platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
      },
    ],
    [
      "its answer lost",
      "failed",
      85_000,
      ({ platform }) => {
        platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
      },
    ],
  ])("was not changed elsewhere: %s", async (_, outcome, afterMs, fault) => {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    bench.polled("140", "1001");
    await bench.play(fault, "on", afterMs);
    expect(bench.outcomes).toEqual({ c1: outcome });
    await bench.play(late("1010"), 1_000, late("1010"), 1_000);
    expect(bench.events.map(({ type }) => type)).not.toContain("changed_elsewhere");
    await bench.play(late("1001"), 1_000);
    expect(bench.events.map(({ type }) => type)).toContain("changed_elsewhere");
  });

  it.each([
    ["within the seconds after it was rejected was carried out late", 20_000, "late_execution"],
    ["within the hour after it was rejected was carried out late", 600_000, "late_execution"],
    ["more than an hour after it was rejected was set by somebody else", 3_700_000, "changed_elsewhere"],
  ])("%s", async (_, afterMs, type) => {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    bench.polled("140", "1001");
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
    await bench.play("on", afterMs, late("1010"), 1_000);
    expect(bench.events.map((event) => event.type)).toEqual(["command_rejected", type]);
    if (type === "late_execution") expect(bench.events[1]?.facts).toMatchObject({ id: "c1", to: "on" });
  });
});

describe("a confirmed value that is set back before its travel time is over", () => {
  const roof = { travelMs: 90_000 };

  it("raises the event, and the problem until the next command is confirmed", async () => {
    const bench = new CommandBench({ actuators: [roof], registers: { "101": "10001" } });
    await bench.play("open", 6_000);
    expect(bench.results).toMatchObject([{ outcome: "confirmed" }]);
    bench.platform.registers.set("101", "10001");
    bench.polled("101", "10001");
    await bench.clock.advance(90_000);
    expect(bench.events).toMatchObject([
      { type: "reverted", severity: "error", facts: { id: "c1", value: "10010", read_back: "10001" } },
    ]);
    expect(bench.store.get("GH-0001")?.problem).toBe(true);
    expect(bench.records).toContainEqual(expect.objectContaining({ type: "reverted", id: "c1" }));
    await bench.run("open");
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
    expect(bench.events).toHaveLength(1);
  });

  it("is told once: it is not changed elsewhere as well", async () => {
    const bench = new CommandBench({ actuators: [roof], registers: { "101": "10001" } });
    await bench.run("close");
    await bench.play("open", 6_000);
    bench.platform.registers.set("101", "10001");
    await bench.clock.advance(200_000);
    bench.polled("101", "10001");
    expect(bench.events.map(({ type }) => type)).toEqual(["reverted"]);
  });
});

const curtain = { ...fan, kind: "fan_wet_curtain" } as const;

describe("a value in no table", () => {
  it("left by a command of ours is not taken for somebody else's doing later", () => {
    const after = judgeObservation(resting("off"), foreign("10101"), true).resting;
    const once = judgeObservation(after, foreign("10101"), false);
    expect([once.moved, judgeObservation(once.resting, foreign("10101"), false).moved]).toEqual([null, null]);
  });

  it.each([
    ["digits", "fan_wet_curtain", "unknown", "10101", "10101"],
    ["no digits: unreadable", "fan_wet_curtain", "unknown", "--", null],
    ["empty: unreadable", "fan_wet_curtain", "unknown", "", null],
    ["never read", "fan_wet_curtain", null, null, null],
    ["a value of the table", "fan_wet_curtain", "off", "00000", null],
    ["where the table lists only what is to be sent", "motor", "unknown", "00000000", null],
  ] as const)("%s", (_, kind, state, value, seen) => {
    const read = { ...unreadActuator(actuator({ kind })), state, value };
    expect(observationOf(read).foreign).toBe(seen);
  });

  it("set by somebody else is told once, with the value", async () => {
    const bench = new CommandBench({ actuators: [curtain] });
    for (const raw of ["00000", "10101", "10101", "10101", "00000"]) {
      bench.polled("140", raw);
      await bench.clock.advance(1_000);
    }
    expect(bench.events).toMatchObject([
      { type: "changed_elsewhere", facts: { actuator: "roof", from: "off", to: "unknown" } },
    ]);
    expect(bench.events[0]?.message).toContain("10101");
  });
});

/** A fan whose register shows a POST only after 9 s. */
function lateFan(): CommandBench {
  const bench = fanBench();
  bench.platform.onWrite = ({ address, value }) => {
    void bench.clock.wait(9_000).then(() => bench.platform.registers.set(address, value));
    return Promise.resolve({ code: "200", requestId: null });
  };
  return bench;
}

describe("already", () => {
  it("is never said while the opposite is on its way: the newer command is sent and has the last word", async () => {
    const bench = lateFan();
    await bench.play("on", 4_500, "off", 400_000);
    expect(bench.values()).toEqual(["140=1010", "140=1001"]);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", c2: "confirmed" });
    expect(bench.platform.registers.get("140")).toBe("1001");
  });

  it("is said again once the older command has ended and a later read shows the value", async () => {
    const bench = lateFan();
    await bench.play("on", 100_000, "on", 100_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "already" });
  });
});

/** A degree the last run sent, and what became of it by the time of this start. */
function interruptedDegree(bench: CommandBench, over: Partial<Interrupted> = {}): Interrupted {
  const settings = bench.store.get("GH-0001")?.settings?.actuators.find(({ id }) => id === "roof");
  if (!settings) throw new Error("no such actuator");
  const step = { purpose: "value", address: "101", value: "60" } as const;
  return {
    command: {
      ...{ id: "old", ownId: true, code: "GH-0001", controllerId: "gh-0001", target: "actuator" },
      ...{ targetId: "roof", settings, wanted: { type: "position", degree: 60 }, payloadKey: "k" },
      ...{ by: null, via: null, response: null, force: false, dryRun: false, term: null, rule: null },
      ...{ receivedAt: bench.clock.now(), receivedMono: 0, deadlineMono: 0 },
    },
    step,
    ...{ earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() },
    ...over,
  };
}

describe("after a restart", () => {
  it("a degree passed on the way is not already there: the travel time counts from the start", async () => {
    const bench = new CommandBench({ registers: { "101": "45" } });
    bench.recover(interruptedDegree(bench));
    await bench.play(10, "45", 5_000);
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
  });

  it("a command that was never sent is no reason not to send an equal one, and raises no problem", async () => {
    const bench = new CommandBench({ registers: { "101": "20" } });
    bench.recover(interruptedDegree(bench, { attempts: 0, code: null, sentAt: null }));
    await bench.play(1_000, "60", 400_000);
    expect(bench.values()).toEqual(["101=10100", "101=60"]);
    expect(bench.outcomes).toMatchObject({ c1: "confirmed" });

    const message = expect.stringMatching("Nobody knows whether the bridge had sent 60") as string;
    expect(bench.results.find(({ id }) => id === "old")).toMatchObject({ outcome: "superseded", message });

    const other = new CommandBench();
    other.platform.registers.set("101", "20");
    other.recover(interruptedDegree(other, { attempts: 0, code: null, sentAt: null }));
    await other.clock.advance(700_000);
    expect(other.outcomes).toEqual({ old: "failed" });
    expect(other.store.get("GH-0001")?.problem).toBe(false);
  });
});

describe("those that wait together", () => {
  /** The first command's POST takes 6 s. */
  function slowFan(): CommandBench {
    const bench = fanBench();
    bench.platform.onWrite = async (post) => {
      await bench.clock.wait(6_000);
      return bench.platform.accept(post);
    };
    return bench;
  }

  it.each([
    ["a dry run", '{"command":"off","dry_run":true}', "dry_run"],
    ["a command that is refused when its turn comes", '{"command":"off","max_age":"1s"}', "refused expired"],
  ])("%s takes nobody's place", async (_, payload, outcome) => {
    const bench = slowFan();
    await bench.play("on", 1_000, "auto", payload, 400_000);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", c2: "confirmed", c3: outcome });
    expect(bench.values()).toEqual(["140=1010", "140=1100"]);
  });

  it.each<[string, (bench: CommandBench) => void, string]>([
    ["cannot be read back", ({ platform }) => platform.registers.delete("140"), "refused no_read_back"],
    [
      "finds the controller offline",
      ({ platform }) => (platform.connectionNow = "offline"),
      "refused controller_offline",
    ],
  ])("a command that %s at its turn takes nobody's place", async (_, happens, outcome) => {
    const bench = new CommandBench({
      actuators: [{ ...plainFan, minIntervalMs: 10_000 }],
      registers: { "140": "1001" },
    });
    await bench.play("on", 5_000, '{"command":"auto","max_age":"60s"}', 1_000, "off", happens, 10_000);
    expect(bench.outcomes).toMatchObject({ c3: outcome });
    expect(bench.outcomes["c2"]).not.toMatch("superseded");
  });

  it("a dry run of what is there already takes nobody's place", async () => {
    const bench = new CommandBench({
      actuators: [{ ...plainFan, minIntervalMs: 60_000 }],
      registers: { "140": "1001" },
    });
    await bench.play("on", 30_000, "auto", '{"command":"on","dry_run":true}', 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "confirmed", c3: "already" });
  });

  it("the newest supersedes the others as it is sent", async () => {
    const bench = slowFan();
    await bench.play("on", 1_000, "auto", "off", 10);
    expect(bench.outcomes).toEqual({});
    await bench.clock.advance(400_000);
    expect(bench.results.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      "c2 superseded",
      "c1 superseded",
      "c3 confirmed",
    ]);
    expect(bench.values()).toEqual(["140=1010", "140=1001"]);
  });
});

describe("a command that takes over the read-backs of an equal one", () =>
  it("is in the journal with what was sent for both, before the older one's result", async () => {
    const bench = lateFan();
    await bench.play("on", 1_500, '{"command":"on","id":"heir"}', 600);
    const records = bench.records.map((record) =>
      record.type === "result"
        ? `result ${record.result.id}`
        : "id" in record
          ? `${record.type} ${String(record.id)}`
          : record.type,
    );
    expect(records.slice(-3)).toEqual(["command_taken heir", "result c1", "read_back null"]);
    expect(
      bench.records.findLast((record) => record.type === "command_taken" && record.id === "heir"),
    ).toMatchObject({ took_over: "c1" });
    await bench.clock.advance(100_000);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", heir: "confirmed" });
    expect(bench.values()).toEqual(["140=1010"]);
  }));

describe("an equal command is sent where the newest read shows something else", () => {
  const heir = '{"command":"on","id":"heir"}';

  it("to what reads the value back", async () => {
    const bench = lateFan();
    await bench.play("on", 2_500, heir, 100);
    expect(bench.values()).toEqual(["140=1010", "140=1010"]);
  });

  it("to the read that an ambiguous POST was followed by, before its reading back", async () => {
    const bench = lateFan();
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
    await bench.play('{"command":"on","max_age":"3s"}', 5_500, heir, 100);
    expect(bench.values()).toEqual(["140=1010", "140=1010"]);
  });

  it("to that read also where the second POST that it called for never left", async () => {
    const bench = lateFan();
    bench.platform.connects = (nth) => (nth === 2 ? platformError({ sent: false }) : null);
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
    await bench.play('{"command":"on","max_age":"60s"}', 5_500, heir, 100);
    expect(bench.values()).toEqual(["140=1010", "140=1010"]);
  });

  it("to a poll, as where somebody moved it by hand meanwhile", async () => {
    const bench = lateFan();
    await bench.play("on", 500, () => bench.polled("140", "1100"), heir, 1_510);
    expect(bench.values()).toEqual(["140=1010", "140=1010"]);
    await bench.clock.advance(100_000);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", heir: "confirmed" });
  });
});
