import { languages } from "../language/known.js";
import { byCode, type Text, word } from "../language/text.js";
import { kindWords } from "./actuator-kinds.js";
import { platformStates } from "./model.js";

export { languages };

export type Language = (typeof languages)[number];

export const isLanguage = (text: unknown): text is Language => languages.some((one) => one === text);

/** The language of the platform's names, which exist in English and Chinese. */
export const ofNames = (language: Language): "en" | "zh" => (language === "zh" ? "zh" : "en");

/** The name of a language in itself. */
export const languageName = (language: Language): string =>
  new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;

/* Labels of words in topics, for Home Assistant and the page; words in topics never change. */

/** A word with a capital and spaces. */
export const readable = (word: string): string => {
  const text = word.replace(/_+/g, " ").trim() || word;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** Words with a label in every language: those of kinds, of groups and scenes, and of the platform's state. */
export const labelledWords: ReadonlySet<string> = new Set([
  ...kindWords.keys(),
  ...["mixed", "activate"],
  ...platformStates,
]);

/** The label of a word; words of one actuator may share it. A configured word stays as it was written. */
export const wordLabel = (name: string): Text =>
  labelledWords.has(name)
    ? word(kindWords.get(name)?.[0] ?? readable(name), `state.${name}`)
    : byCode("own_word", readable(name), { word: name });
