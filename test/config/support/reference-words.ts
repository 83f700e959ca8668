import zh from "../../../locales/zh.json" with { type: "json" };
import { calledAs } from "../../../src/page/settings-parts.js";
import type { PageName } from "./section-pages.js";

/* The words of the reference of keys in each language. Chinese has those of the settings on the page. */

export interface ReferenceWords {
  /** Heads of key, type, default and meaning. */
  readonly columns: readonly string[];
  readonly required: string;
  readonly allSections: string;
  readonly title: (sections: readonly string[]) => string;
  /** Sentences before the example. */
  readonly more: (page: PageName) => readonly string[];
  readonly type: (name: string) => string;
  /** What a key means, by its path and its English sentence. */
  readonly meaning: (path: string, sentence: string) => string;
  readonly example: (yaml: string) => string;
  /** That a kind has these keys of an actuator. */
  readonly ofActuator: (keys: readonly string[]) => string;
}

/** Names of types as tables have them. */
const short = new Map([
  ["true or false", "boolean"],
  ["whole number", "integer"],
]);

/** `a, b and c`. */
const listed = (words: readonly string[], and: string, comma: string) =>
  words.slice(0, -1).join(comma) + (words.length > 1 ? and : "") + (words.at(-1) ?? "");

export const english: ReferenceWords = {
  columns: ["key", "type", "default", "meaning"],
  required: "required",
  allSections: "[All sections](../configuration.md#every-key)",
  title: (sections) =>
    `Configuration: ${listed(
      sections.map((key) => `\`${key}\``),
      " and ",
      ", ",
    )}`,
  more: (page) => (page === "controllers" ? ["[limits.md](../limits.md) explains `limits`."] : []),
  type: (name) => short.get(name) ?? name,
  meaning: (_, sentence) => sentence,
  example: (yaml) => yaml,
  ofActuator: (keys) => `Of the [keys of an actuator](controllers.md): ${keys.join(", ")}.`,
};

function wordOf(words: Readonly<Record<string, string>>, key: string): string {
  const word = words[key];
  if (word === undefined || word === "") throw new Error(`"${key}" has no Chinese words`);
  return word;
}

const chineseTypes: Readonly<Record<string, string>> = {
  ...{
    text: "文本",
    "list of texts": "文本列表",
    "map of texts": "名称和文本",
    "text or list": "文本或列表",
  },
  ...{ "true or false": "true 或 false", URL: "网址", duration: "时间", anything: "任意内容" },
  ...{
    "whole number": "整数",
    number: "数字",
    "number or false": "数字或 false",
    "number or list": "数字或列表",
  },
  ...{ section: "一节", "section or false": "一节或 false", "list of sections": "列表，每项一节" },
  ...{ "map of sections": "每个名称一节", "map of sections or false": "每个名称一节，或 false" },
  ...{
    "map of names": "名称和名称",
    "map of values": "名称和控制值",
    "map of lists of values": "名称和控制值列表",
  },
  ...{ kind: "类型", "list of sensor kinds": "测量量列表", address: "地址", value: "控制值" },
};

/** What is listed word by word is the same in every language. */
const areWords = /^[\w-]+(?:, [\w-]+)+$/;

function chineseType(name: string): string {
  const [, words] = /^list of: (.+)$/.exec(name) ?? [];
  if (words !== undefined) return `列表：${words}`;
  return areWords.test(name) ? name : wordOf(chineseTypes, name);
}

/** As the words of keys name it. */
const patternOf = (path: string) => path.replace(/<[\w-]+>/g, "*").replaceAll("[]", ".*");

function chineseMeaning(path: string): string {
  const pattern = patternOf(path);
  return wordOf(zh.key_sentences, Object.hasOwn(zh.key_sentences, pattern) ? pattern : calledAs(pattern));
}

/** Names that people give in the examples. */
const chineseNames = [
  ["East house", "东棚"],
  ["Bed 1", "一号苗床"],
] as const;

export const chinese: ReferenceWords = {
  columns: ["键", "类型", "默认值", "含义"],
  required: "必填",
  allSections: "[全部各节](../configuration.md#全部配置键)",
  title: (sections) =>
    `配置：${listed(
      sections.map((key) => `${wordOf(zh.keys, key)}（\`${key}\`）`),
      "和",
      "、",
    )}`,
  more: (page) => (page === "controllers" ? ["[限制](../limits.md)解释 `limits`。"] : []),
  type: chineseType,
  meaning: chineseMeaning,
  example: (yaml) => chineseNames.reduce((text, [from, to]) => text.replaceAll(from, to), yaml),
  ofActuator: (keys) => `[执行机构的键](controllers.md)中的：${keys.join("、")}。`,
};
