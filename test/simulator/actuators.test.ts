import { describe, expect, it } from "vitest";
import { judgeValue, targetsOf } from "../../src/simulator/actuators.js";
import { addressTable, type AddressRow } from "../../src/simulator/address-table.js";

function rowAt(address: string): AddressRow {
  const row = addressTable("C001").get(address);
  if (!row) throw new Error(`no row ${address}`);
  return row;
}

const judge = (address: string, value: string, registers: Record<string, string> = {}, lit = false) =>
  judgeValue(rowAt(address), value, { read: (other) => registers[other] ?? "", lit }) ?? "taken";

describe("what a device does with a value", () => {
  it.each([
    ["101", "10010", {}, "taken"],
    ["101", "10001", {}, "taken"],
    ["101", "11000", {}, "taken"],
    ["101", "10100", {}, "taken"],
    ["101", "45", { "101": "10001" }, "ignored_no_position_mode"],
    ["101", "45", { "101": "11000" }, "ignored_no_position_mode"],
    ["101", "45", { "101": "10100" }, "taken"],
    ["101", "60", { "101": "45" }, "taken"],
    ["101", "100", { "101": "10100" }, "taken"],
    ["101", "101", { "101": "10100" }, "ignored_unknown_value"],
    ["101", "1010", {}, "ignored_unknown_value"],
    ["103", "45", { "101": "10100", "103": "10001" }, "ignored_no_position_mode"],
    ["108", "10100", {}, "taken"],
    ["108", "45", { "108": "10100" }, "ignored_unknown_value"],
    ["109", "45", { "108": "10100" }, "taken"],
    ["109", "45", { "108": "10010" }, "ignored_no_position_mode"],
    ["109", "10100", {}, "ignored_unknown_value"],
    ["140", "11110", {}, "taken"],
    ["140", "00000", {}, "taken"],
    ["140", "01000", {}, "ignored_unknown_value"],
    ["150", "1100", {}, "taken"],
    ["150", "11000", {}, "ignored_unknown_value"],
    ["210", "11111111", {}, "taken"],
    ["150", "11111111", {}, "ignored_unknown_value"],
    ["300", "00000100", {}, "taken"],
    ["300", "100", {}, "ignored_unknown_value"],
    ["400", "0110", {}, "taken"],
    ["501", "250", {}, "taken"],
    ["501", "abc", {}, "ignored_unknown_value"],
    ["701", "1", {}, "ignored_read_only"],
  ])("address %s, value %s, registers %o: %s", (address, value, registers, effect) =>
    expect(judge(address, value, registers)).toBe(effect),
  );

  it.each([
    ["1100", false, "ignored_before_on"],
    ["1001", false, "ignored_before_on"],
    ["1010", false, "taken"],
    ["1100", true, "taken"],
    ["1001", true, "taken"],
    ["0", true, "ignored_unknown_value"],
  ])("light, value %s, on before: %s: %s", (value, lit, effect) =>
    expect(judge("220", value, {}, lit)).toBe(effect),
  );
});

describe("where a register value sends the devices", () =>
  it.each([
    ["101", "10010", [1]],
    ["101", "10001", [0]],
    ["101", "11000", ["auto"]],
    ["101", "10100", ["hold"]],
    ["101", "45", [0.45]],
    ["140", "11110", [1, 1, 1, 1]],
    ["140", "11100", [1, 1, 1, 0]],
    ["140", "11000", [1, 1, 0, 0]],
    ["140", "10000", [1, 0, 0, 0]],
    ["140", "00000", [0, 0, 0, 0]],
    ["150", "1100", ["auto"]],
    ["210", "11111111", [1]],
    ["300", "00000001", [1]],
    ["300", "00000100", ["hold"]],
  ])("address %s, value %s: %o", (address, value, targets) =>
    expect(targetsOf(rowAt(address), value)).toEqual(targets),
  ));
