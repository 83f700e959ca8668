import { services } from "../../notify/services.js";
import { codes } from "../../page/codes.js";
import { commandPairs } from "./commands.js";
import { configurationPairs } from "./configuration.js";
import { discoverPairs } from "./discover.js";
import { doctorPairs } from "./doctor.js";
import { platformPairs } from "./platform.js";
import { resultPairs } from "./results.js";
import { type Pair, placeholders } from "./pair.js";
import { settingsPairs } from "./settings.js";
import { usagePairs } from "./usage.js";

/*
 * How an English sentence of the program becomes a Chinese one: by the pair that fits it. What was put in may be a sentence itself.
 * A pair with more words of its own goes first; those that only join others come last.
 */

/** Those of "min", "left" and "is". */
const fewLetters = 4;
/** What stands between sentences is looked at before what stands within one. */
const joints = [": ", "; ", ", "];

const isOneWord = (text: string): boolean => !/\s/.test(text.trim());

/** A template that has hardly a word of its own fits much, so what it joins decides: a word alone says too little. */
function joins(isBare: boolean, english: readonly string[], chinese: readonly string[]): boolean {
  const isKnown = (part: string, at: number) => chinese[at] !== part;
  return isBare
    ? english.some((part, at) => isKnown(part, at) && !isOneWord(part))
    : english.every((part, at) => isKnown(part, at) || isOneWord(part));
}

interface Template {
  /** It has no word of its own, or hardly one. */
  readonly isBare: boolean;
  readonly isShort: boolean;
  /** The higher goes first. */
  readonly rank: number;
  readonly longest: string;
  readonly pattern: RegExp;
  readonly chinese: string;
}

function templateOf([given, chinese]: Pair): Template {
  const english = given.trim();
  const parts = english.split(placeholders);
  const pattern = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("(.*?)");
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), "");
  const own = parts.join("");
  const letters = own.match(/\p{L}/gu)?.length ?? 0;
  const isBare = letters === 0;
  const isShort = letters <= fewLetters;
  const rank = isShort ? -1 - (joints.indexOf(own) + 1 || joints.length + 1) : own.length;
  return { isBare, isShort, rank, longest, pattern: new RegExp(`^${pattern}$`, "u"), chinese };
}

/** The Chinese of a text, line by line; what no pair knows stays as it is. */
function translator(pairs: readonly Pair[]): (text: string) => string {
  const exact = new Map(pairs.map(([english, chinese]) => [english.trim(), chinese]));
  const templates = pairs
    .filter(([english]) => english.search(placeholders) >= 0)
    .map(templateOf)
    .sort((one, other) => other.rank - one.rank);
  /** What parts of the present text were found to be: a part may be met in many ways. */
  const met = new Map<string, string>();
  const sentence = (english: string): string => {
    const known = exact.get(english) ?? met.get(english);
    if (known !== undefined) return known;
    const chinese = compose(english);
    met.set(english, chinese);
    return chinese;
  };
  const compose = (english: string): string => {
    for (const { isBare, isShort, longest, pattern, chinese } of templates) {
      const found = english.includes(longest) ? pattern.exec(english) : null;
      if (found === null) continue;
      const [, ...parts] = found;
      const told = parts.map(line);
      if (isShort && !joins(isBare, parts, told)) continue;
      return chinese.replace(/\{(\d+)\}/g, (_, at: string) => told[Number(at) - 1] ?? "");
    }
    return english;
  };
  const line = (text: string): string => {
    const [, before = "", english = "", after = ""] = /^(\s*(?:- )?)(.*?)(\s*)$/su.exec(text) ?? [];
    if (english === "") return text;
    const chinese = sentence(english);
    // Chinese marks that open or join need no blank before them.
    const isJoined = chinese !== english && /^[（，；：。]/u.test(chinese);
    return `${isJoined ? "" : before}${chinese}${after}`;
  };
  return (text) => {
    met.clear();
    return text.split("\n").map(line).join("\n");
  };
}

/** Every sentence of the command line, with its Chinese. */
export const pairs: readonly Pair[] = [
  ...settingsPairs,
  ...usagePairs,
  ...doctorPairs,
  ...discoverPairs,
  ...commandPairs,
  ...configurationPairs,
  ...resultPairs,
  ...platformPairs,
  ...Object.values(services).flatMap(({ chinese = [] }) => chinese),
];

const outcomes = ["confirmed", "already", "dry_run", "refused", "superseded", "rejected", "unconfirmed"];

/** One-word pairs are those that the page has for them. */
const words = [
  ...[...outcomes, "unknown", "good", "uncertain", "stale", "bad", "acknowledged", "cleared"],
  ...["online", "offline", "unreachable", "degraded", "connecting"],
];

export const inChinese = translator([
  ...words.flatMap((word): readonly Pair[] => {
    const text = codes[word];
    return text === undefined ? [] : [[word, text[1]]];
  }),
  ...pairs,
]);
