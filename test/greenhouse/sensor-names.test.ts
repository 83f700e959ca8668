import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import { statusWord } from "../../src/greenhouse/sensor-name-tables.js";
import {
  englishName,
  recogniseSensor,
  translatedSensorName,
  translatedStatusName,
} from "../../src/greenhouse/sensor-names.js";
import { acceptsUnit } from "../../src/greenhouse/sensors.js";
import { normaliseUnit } from "../../src/greenhouse/units.js";

const named = (name: string, unit: string | null = null) => recogniseSensor({ name, factor: null, unit });
const coded = (factor: string, unit: string | null = null, name = "") =>
  recogniseSensor({ name, factor, unit });

describe("names", () => {
  // What names mean is frozen in the golden file; here stand the ways to write them.
  test.each([
    ["temperature", "air_temperature", ["空气温度（℃）", "空气温度℃", " 空气 温度 ", "AIR_TEMPERATURE"]],
    ["temperature", "air_temperature_1", ["空气温度传感器1"]],
    ["co2", "co2", ["ＣＯ２", "CO₂浓度(ppm)"]],
    ["illuminance", "light", ["光照/klx"]],
    ["temperature", "outdoor_temperature", ["温度(室外)", "temperature outside"]],
    ["temperature", "indoor_air_temperature", ["棚内空气温度"]],
  ])("a %s, %s, is recognised however it is spelt: %j", (kind, word, names) => {
    for (const name of names) expect(named(name), name).toEqual({ kind, word });
  });

  test.each([
    ["土壤水分12", "soil_moisture", "soil_moisture_12"],
    ["土壤温度三", "soil_temperature", "soil_temperature_3"],
    ["土壤温度#4", "soil_temperature", "soil_temperature_4"],
    ["土壤温度1-2", "soil_temperature", "soil_temperature_1_2"],
    ["土壤水分A", "soil_moisture", "soil_moisture_a"],
    ["土壤温度(20cm)", "soil_temperature", "soil_temperature_20cm"],
    ["20厘米土壤水分", "soil_moisture", "soil_moisture_20cm"],
    ["土壤10cm温度", "soil_temperature", "soil_temperature_10cm"],
    ["1号棚内温度", "temperature", "indoor_temperature_house_1"],
    ["Zone 1 temperature", "temperature", "temperature_zone_1"],
    ["CO21", "co2", "co2_1"],
    ["CO2-2", "co2", "co2_2"],
  ])("numbers, depths and zones go to the end of the word: %s", (name, kind, word) =>
    expect(named(name)).toEqual({ kind, word }),
  );

  test.each([
    ...["温度报警", "温度设定", "温度上限", "温湿度", "内外温度", "天窗开度", "设备状态", "传感器1"],
    ...["CO 1", "土壤温度1号2", "1", "?", ""],
    "温度 is what this long explanation of a probe is about, and it goes on for ever and ever",
  ])("a name of which any part is not understood is other, without a word: %s", (name) =>
    expect(named(name)).toEqual({ kind: "other", word: null }),
  );

  it("a name is worked out once, however often it is asked for and for what", () => {
    const spelt = vi.spyOn(String.prototype, "normalize");
    const name = "3号棚土壤温度11";
    const times = () => spelt.mock.contexts.filter((one) => String(one) === name).length;
    const ask = () => [named(name), named(name, "℃"), translatedSensorName(name, "en")];
    const first = ask();
    const atFirst = times();
    expect([ask(), times()]).toEqual([first, atFirst]);
    for (let other = 0; other < 1_100; other += 1) named(`土壤温度${other}`);
    expect(ask()).toEqual(first);
    spelt.mockRestore();
  });
});

describe("units", () => {
  test.each([
    ["温度", "%", "other"],
    ["温度", "度", "other"],
    ["温度(%)", null, "other"],
    ["温度", "", "temperature"],
    ["温度", "--", "temperature"],
    ["pH", "pH", "ph"],
    ["光照", "klux", "illuminance"],
    ["光照", "W/m2", "irradiance"],
    ["光照", "umol/m2/s", "par"],
    ["雨量", "mm/h", "rain_rate"],
    ["电池", "V", "voltage"],
    ["电池", "%", "battery"],
  ])("a unit settles or contradicts the kind: %s in %s", (name, unit, kind) =>
    expect(named(name, unit).kind).toBe(kind),
  );

  test.each(["降雨", "电池", "饱和差"])("a name that says too little without a unit waits: %s", (name) =>
    expect(named(name).kind).toBe("other"),
  );

  test("the word does not depend on the unit, so that an id never changes when one appears", () => {
    for (const unit of [null, "℃", "%", "klx"]) expect(named("光照", unit).word).toBe("light");
  });
});

describe("factor codes", () => {
  test.each([
    ["ecfii", null, "ec"],
    ["ECFII", "mS/cm", "ec"],
    ["t1", null, "temperature"],
    ["trwd", "℃", "soil_temperature"],
    ["wd", "℃", "temperature"],
    ["wd", "°", "wind_direction"],
    ["fs", "W/m2", "irradiance"],
    ["yl", "mm", "rain"],
    ["yl", "hPa", "pressure"],
  ])("a code stands for its quantity: %s in %s", (factor, unit, kind) =>
    expect(coded(factor, unit).kind).toBe(kind),
  );

  test.each([
    ["lp", "MPa"],
    ["wd", null],
    ["t1", "%"],
    ["x9", "℃"],
  ])("a code that nobody explained, or that the unit contradicts, is other: %s in %s", (factor, unit) =>
    expect(coded(factor, unit)).toEqual({ kind: "other", word: null }),
  );

  test("the name goes before the code", () => {
    expect(coded("t1", null, "土壤温度")).toEqual({ kind: "soil_temperature", word: "soil_temperature" });
    expect(coded("lp", "MPa", "管道压力").kind).toBe("pressure");
  });

  test("a code speaks for a name nobody knows, unless the name is about a limit or a state", () => {
    expect(coded("t1", null, "进风口").kind).toBe("temperature");
    expect(coded("t1", null, "t1").kind).toBe("temperature");
    expect(coded("t1", null, "高温报警").kind).toBe("other");
  });
});

test("whatever the platform writes is recognised without a crash, and never against its unit", () => {
  const pieces = [" ", ..."空气 温度 土壤 1 号 ( ) EC co2 10cm % 值 🌱 \ud800 區".split(" ")];
  const text = fc.oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary", maxLength: 12 }),
  );
  const unit = fc.option(fc.constantFrom("℃", "%", "mS/cm", "klx", "°", "?"));
  fc.assert(
    fc.property(text, fc.option(text), unit, (name, factor, given) => {
      const { kind, word } = recogniseSensor({ name, factor, unit: given });
      if (kind !== "other") expect(acceptsUnit(kind, normaliseUnit(given))).toBe(true);
      if (word !== null) expect(word).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
    }),
    { numRuns: 20_000 },
  );
});

describe("names of running statuses", () => {
  // Words stand in topics: a line here is never changed.
  it.each([
    ["一级风机", "fan_stage_1"],
    ["二级风机", "fan_stage_2"],
    ["三级风机", "fan_stage_3"],
    ["3级风机", "fan_stage_3"],
    ["风机2", "fan_2"],
    ["2号风机", "fan_2"],
    ["循环风机运行状态", "circulation_fan"],
    ["湿帘", "wet_curtain"],
    ["湿帘水泵", "wet_curtain"],
    ["室外顶喷淋", "outdoor_roof_spray"],
    ["灌溉方案1", "irrigation_plan_1"],
    ["灌溉计划12", "irrigation_plan_12"],
    ["灌溉计划一浇水", "irrigation_plan_1_watering"],
    ["左天窗", "left_skylight"],
    ["内遮阳", "inner_shade_curtain"],
    ["CO2补气", "co2_supply"],
    ["补光灯", "grow_light"],
    ["电磁阀3", "valve_3"],
  ])("%s is %s", (name, word) => expect(statusWord(name)).toBe(word));

  it.each(["", "状态", "风机甲", "3号风机2", "风机故障", "风机浇水", "x".repeat(100)])(
    "%j is left as it is: a part of it is not understood",
    (name) => expect(statusWord(name)).toBeNull(),
  );
});

describe("translated names", () => {
  it.each([
    ["air_temperature", "Air temperature"],
    ["soil_temperature_10cm_zone_a_2", "Soil temperature 10 cm zone A 2"],
    ["co2", "CO2"],
    ["ph", "pH"],
    ["nutrient_solution_ec", "Nutrient solution EC"],
    ["pm25", "PM2.5"],
  ])("%s is read as %s", (word, name) => expect(englishName(word)).toBe(name));

  it.each<[string, "en" | "zh", string | null]>([
    ["空气温度", "en", "Air temperature"],
    ["室外温度(℃)", "en", "Outdoor temperature"],
    ["Air temperature", "en", null],
    ["空气温度", "zh", null],
    ["Air temperature", "zh", "空气温度"],
    ["soil moisture 2", "zh", "土壤湿度2"],
    ["工作模式", "en", null],
  ])("%s in %s is %j", (name, language, translated) =>
    expect(translatedSensorName(name, language)).toBe(translated),
  );

  it("a running status is translated into English alone", () => {
    expect(translatedStatusName("一级风机", "en")).toBe("Fan stage 1");
    expect(translatedStatusName("一级风机", "zh")).toBeNull();
  });
});
