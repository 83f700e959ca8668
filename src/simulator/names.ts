export const nameLanguages = ["en", "zh"] as const;
export type NameLanguage = (typeof nameLanguages)[number];

/* What the simulated platform calls things. Sensors keep their Chinese names, as a real platform's do. */

const words: Readonly<Record<string, string>> = {
  左天窗: "Left skylight",
  右天窗: "Right skylight",
  内遮阳: "Inner shade",
  外遮阳: "Outer shade",
  侧通风窗: "Side vent",
  内保温: "Thermal curtain",
  百叶窗: "Louvre",
  百叶窗开度: "Louvre position",
  风机湿帘: "Fans and wet curtain",
  循环风机: "Circulation fan",
  补光灯: "Grow light",
  卷膜电机: "Film roller",
  CO2补气: "CO2 supply",
  热风炉: "Hot-air stove",
  微雾降温: "Mist cooling",
  备用输出: "Spare output",
  EC目标值: "EC target",
  目标温度: "Target temperature",
  开窗温差: "Venting difference",
  综合温度: "Combined temperature",
  平台报表: "Platform report",
  EC上限: "High EC limit",
  pH下限: "Low pH limit",
  废液回收模式: "Waste-liquid recovery",
  寿光: "Shouguang",
  兰陵: "Lanling",
  章丘: "Zhangqiu",
  金乡: "Jinxiang",
  莘县: "Shenxian",
  青州: "Qingzhou",
  昌乐: "Changle",
  临淄: "Linzi",
  安丘: "Anqiu",
  平度: "Pingdu",
};

const patterns: readonly (readonly [pattern: RegExp, english: (number: string, word: string) => string])[] = [
  [/^(\d+)号日光温室$/, (number) => `Greenhouse ${number}`],
  [/^(\d+)号水肥一体机$/, (number) => `Fertilizer machine ${number}`],
  [/^(\d+)号气象站$/, (number) => `Weather station ${number}`],
  [/^(\d+)号虫情测报灯$/, (number) => `Pest lamp ${number}`],
  [/^(\d+)号球机$/, (number) => `Dome camera ${number}`],
  [/^(\d+)号云摄像机$/, (number) => `Cloud camera ${number}`],
  [/^灌溉方案(\d+)$/, (number) => `Irrigation plan ${number}`],
  [/^配方(\d+)$/, (number) => `Formula ${number}`],
  [/^通道(\d+)校准$/, (number) => `Channel ${number} calibration`],
  [
    /^(\p{Script=Han}+?)(\d*)示范园$/u,
    (word, number) => `${words[word] ?? word} farm${number === "" ? "" : ` ${number}`}`,
  ],
];

/** A Chinese name of the simulated account in the language asked for; a name nobody translated stays. */
export function nameIn(language: NameLanguage, chinese: string): string {
  if (language === "zh") return chinese;
  const word = words[chinese];
  if (word !== undefined) return word;
  for (const [pattern, english] of patterns) {
    const found = pattern.exec(chinese);
    if (found !== null) return english(found[1] ?? "", found[2] ?? "");
  }
  return chinese;
}
