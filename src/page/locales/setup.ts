/* Made by build/languages.mjs from the files of `locales`. */
import { setup as setup_en } from "../../../locales/en.json";
import { kinds as kinds_en } from "../../../locales/en.json";
import { setup as setup_zh } from "../../../locales/zh.json";
import { kinds as kinds_zh } from "../../../locales/zh.json";

export const setup = {
  en: setup_en,
  zh: setup_zh,
};

export const kinds = {
  en: kinds_en,
  zh: kinds_zh,
};
