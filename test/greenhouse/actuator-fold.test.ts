import { foldRegister, unreadActuator } from "../../src/greenhouse/reduce.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ActuatorKind,
  decodeValue,
  sameValue,
  stateAddresses,
} from "../../src/greenhouse/actuator-kinds.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { actuator } from "../support/builders.js";
import { register, start } from "../support/folding.js";

type Read = readonly [address: string, raw: RawValue, startedAt?: number];

const fold = (over: Partial<ActuatorSettings>, ...reads: Read[]) =>
  reads.reduce(
    (held, [address, raw, startedAt = 0]) => foldRegister(held, address, register(raw, startedAt)),
    unreadActuator(actuator(over)),
  );
const reads = { open: ["10010", "100"], auto: ["11000", "11010", "11001"] };
const apart = { modeAddress: "201", positionAddress: "202" };

describe("the state is what the registers show", () => {
  /** Reads as `address value`, one begun after the other; a value in quotes is a text. */
  const readsOf = (text: string): Read[] =>
    text === ""
      ? []
      : text.split(", ").map((read, place) => {
          const [address = "", raw = ""] = read.split(" ");
          return [address, raw.startsWith("'") ? raw.slice(1, -1) : Number(raw), place];
        });

  it.each<[string, Partial<ActuatorSettings>, string, string]>([
    ["nothing read", {}, "", "null null null"],
    ["open is no position", {}, "101 '10010'", "open null 10010"],
    ["a degree", {}, "101 45", "position 45 45"],
    ["mode without a degree yet", {}, "101 '10100'", "position null 10100"],
    ["the position goes when the next read is no degree", {}, "101 45, 101 '10001'", "closed null 10001"],
    ["another actuator's address", {}, "102 '10010'", "null null null"],
    ["apart: a number at the mode address is no mode", apart, "201 '0', 202 30", "unknown null 0"],
    ["apart: the mode alone", apart, "201 '10010'", "open null 10010"],
    ["apart: the mode and the degree", apart, "201 '10100', 202 30", "position 30 30"],
    ["apart: the degree read first", apart, "202 30, 201 '10100'", "position 30 30"],
    ["apart: another mode hides the degree", apart, "201 '10100', 202 30, 201 '11000'", "auto null 11000"],
    [
      "apart: the degree shows again when the mode is back",
      apart,
      "202 30, 201 '11000', 201 '10100'",
      "position 30 30",
    ],
    ["apart: a degree that is none", apart, "201 '10100', 202 'x'", "position null 10100"],
    ["apart: the plain address counts no longer", apart, "101 '10010'", "null null null"],
    ["a further value of a word", { reads }, "101 '11010'", "auto null 11010"],
    ["a degree that means a word is still how far it is open", { reads }, "101 100", "open 100 100"],
    ["any other degree is a position", { reads }, "101 40", "position 40 40"],
    ["apart: a further value of a word is no position", { ...apart, reads }, "201 100", "open null 100"],
    [
      "a word that is read and never sent",
      { kind: "fan_wet_curtain", reads: { auto: ["10101"] } },
      "101 10101",
      "auto null 10101",
    ],
    [
      "a word that the configuration adds",
      { kind: "fan_wet_curtain", values: { auto: "11111" } },
      "101 11111",
      "auto null 11111",
    ],
    ["only the position elsewhere", { positionAddress: "202" }, "101 '10100', 202 '7'", "position 7 7"],
  ])("%s", (_, over, reads, shown) => {
    const { state, position, value } = fold(over, ...readsOf(reads));
    expect([state, position, value].map(String).join(" ")).toBe(shown);
  });

  it.each<[Partial<ActuatorSettings>, string[]]>([
    [{}, ["101"]],
    [apart, ["201", "202"]],
    [{ modeAddress: "201" }, ["201", "101"]],
    [{ modeAddress: "201", positionAddress: "201" }, ["201"]],
    [{ kind: "light", ...apart }, ["101"]],
  ])("the addresses of %j are %j", (over, addresses) =>
    expect(stateAddresses(actuator(over))).toEqual(addresses),
  );
});

it.each([
  ["10100", "open", null],
  ["40", "position", 40],
])(
  "after the degree was sent, the mode alone (%s) is no state yet; anything else is",
  (raw, state, position) => {
    const opened = fold({}, ["101", "10010", 0]);
    const sent = { ...opened, postedAt: 100, between: { until: "101" } };
    expect(foldRegister(sent, "101", register(raw, 200))).toMatchObject({ state, position, value: raw });
  },
);

describe("a read counts from when it began", () => {
  const posted = { ...fold({}, ["101", "10010", 100]), postedAt: 200 };

  it.each([
    ["before the read held", 50, false],
    ["before our POST", 199, false],
    ["with our POST", 200, true],
  ])("%s", (_, startedAt, counts) => {
    const next = foldRegister(posted, "101", register("10001", startedAt));
    expect(next === posted).toBe(!counts);
    expect(next.state).toBe(counts ? "closed" : "open");
  });

  it("each address has its own order", () => {
    expect(fold(apart, ["201", "10100", 100], ["202", 30, 50])).toMatchObject({ position: 30 });
    expect(fold(apart, ["202", 30, 100], ["202", 40, 50], ["201", "10100", 60])).toMatchObject({
      position: 30,
    });
  });

  it("source and time are those of the read that counted", () => {
    const facts = { readAt: start + 7, source: "read_back" } as const;
    expect(foldRegister(fold({}), "101", register("10010", 1, facts))).toMatchObject(facts);
  });

  it.each([
    ["agrees with what the device gave leaves the device's word standing", "10010", true],
    ["differs from it takes its place", "10001", false],
  ])("a read from the platform's memory that %s", (_, raw, fresh) => {
    const asked = foldRegister(fold({}), "101", register("10010", 1, { fresh: true }));
    const polled = foldRegister(asked, "101", register(raw, 2, { fresh: false }));
    expect(polled.registers["101"]).toMatchObject({ raw, startedAt: 2, fresh });
  });

  it("whatever order reads end in, the one begun last is shown", () => {
    const begun = fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(begun, (starts) => {
        const shown = fold({}, ...starts.map((at): Read => ["101", at, at]));
        expect(shown.position).toBe(Math.max(...starts));
      }),
    );
  });
});

describe("a value is read through its kind alone, however the platform spells it", () => {
  it.each<[kind: ActuatorKind, raw: RawValue, state: string, position: number | null, value: string]>([
    ["skylight", "10010", "open", null, "10010"],
    ["skylight", 10001, "closed", null, "10001"],
    ["skylight", "10100", "position", null, "10100"],
    ["skylight", "45", "position", 45, "45"],
    ["skylight", " 45 ", "position", 45, "45"],
    ["skylight", "45.0", "position", 45, "45"],
    ["skylight", "45%", "position", 45, "45"],
    ["skylight", "45 %", "position", 45, "45"],
    ["skylight", "45％", "position", 45, "45"],
    ["skylight", "４５", "position", 45, "45"],
    ["skylight", 44.7, "position", 45, "44.7"],
    ["skylight", "44.7", "position", 45, "44.7"],
    ["skylight", "44.7 %", "position", 45, "44.7 %"],
    ["skylight", "0.4", "position", 0, "0.4"],
    ["skylight", "99.6", "position", 100, "99.6"],
    ["skylight", "100.1", "unknown", null, "100.1"],
    ["skylight", "-0.3", "unknown", null, "-0.3"],
    ["skylight", "45°", "unknown", null, "45°"],
    ["skylight", "4 5", "unknown", null, "4 5"],
    ["skylight", "45%%", "unknown", null, "45%%"],
    ["skylight", "１００１０", "open", null, "10010"],
    ["circulation_fan", "１０１０", "on", null, "1010"],
    ["circulation_fan", "45%", "unknown", null, "45%"],
    ["skylight", "101", "unknown", null, "101"],
    ["skylight", "", "unknown", null, ""],
    ["circulation_fan", "1010", "on", null, "1010"],
    ["circulation_fan", 1001, "off", null, "1001"],
    ["circulation_fan", "45", "unknown", null, "45"],
    ["fan_wet_curtain", 0, "off", null, "00000"],
    ["fan_wet_curtain", "00000", "off", null, "00000"],
    ["fan_wet_curtain", "11000", "fans_1_2", null, "11000"],
    ["fan_wet_curtain", "10110", "unknown", null, "10110"],
    ["irrigation", "11111111", "rotation", null, "11111111"],
    ["motor", 100, "stop", null, "00000100"],
  ])("%s reads %j as %s", (kind, raw, state, position, value) =>
    expect(decodeValue({ kind, values: {} }, raw)).toEqual({ state, position, value }),
  );

  it("a configured table adds its words to a motor's own", () => {
    const motor = { kind: "motor" as const, values: { open: "00000001" } };
    expect(decodeValue(motor, 1).state).toBe("open");
    expect(decodeValue(motor, "00000100").state).toBe("stop");
  });
});

describe("two spellings are one value where they are one number", () =>
  it.each([
    ["00100", "100", true],
    ["100", "0000100", true],
    ["00000", "0", true],
    ["1010", "1011", false],
    ["1.50", "1.5", true],
    ["1.50", "1.05", false],
    ["1.5", "1.5 ", false],
    ["abc", "ABC", false],
    ["", "0", false],
    ["１档", "1档", true],
    ["－３", "-3", true],
  ])("%j and %j: %s", (one, other, same) => expect(sameValue(one, other)).toBe(same)));
