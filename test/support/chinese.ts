import zh from "../../locales/zh.json" with { type: "json" };
import { wordsOf } from "../../src/language/languages.js";
import { tellBy } from "../../src/language/words.js";

/** A sentence in Chinese. */
export const inChinese = tellBy(wordsOf(zh), "zh");
