import { languages } from "../language/known.js";
import { byCode, type Text, word } from "../language/text.js";
import { kindWords } from "./actuator-kinds.js";
import { platformStates } from "./model.js";

export { languages };

export type Language = (typeof languages)[number];

export const isLanguage = (text: unknown): text is Language => languages.some((one) => one === text);

/** Names of the platform's things are known in English, and in the language of the platform. */
export const ofNames = (language: Language): "en" | "zh" => (language === "zh" ? "zh" : "en");

/** What a language is called in itself. */
export const languageName = (language: Language): string =>
  new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;

/*
 * What people read for the words of topics, in Home Assistant and on the page; topic words never change.
 */

/** Any other word with a capital and spaces. */
export const readable = (word: string): string => {
  const text = word.replace(/_+/g, " ").trim() || word;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** Words that every language has a label for: those of kinds, of groups and scenes, and of the platform's state. */
export const labelledWords: ReadonlySet<string> = new Set([
  ...kindWords.keys(),
  ...["mixed", "activate"],
  ...platformStates,
]);

/** The label of one word; words of one actuator may share it. One of the configuration stays as it was written there. */
export const wordLabel = (name: string): Text =>
  labelledWords.has(name)
    ? word(kindWords.get(name)?.[0] ?? readable(name), `state.${name}`)
    : byCode("own_word", readable(name), { word: name });
