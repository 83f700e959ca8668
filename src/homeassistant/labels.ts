import type { Language } from "./document.js";

/*
 * What people read of our own entities, per language; topic words never change.
 */

const english = {
  connectivity: "Connectivity",
  problem: "Command problem",
  result: "Command result",
  mode: "mode",
  stop: "stop",
  state: "state",
  position: "position",
  raw: "value",
  running: "running",
  bridge_connectivity: "Connectivity",
  platform: "Platform",
  last_contact_business: "Last contact, business host",
  last_contact_realtime: "Last contact, real-time host",
  oldest_reading: "Oldest reading",
  requests_left: "Requests left",
  version: "Version",
  refresh: "Refresh",
  alert: "Alert",
};

export type Label = keyof typeof english;

const chinese = {
  connectivity: "连接",
  problem: "命令异常",
  result: "命令结果",
  mode: "模式",
  stop: "停止",
  state: "状态",
  position: "开度",
  raw: "原始值",
  running: "运行",
  bridge_connectivity: "连接",
  platform: "平台",
  last_contact_business: "业务服务器最近联系",
  last_contact_realtime: "实时服务器最近联系",
  oldest_reading: "最旧读数",
  requests_left: "剩余请求数",
  version: "版本",
  refresh: "刷新",
  alert: "提醒",
} satisfies Record<Label, string>;

const labels = { en: english, zh: chinese } satisfies Record<Language, Record<Label, string>>;

export const labelOf = (language: Language, label: Label): string => labels[language][label];

/** `Left skylight` + `mode` → `Left skylight mode`, `左天窗` + `模式` → `左天窗模式`, `左天窗` + `mode` → `左天窗 mode`. */
export function suffixed(language: Language, name: string, label: Label): string {
  const suffix = labelOf(language, label);
  return /[\x20-\x7e]$/.test(name) || /^[\x20-\x7e]/.test(suffix) ? `${name} ${suffix}` : `${name}${suffix}`;
}

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

const wordLabels = {
  en: (word) => englishWords.get(word) ?? readable(word),
  zh: (word) => chineseWords.get(word) ?? word,
} satisfies Record<Language, (word: string) => string>;

/**
 * The label of each word, all different. `none` is no label in any language: Home Assistant reads it as "unknown".
 */
export function optionLabels(language: Language, words: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(words);
  const labelled = new Map<string, string>();
  for (const word of words) {
    const own = /^none$/i.test(word) ? `${word} (0)` : word;
    const wanted = wordLabels[language](word);
    const label = /^\s*none\s*$/i.test(wanted) ? own : wanted;
    const usable = label === word || !taken.has(label);
    labelled.set(word, usable ? label : own);
    taken.add(usable ? label : own);
  }
  return labelled;
}
