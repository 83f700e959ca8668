import { type Language, readable } from "../greenhouse/labels.js";
import { calledAs, type Pattern } from "./settings-parts.js";
import { key_sentences, keys as keyNames, settings as words } from "./locales/settings.js";
import { language } from "./words.js";

/* The texts of the settings alone, which are loaded when they are opened. */

type SettingsWord = keyof typeof words.en;

/** As the build has them: without what English makes of a word anyway. */
const bundled: Readonly<Record<Language, Readonly<Partial<Record<SettingsWord, string>>>>> = words;

export const s = (word: SettingsWord, values: Readonly<Record<string, string | number>> = {}): string =>
  (bundled[language.value][word] ?? readable(word)).replace(/\{(\w+)\}/g, (_, name: string) =>
    String(values[name] ?? ""),
  );

type ByKey = Readonly<Record<Pattern, string>>;

/** What keys are called. */
const names: Readonly<Record<Language, ByKey>> = keyNames;

/** What they say; English has the sentence of the reference. */
const sentences: Readonly<Record<Exclude<Language, "en">, ByKey>> = key_sentences;

const of = (texts: ByKey, pattern: Pattern): string | undefined => texts[pattern] ?? texts[calledAs(pattern)];

export const labelOf = (pattern: Pattern, name: string): string =>
  of(names[language.value], pattern) ?? readable(name);

/** In the language of the page, where it has one; the English of the reference says so of itself. */
export function sentenceOf(
  pattern: Pattern,
  english = "",
): { readonly text: string; readonly isForeign: boolean } {
  if (language.value === "en") return { text: english, isForeign: false };
  const sentence = of(sentences[language.value], pattern);
  return { text: sentence ?? english, isForeign: sentence === undefined && english !== "" };
}
