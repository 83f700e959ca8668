import { describe, expect, it } from "vitest";
import { needsLeadIn, shows, travels } from "../../src/greenhouse/command/plan.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { actuator } from "../support/builders.js";

/** What a platform reads that gives how far a window is, and combines bits in automatic. */
const reads = { open: ["10010", "100"], close: ["0"], auto: ["11010", "11001"] };
const apart = { modeAddress: "201", positionAddress: "202" };

describe("a read-back shows what a step asked for", () => {
  it.each<
    [string, Partial<ActuatorSettings>, "mode" | "value" | "lead_in" | "stop", string, RawValue, boolean]
  >([
    ["the same value", { kind: "irrigation" }, "value", "1010", "1010", true],
    ["as a number, without its leading zeros", { kind: "custom" }, "value", "0110", 110, true],
    ["another value", { kind: "irrigation" }, "value", "1010", "1001", false],
    ["the lead-in of a light", { kind: "light" }, "lead_in", "1010", "1010", true],
    ["a degree", {}, "value", "30", 30, true],
    ["a degree besides", {}, "value", "30", "31", false],
    ["a degree within the tolerance", { tolerance: 2 }, "value", "30", "32", true],
    ["a degree below within the tolerance", { tolerance: 2 }, "value", "30", "28", true],
    ["a degree beyond the tolerance", { tolerance: 2 }, "value", "30", "33", false],
    ["a degree with a fraction, which is nearest to it", {}, "value", "45", 44.7, true],
    ["a degree with a fraction, which is nearer to another", {}, "value", "45", "44.4", false],
    ["a degree with a fraction, within the tolerance", { tolerance: 1 }, "value", "45", "43.6", true],
    ["a degree with a sign of percent", {}, "value", "45", "45 %", true],
    ["a degree with a fraction, which stands where the mode stood", {}, "mode", "10100", "44.7%", true],
    ["a degree with a sign of percent that means a word", { reads }, "value", "10010", "100%", true],
    ["a degree with a fraction that means a word", { reads }, "value", "10010", 99.7, true],
    ["a word where a degree was asked for", { tolerance: 2 }, "value", "30", "10010", false],
    ["a degree where a word was asked for", {}, "value", "10010", "30", false],
    ["a number of a kind without degrees", { kind: "custom", tolerance: 2 }, "value", "30", "31", false],
    ["the mode of a position", {}, "mode", "10100", "10100", true],
    ["a degree, which stands where the mode stood", {}, "mode", "10100", "45", true],
    ["a degree at the address of the mode alone", apart, "mode", "10100", "45", false],
    ["another mode", {}, "mode", "10100", "11000", false],
    ["a further value of the word", { reads }, "value", "10010", "100", true],
    ["a further value of the word, as a number", { reads }, "value", "11000", 11010, true],
    ["the value that is sent, beside further ones", { reads }, "value", "11000", "11000", true],
    ["a further value of another word", { reads }, "value", "10010", "0", false],
    ["a degree, where a word has further values", { reads }, "value", "10010", "60", false],
    ["a degree that means a word, where the degree was asked for", { reads }, "value", "100", "100", true],
    ["a further value of the mode", { reads: { position: ["10110"] } }, "mode", "10100", "10110", true],
    ["a further value of a stop", { reads: { stop: ["10000"] } }, "stop", "00000100", "10000", true],
    ["a word in automatic", { kind: "machine", reads: { auto: ["1110"] } }, "value", "1100", "1110", true],
    ["a value in no table, twice", { kind: "custom", reads }, "value", "0110", "0111", false],
  ])("%s", (_, over, purpose, value, raw, isShown) =>
    expect(shows(actuator(over), { purpose, address: "101", value }, raw)).toBe(isShown),
  );
});

describe("`on` goes first", () => {
  it.each<[Partial<ActuatorSettings>, string, RawValue | null, boolean]>([
    [{ leadIn: "when_not_on" }, "auto", "1001", true],
    [{ leadIn: "when_not_on" }, "auto", null, true],
    [{ leadIn: "when_not_on" }, "auto", 1010, false],
    [{ leadIn: "when_not_on" }, "on", "1001", false],
    [{ leadIn: "always" }, "off", "1010", true],
    [{ leadIn: "always" }, "on", "1001", false],
    [{ leadIn: "never" }, "off", "1001", false],
    [{ leadIn: "always", kind: "irrigation" }, "off", "1001", false],
  ])("of a light with %j before %s where it reads %j: %s", (over, word, fresh, isFirst) =>
    expect(needsLeadIn(actuator({ kind: "light", ...over }), word, fresh)).toBe(isFirst),
  );
});

describe("a window on its way", () => {
  it.each<[string, Partial<ActuatorSettings>, string, RawValue | null, RawValue, boolean]>([
    ["to a degree", {}, "60", 10, 30, true],
    ["to a degree that it does not move to", {}, "60", 30, 30, false],
    ["to a word that a degree means", { reads }, "10010", 10, 30, true],
    ["to a word that a degree means, and stands", { reads }, "10010", 30, 30, false],
    ["to a word that no degree means", { reads: { auto: ["11010"] } }, "10010", 10, 30, false],
    ["to a word of another sort", { reads }, "11000", 10, 30, false],
    ["and nothing is known of the time before", { reads }, "10001", null, 30, true],
  ])("%s", (_, over, value, before, read, isOnItsWay) => {
    const step = { purpose: "value", address: "101", value } as const;
    expect(travels(actuator(over), step, before, read)).toBe(isOnItsWay);
  });
});
