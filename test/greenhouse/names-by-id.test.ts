import { expect, it } from "vitest";
import zh from "../../locales/zh.json" with { type: "json" };
import { nameById } from "../../src/greenhouse/names-by-id.js";
import { wordsOf } from "../../src/language/languages.js";
import { tellBy } from "../../src/language/words.js";

const inChinese = tellBy(wordsOf(zh), "zh");

it.each([
  ["left_skylight", "左天窗"],
  ["inner_shade", "内遮阳"],
  ["thermal_curtain", "保温帘"],
  ["roof_fans", "屋顶风机"],
  ["valve_12", "阀门 12"],
  ["fan_wet_curtain", "风机湿帘"],
  ["co2_supply", "二氧化碳补气"],
])("%s is %s in Chinese, and stays as it is in English", (id, chinese) => {
  expect([String(nameById(id)), inChinese(nameById(id))]).toEqual([id, chinese]);
});

it.each(["left_flap", "annas_window", "gh_1_left_skylight", "__proto__", ""])(
  "%j stays as it is, as one of its words is nobody's",
  (id) => expect(inChinese(nameById(id))).toBe(id),
);
