import { localeFiles } from "./locale-files.js";
import type { Tell, Words } from "./words.js";

/* The languages with words, each a file that is loaded when somebody reads it. */

export type WordFiles = Readonly<Record<string, () => Promise<Words>>>;

/** Sections of a locale file that the program uses; the page has further ones. */
type Sections = Readonly<Record<"words" | "program" | "codes" | "states" | "entities", Words>>;

/**
 * All words of a locale in one table: single words, sentences by English template, sentences by code, names of states
 * and entities.
 */
export const wordsOf = ({ words, program, codes, states, entities }: Sections): Words => ({
  ...words,
  ...program,
  ...codes,
  ...states,
  ...entities,
});

export const wordFiles: WordFiles = Object.fromEntries(
  Object.entries(localeFiles).map(([language, load]) => [
    language,
    async () => wordsOf((await load()).default),
  ]),
);

export const inEnglish: Tell = String;

/** Returns the function that says sentences in a language. English needs no file. */
export async function tellIn(language: string, files: WordFiles = wordFiles): Promise<Tell> {
  const load = files[language];
  if (load === undefined) return inEnglish;
  const [words, { tellBy }] = await Promise.all([load(), import("./words.js")]);
  return tellBy(words, language);
}
