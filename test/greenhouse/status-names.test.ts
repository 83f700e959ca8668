import { describe, expect, it } from "vitest";
import { statusWord } from "../../src/greenhouse/sensor-name-tables.js";
import {
  englishName,
  translatedSensorName,
  translatedStatusName,
} from "../../src/greenhouse/sensor-names.js";

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
