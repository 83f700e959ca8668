import { isLanguage, type Language } from "../greenhouse/labels.js";
import { inEnglish, tellIn, type WordFiles, wordFiles } from "../language/languages.js";
import type { Tell } from "../language/words.js";

/*
 * The language of the command line. Sentences are English by themselves; another language's words are a file that is
 * loaded when needed. Output for programs (JSON, CSV, YAML keys, the log) stays English.
 */

/** Speaks English until another language is chosen. */
export class Speech {
  readonly #files: WordFiles;
  #chosen = "en";
  #tell = inEnglish;

  constructor(files = wordFiles) {
    this.#files = files;
  }

  async choose(language: string): Promise<void> {
    this.#tell = await tellIn(language, this.#files);
    this.#chosen = language;
  }

  readonly tell: Tell = (text) => this.#tell(text);

  /** The chosen language, if bridge and page know it too; otherwise English. */
  get language(): Language {
    return isLanguage(this.#chosen) ? this.#chosen : "en";
  }
}

/** The first of these variables that is set decides, as everywhere in Unix. A language without words means English. */
export function languageOf(
  env: Readonly<Record<string, string | undefined>>,
  files: WordFiles = wordFiles,
): string {
  const { LC_ALL, LC_MESSAGES, LANG } = env;
  const locale = [LC_ALL, LC_MESSAGES, LANG].find((one) => one !== undefined && one !== "");
  const [language = ""] = /^[a-z]*/.exec(locale?.toLowerCase() ?? "") ?? [];
  return Object.hasOwn(files, language) ? language : "en";
}
