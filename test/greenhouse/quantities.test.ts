import { describe, expect, test } from "vitest";
import { acceptsUnit, plausibleRange, quantities, sensorKinds } from "../../src/greenhouse/sensors.js";

test.each(sensorKinds)(
  "the row of %s is whole: its default unit comes first and has the range shown",
  (kind) => {
    const { unit, units, decimals, min, max } = quantities[kind];
    if (unit !== null) expect(units[0]).toBe(unit);
    expect(min).toBeLessThan(max);
    expect(Number.isInteger(decimals) && decimals >= 0).toBe(true);
    if (unit !== null) expect(plausibleRange(kind, unit)).toEqual({ min, max });
    for (const other of units) expect(plausibleRange(kind, other)).not.toBeNull();
  },
);

const within = (kind: (typeof sensorKinds)[number], unit: string | null, value: number) => {
  const range = plausibleRange(kind, unit);
  return range === null || (value >= range.min && value <= range.max);
};

describe("implausible", () =>
  test.each([
    ["temperature", "°C", [-99, -273.15, 327.67, 999, 6553.5]],
    ["temperature", null, [-999, 6553.5]],
    ["humidity", "%", [-1, 120, 655.35]],
    ["co2", "ppm", [-1, 65_535]],
    ["illuminance", "klx", [-1, 65_535]],
    ["soil_moisture", "%", [-5, 3276.7]],
    ["ec", "mS/cm", [-1, 655.35]],
    ["ph", null, [-1, 15, 99]],
    ["pressure", "hPa", [0, 6553.5]],
    ["wind_speed", "m/s", [-1, 327]],
    ["wind_direction", "°", [-1, 361]],
    ["battery", "%", [-1, 255]],
  ] as const)("%s in %s: what broken probes show", (kind, unit, values) => {
    for (const value of values) expect(within(kind, unit, value), String(value)).toBe(false);
  }));

test("nothing is implausible where nothing is known", () => {
  expect(plausibleRange("other", null)).toBeNull();
  expect(plausibleRange("other", "°C")).toBeNull();
  expect(plausibleRange("temperature", "%")).toBeNull();
  expect(plausibleRange("wind_speed", "toString")).toBeNull();
});

test("a kind goes with its own units and with none", () => {
  expect(acceptsUnit("temperature", "°C")).toBe(true);
  expect(acceptsUnit("temperature", null)).toBe(true);
  expect(acceptsUnit("temperature", "%")).toBe(false);
  expect(acceptsUnit("ph", "pH")).toBe(true);
});
