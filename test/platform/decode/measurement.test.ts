import { describe, expect, it } from "vitest";
import { measurement } from "../../../src/platform/decode/sensors.js";

describe("the text of a value", () => {
  it.each<[string, number | string | null, string | null]>([
    ["23.5", 23.5, null],
    [" 23.5 ", 23.5, null],
    ["-0.4", -0.4, null],
    ["+3", 3, null],
    [".5", 0.5, null],
    ["1e3", 1000, null],
    ["23.5℃", 23.5, "℃"],
    ["60 %RH", 60, "%RH"],
    ["12.3klx", 12.3, "klx"],
    ["410ppm", 410, "ppm"],
    ["250 μmol/m²/s", 250, "μmol/m²/s"],
    ["250umol/m2s", 250, "umol/m2s"],
    ["3.2米/秒", 3.2, "米/秒"],
    ["1.5 升每分钟", 1.5, "升每分钟"],
    ["", null, null],
    ["--", null, null],
    ["N/A", null, null],
    ["null", null, null],
    ["NaN", null, null],
    ["无", null, null],
    ["晴", "晴", null],
    ["3号风机", "3号风机", null],
    ["3 D", "3 D", null],
    ["12:30", "12:30", null],
    ["2026-03-01", "2026-03-01", null],
    ["1.2.3", "1.2.3", null],
    ["0x32", "0x32", null],
    ["Infinity", "Infinity", null],
    ["1e999", "1e999", null],
    ["23.5 or so", "23.5 or so", null],
  ])("%j is %j with unit %j", (text, value, unit) =>
    expect(measurement(text, null)).toEqual({ value, unit }),
  );

  it("a unit said elsewhere may be repeated behind the number", () => {
    expect(measurement("5 斤", "斤")).toEqual({ value: 5, unit: "斤" });
    expect(measurement("5 斤", null)).toEqual({ value: "5 斤", unit: null });
  });
});
