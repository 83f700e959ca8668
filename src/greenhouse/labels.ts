import { kindWords } from "./actuator-kinds.js";

export type Language = "en" | "zh";

/*
 * What people read for the words of topics, in Home Assistant and on the page; topic words never change.
 */

const readable = (word: string): string => {
  const text = word.replace(/_+/g, " ").trim() || word;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** Chinese for words that are of no kind: those of groups, of scenes and of the platform's state. */
const chineseWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    mixed: "不一致",
    activate: "执行",
    online: "正常",
    degraded: "受限",
    unauthorized: "未授权",
    unreachable: "无法连接",
  }),
);

/** The label of one word; words of one actuator may share it. English says any other word with a capital and spaces. */
export function wordLabel(language: Language, word: string): string {
  const [en, zh] = kindWords.get(word) ?? [];
  return language === "zh" ? (zh ?? chineseWords.get(word) ?? word) : (en ?? readable(word));
}
