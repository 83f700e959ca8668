import { compact } from "./spelling.js";

/*
 * Names of running statuses: `word: names`. A word ends up in topics: it is never changed, and a new name goes to the golden
 * file of the tests.
 */
const table = `
fan: 风机, 排风机, 轴流风机
circulation_fan: 循环风机, 环流风机
wet_curtain: 湿帘, 水帘, 湿帘水泵, 湿帘泵
outdoor_roof_spray: 室外顶喷淋, 室外顶部喷淋, 外顶喷淋, 屋顶喷淋
left_skylight: 左天窗
right_skylight: 右天窗
skylight: 天窗, 顶窗, 顶开窗
side_vent: 侧通风窗, 侧窗, 侧开窗, 侧风口
inner_shade_curtain: 内遮阳, 内遮阳幕, 内遮荫
outer_shade_curtain: 外遮阳, 外遮阳幕, 外遮荫
shade_curtain: 遮阳, 遮阳幕
inner_thermal_curtain: 内保温, 内保温幕
thermal_curtain: 保温, 保温被, 保温幕
grow_light: 补光灯, 补光
mist_humidifier: 喷雾加湿, 加湿器, 加湿
mist_cooling: 微雾降温, 喷雾降温, 微雾
co2_supply: co2补气, co2供应, 二氧化碳补气, 二氧化碳供应
uv_disinfection: 紫外消毒, 紫外线消毒
hot_air_blower: 热风机, 热风炉, 暖风机
heating: 加热, 加温, 供暖
pump: 水泵
irrigation_pump: 灌溉泵, 灌溉水泵
fertilizer_pump: 施肥泵, 肥泵
stirrer: 搅拌, 搅拌机, 搅拌电机
valve: 电磁阀, 阀门
irrigation: 灌溉, 浇水
irrigation_plan: 灌溉方案, 灌溉计划
`;

const words: ReadonlyMap<string, string> = new Map(
  table
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [word = "", names = ""] = line.split(": ");
      return names.split(", ").map((name) => [compact(name), word] as const);
    }),
);

const numerals = "零一二三四五六七八九十";
const digits = (text: string): string => (numerals.includes(text) ? String(numerals.indexOf(text)) : text);

/** The frozen word of a running status's name; null where the catalogue does not know all of it. */
export function statusWord(name: string): string | null {
  if (name.length > 64) return null;
  const text = compact(name).replace(/(?:运行)?(?:状态)?$/u, "");
  const stage = /^([一二三四五六七八九十]|\d{1,2})级(风机)$/u.exec(text);
  if (stage) return `fan_stage_${digits(stage[1] ?? "")}`;
  const [, first = "", base = "", last = "", watering = ""] =
    /^(?:(\d{1,3})[号#])?(.*?\P{Nd})(\d{1,3}|[一二三四五六七八九十])?[号#]?(浇水)?$/u.exec(text) ?? [];
  const word = words.get(text) ?? words.get(base);
  if (word === undefined || (first !== "" && last !== "")) return null;
  if (words.has(text)) return word;
  if (watering !== "" && word !== "irrigation_plan") return null;
  const tail = [digits(first || last), watering === "" ? "" : "watering"].filter((part) => part !== "");
  return [word, ...tail].join("_");
}
