import { describe, expect, it } from "vitest";
import { seeActuator, type Sight, sightOf } from "../../src/commands/aftermath.js";
import type { Rest } from "../../src/commands/command.js";
import { unreadActuator } from "../../src/greenhouse/fold-registers.js";
import { actuator } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";

const curtain = {
  id: "roof",
  kind: "fan_wet_curtain",
  address: "140",
  confirmWithinMs: 60_000,
  travelMs: 0,
} as const;

const rest = (state: string, passing: string | null = null): Rest => ({ state, position: null, passing });
const foreign = (text: string): Sight => ({ state: "unknown", position: null, foreign: text });
const off: Sight = { state: "off", position: null };

describe("a value in no table", () => {
  it.each<[string, Rest | null, Sight, boolean, object | null]>([
    ["seen once may be passing", rest("off"), foreign("10101"), false, null],
    ["seen twice", rest("off", "10101"), foreign("10101"), false, { from: "off", to: "unknown" }],
    ["another one than before", rest("off", "10100"), foreign("10101"), false, null],
    ["while a command of ours is open", rest("off", "10101"), foreign("10101"), true, null],
    ["after auto", rest("auto", "10101"), foreign("10101"), false, null],
    ["at the first sight", null, foreign("10101"), false, null],
    ["that stays", rest("unknown"), foreign("10101"), false, null],
    ["is no settled state: what follows it was told already", rest("unknown"), off, false, null],
  ])("%s", (_, before, now, ours, moved) => expect(seeActuator(before, now, ours).moved).toEqual(moved));

  it("left by a command of ours is not taken for somebody else's doing later", () => {
    const after = seeActuator(rest("off"), foreign("10101"), true).rest;
    const once = seeActuator(after, foreign("10101"), false);
    expect([once.moved, seeActuator(once.rest, foreign("10101"), false).moved]).toEqual([null, null]);
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
