import { type Language, readable } from "../greenhouse/labels.js";
import { calledAs, type Pattern } from "./settings-parts.js";
import {
  key_sentences,
  keys as keyNames,
  kinds as kindNames,
  settings as words,
} from "./locales/settings.js";
import { codeText, language } from "./words.js";

/* Texts of the settings, which are loaded when these are opened. */

type SettingsWord = keyof typeof words.en;

/** As the build leaves them: without texts that English makes from a word anyway. */
const bundled: Readonly<Record<Language, Readonly<Partial<Record<SettingsWord, string>>>>> = words;

export const s = (word: SettingsWord, values: Readonly<Record<string, string | number>> = {}): string =>
  (bundled[language.value][word] ?? readable(word)).replace(/\{(\w+)\}/g, (_, name: string) =>
    String(values[name] ?? ""),
  );

const kinds: Readonly<Record<Language, Readonly<Record<string, string>>>> = kindNames;

/** What a word that can be chosen means to people; what has no text stands as it does in the file. */
export function choiceText(pattern: Pattern, word: string): string {
  if (/^(?:kinds|controllers\.\*\.actuators\.\*\.kind)$/.test(pattern))
    return kinds[language.value][word] ?? word;
  if (/^(?:alarms|controllers\.\*\.sensors\.\*\.kind)$/.test(pattern)) return codeText(word);
  if (pattern !== "http.ingress.role" || (word !== "viewer" && word !== "operator" && word !== "admin"))
    return word;
  return s(word);
}

type ByKey = Readonly<Record<Pattern, string>>;

/** The names of keys. */
const names: Readonly<Record<Language, ByKey>> = keyNames;

/** The descriptions of keys; English uses the reference's sentences. */
const sentences: Readonly<Record<Exclude<Language, "en">, ByKey>> = key_sentences;

const of = (texts: ByKey, pattern: Pattern): string | undefined => texts[pattern] ?? texts[calledAs(pattern)];

export const labelOf = (pattern: Pattern, name: string): string =>
  of(names[language.value], pattern) ?? readable(name);

/** The description in the page's language, or else the reference's English, marked as such. */
export function sentenceOf(
  pattern: Pattern,
  english = "",
): { readonly text: string; readonly isForeign: boolean } {
  if (language.value === "en") return { text: english, isForeign: false };
  const sentence = of(sentences[language.value], pattern);
  return { text: sentence ?? english, isForeign: sentence === undefined && english !== "" };
}
