import { describe, expect, it } from "vitest";
import { seeActuator, type Sight, sightOf } from "../../src/commands/aftermath.js";
import type { Resting } from "../../src/commands/command.js";
import { unreadActuator } from "../../src/greenhouse/fold-registers.js";
import { actuator } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { fan as restingFan, ignored } from "./benches.js";

const fan = { ...restingFan, travelMs: 0 };

const resting = (
  state: string,
  position: number | null = null,
  passing: Resting["passing"] = null,
): Resting => ({
  ...{ state, position, passing },
});
const sight = (state: string | null, position: number | null = null): Sight => ({ state, position });
const foreign = (text: string): Sight => ({ state: "unknown", position: null, foreign: text });

describe("moved by somebody else", () => {
  it.each<[string, Resting | null, Sight, "ours" | "nobody's", string | null]>([
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
    const { moved } = seeActuator(before, now, whose === "ours");
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
    const after = seeActuator(resting("off"), foreign("10101"), true).resting;
    const once = seeActuator(after, foreign("10101"), false);
    expect([once.moved, seeActuator(once.resting, foreign("10101"), false).moved]).toEqual([null, null]);
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
    expect(sightOf(read).foreign).toBe(seen);
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
