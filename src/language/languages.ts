import { localeFiles } from "./locale-files.js";
import type { Tell, Words } from "./words.js";

/* The languages that there are words for, each a file that is loaded where somebody reads it. */

export type WordFiles = Readonly<Record<string, () => Promise<Words>>>;

/** What of a file of `locales` the program says; the page has sections of its own beside these. */
type Sections = Readonly<Record<"words" | "program" | "codes" | "states" | "entities", Words>>;

/** Single words, sentences under their English templates, sentences by code, and names of states and entities. */
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

/** Sentences are English by themselves. */
export async function tellIn(language: string, files: WordFiles = wordFiles): Promise<Tell> {
  const load = files[language];
  if (load === undefined) return inEnglish;
  const [words, { tellBy }] = await Promise.all([load(), import("./words.js")]);
  return tellBy(words, language);
}
