/* Made by build/languages.mjs from the files of `locales`. */
import { checks as checks_en } from "../../../locales/en.json";
import { checks as checks_zh } from "../../../locales/zh.json";

export const checks = {
  en: checks_en,
  zh: checks_zh,
};
