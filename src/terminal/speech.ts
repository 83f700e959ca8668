import { isLanguage, type Language } from "../greenhouse/labels.js";
import { inEnglish, tellIn, type WordFiles, wordFiles } from "../language/languages.js";
import type { Tell } from "../language/words.js";

/*
 * In which language the command line speaks to a person. Sentences are English by themselves; the words of another language are a
 * file that is loaded only then. What programs read (JSON, CSV, keys of YAML, the log) stays English.
 */

/** Until another language is chosen it is English. */
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

  /** As the bridge and its page know it. */
  get language(): Language {
    return isLanguage(this.#chosen) ? this.#chosen : "en";
  }
}

/** The first of these that is set decides, as everywhere in Unix; what there are no words for is English. */
export function languageOf(
  env: Readonly<Record<string, string | undefined>>,
  files: WordFiles = wordFiles,
): string {
  const { LC_ALL, LC_MESSAGES, LANG } = env;
  const locale = [LC_ALL, LC_MESSAGES, LANG].find((one) => one !== undefined && one !== "");
  const [language = ""] = /^[a-z]*/.exec(locale?.toLowerCase() ?? "") ?? [];
  return Object.hasOwn(files, language) ? language : "en";
}
