import type { Language } from "../greenhouse/labels.js";

/*
 * In which language the command line speaks to a person. The program's sentences are English; where Chinese is wanted, each is
 * looked up by the English one, in files that are loaded only then. What programs read (JSON, CSV, YAML, the log) stays English.
 */

/** A sentence, or lines of them, as the person reads them. */
export type Tell = (text: string) => string;

const inEnglish: Tell = (text) => text;

export const tellIn = async (language: Language): Promise<Tell> =>
  language === "zh" ? (await import("./chinese/chinese.js")).inChinese : inEnglish;

/** Until another language is chosen it is English. */
export class Speech {
  #inChinese: Tell | null = null;

  async choose(language: Language): Promise<void> {
    this.#inChinese = language === "zh" ? await tellIn(language) : null;
  }

  readonly tell: Tell = (text) => (this.#inChinese ?? inEnglish)(text);

  get language(): Language {
    return this.#inChinese === null ? "en" : "zh";
  }
}

/** The first of these that is set decides, as everywhere in Unix. */
export function languageOf(env: Readonly<Record<string, string | undefined>>): Language {
  const { LC_ALL, LC_MESSAGES, LANG } = env;
  const locale = [LC_ALL, LC_MESSAGES, LANG].find((one) => one !== undefined && one !== "");
  return /^zh(?![a-z])/i.test(locale ?? "") ? "zh" : "en";
}
