import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { acceptsUnit, plausibleRange, quantities, sensorKinds } from "../../src/greenhouse/sensors.js";
import { normaliseUnit, saysNothing } from "../../src/greenhouse/units.js";

const spellings = {
  "°C": ["℃", "°c", "C", "c", "ºC", "˚C", "deg C", "摄氏度", " ℃ "],
  "°F": ["℉", "F", "°f"],
  "°": ["°", "度", "deg"],
  "%": ["％", "%RH", "%rh", "％RH", "RH%", "% RH", "百分比", "%VWC"],
  ppm: ["PPM", "Ppm", "ｐｐｍ", "μmol/mol"],
  lx: ["Lux", "lux", "LUX", "Lx", "勒克斯"],
  klx: ["Klux", "klx", "KLX", "kLux", "千勒克斯"],
  "μmol/m²/s": ["µmol/m²/s", "μmol/(m²·s)", "μmol·m-2·s-1", "µmol m⁻² s⁻¹", "umol/㎡s", "umol/m^2/s"],
  "W/m²": ["w/m2", "W/㎡", "W/m^2", "W·m-2", "瓦/平方米"],
  "mS/cm": ["ms/cm", "MS/CM", "mS/CM", "毫西门子/厘米"],
  "μS/cm": ["us/cm", "uS/cm", "µS/cm", "μs/cm"],
  "m/s": ["m/S", "M/S", "米/秒", "m·s-1"],
  hPa: ["hpa", "HPA", "百帕"],
  kPa: ["kpa", "KPa", "千帕"],
  MPa: ["mpa", "Mpa", "兆帕"],
  mm: ["MM", "毫米"],
  "mm/h": ["mm/hr", "毫米/小时"],
  "L/min": ["l/min", "LPM", "升/分钟"],
  "m³/h": ["m3/h", "㎥/h", "立方米/小时"],
  "m³": ["m3", "立方米"],
  V: ["v", "伏"],
  pH: ["PH", "ph"],
};

test.each(Object.entries(spellings).flatMap(([unit, texts]) => texts.map((text) => [text, unit])))(
  "a unit has one spelling: %s is %s",
  (text, unit) => expect(normaliseUnit(text)).toBe(unit),
);

test.each([null, "", "  ", "-", "--", "无", "/", "null", "N/A", "\u0000", "\ud800"])(
  "no unit is null: %j",
  (text) => expect(normaliseUnit(text)).toBeNull(),
);

test("unknown text is trimmed and kept, at most 32 characters of it", () => {
  expect(normaliseUnit(" 级 ")).toBe("级");
  expect(normaliseUnit("mV/mA")).toBe("mV/mA");
  expect(normaliseUnit("S")).toBe("S");
  expect(normaliseUnit("🌱".repeat(70_000))).toBe("🌱".repeat(32));
});

test("the units of the quantities are spelt as they will be found", () => {
  for (const kind of sensorKinds)
    for (const unit of quantities[kind].units) expect(normaliseUnit(unit)).toBe(unit);
});

test("whatever comes in: short, printable, and the same when read again", () => {
  const piece = fc.constantFrom("℃", "°", "m", "/", "s", "²", "μ", " ", "％", "\u0000", "\ud83c", "級", "1");
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(piece, { maxLength: 50 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (written) => {
      const unit = normaliseUnit(written);
      if (unit === null) return;
      expect(unit).toMatch(/^[^\p{Cc}\p{Cs}]{1,32}$/u);
      expect(normaliseUnit(unit)).toBe(unit);
    }),
    { numRuns: 10_000 },
  );
});

test.each([
  ["--", "reading unit register"],
  [" NULL ", "reading unit register"],
  ["Ｎ/Ａ", "reading unit"],
  ["none", "reading unit"],
  ["暂无", "reading unit"],
  ["Na", "reading"],
  ["0", ""],
])("%j says that there is no %s", (text, of) =>
  expect((["reading", "unit", "register"] as const).filter((what) => saysNothing(text, what)).join(" ")).toBe(
    of,
  ),
);

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
