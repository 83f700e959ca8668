export type Language = "en" | "zh";

/*
 * What people read for the words of topics, in Home Assistant and on the page; topic words never change.
 */

/** English where a word alone says too little; any other word is shown with a capital and spaces. */
const englishWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    auto: "Automatic",
    fans_1_2_3: "Fans 1, 2 and 3",
    fans_1_2: "Fans 1 and 2",
    fan_1: "Fan 1",
  }),
);

const readable = (word: string): string => {
  const text = word.replace(/_+/g, " ").trim() || word;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** Chinese for the words of the actuator kinds, of the platform's state and of a positioner at a degree. */
const chineseWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    open: "打开",
    close: "关闭",
    closed: "关闭",
    auto: "自动",
    position: "指定开度",
    on: "开启",
    off: "关闭",
    stop: "停止",
    mixed: "不一致",
    activate: "执行",
    all_on: "全部开启",
    fans_1_2_3: "一二三级风机",
    fans_1_2: "一二级风机",
    fan_1: "一级风机",
    rotation: "轮灌",
    online: "正常",
    degraded: "受限",
    unauthorized: "未授权",
    unreachable: "无法连接",
  }),
);

/** The label of one word; words of one actuator may share it. */
export const wordLabel = (language: Language, word: string): string =>
  language === "zh" ? (chineseWords.get(word) ?? word) : (englishWords.get(word) ?? readable(word));
