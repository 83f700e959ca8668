import fc from "fast-check";
import { expect, test } from "vitest";
import { quantities, sensorKinds } from "../../src/greenhouse/sensors.js";
import { normaliseUnit, saysNothing } from "../../src/greenhouse/units.js";

const spellings = {
  "°C": ["℃", "°c", "C", "c", "ºC", "˚C", "deg C", "摄氏度", " ℃ "],
  "°F": ["℉", "F", "°f"],
  "°": ["°", "度", "deg"],
  "%": ["％", "%RH", "%rh", "％RH", "RH%", "% RH", "百分比", "%VWC"],
  ppm: ["PPM", "Ppm", "ｐｐｍ", "μmol/mol"],
  lx: ["Lux", "lux", "LUX", "Lx", "勒克斯"],
  klx: ["Klux", "klx", "KLX", "kLux", "千勒克斯"],
  "μmol/m²/s": [
    "umol/m2/s",
    "µmol/m²/s",
    "μmol/(m²·s)",
    "μmol·m-2·s-1",
    "µmol m⁻² s⁻¹",
    "umol/m2s",
    "umol/㎡s",
    "umol/m^2/s",
  ],
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

test.each([[null], [""], ["  "], ["-"], ["--"], ["无"], ["/"], ["null"], ["N/A"], ["\u0000"], ["\ud800"]])(
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
