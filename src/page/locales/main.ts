/* Made by build/languages.mjs from the files of `locales`. */
import { page as page_en } from "../../../locales/en.json";
import { states as states_en } from "../../../locales/en.json";
import { words as words_en } from "../../../locales/en.json";
import { page as page_zh } from "../../../locales/zh.json";
import { states as states_zh } from "../../../locales/zh.json";
import { words as words_zh } from "../../../locales/zh.json";

export const page = {
  en: page_en,
  zh: page_zh,
};

export const states = {
  en: states_en,
  zh: states_zh,
};

export const words = {
  en: words_en,
  zh: words_zh,
};
