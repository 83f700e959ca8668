import { describe, expect, it } from "vitest";
import { decodeValue, sameValue } from "../../src/greenhouse/actuator-values.js";
import type { ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import type { RawValue } from "../../src/greenhouse/ports.js";

type Row = [kind: ActuatorKind, raw: RawValue, state: string, position: number | null, value: string];

const rows: Row[] = [
  ["skylight", "10010", "open", null, "10010"],
  ["skylight", 10001, "closed", null, "10001"],
  ["shade_curtain", "11000", "auto", null, "11000"],
  ["skylight", "10100", "position", null, "10100"],
  ["skylight", "45", "position", 45, "45"],
  ["skylight", 0, "position", 0, "0"],
  ["skylight", " 45 ", "position", 45, "45"],
  ["skylight", "45.0", "position", 45, "45"],
  ["skylight", "101", "unknown", null, "101"],
  ["skylight", "", "unknown", null, ""],
  ["circulation_fan", "1010", "on", null, "1010"],
  ["circulation_fan", 1001, "off", null, "1001"],
  ["circulation_fan", "1100", "auto", null, "1100"],
  ["circulation_fan", "45", "unknown", null, "45"],
  ["fan_wet_curtain", 0, "off", null, "00000"],
  ["fan_wet_curtain", "00000", "off", null, "00000"],
  ["fan_wet_curtain", "11000", "fans_1_2", null, "11000"],
  ["fan_wet_curtain", "10110", "unknown", null, "10110"],
  ["irrigation", "11111111", "rotation", null, "11111111"],
  ["light", "1010", "on", null, "1010"],
  ["motor", 100, "stop", null, "00000100"],
];

describe("a value is read through its kind alone, however the platform spells it", () => {
  it.each(rows)("%s reads %j as %s", (kind, raw, state, position, value) =>
    expect(decodeValue({ kind, values: {} }, raw)).toEqual({ state, position, value }),
  );

  it("a configured table adds its words to a motor's own", () => {
    const motor = { kind: "motor" as const, values: { open: "00000001" } };
    expect(decodeValue(motor, 1).state).toBe("open");
    expect(decodeValue(motor, "00000100").state).toBe("stop");
  });
});

describe("two spellings are one value only as the platform may lose leading zeros", () =>
  it.each([
    ["00100", "100", true],
    ["100", "0000100", true],
    ["00000", "0", true],
    ["1010", "1011", false],
    ["abc", "ABC", false],
    ["", "0", false],
  ])("%j and %j: %s", (one, other, same) => expect(sameValue(one, other)).toBe(same)));
