/* Made by build/languages.mjs from the files of `locales`. */
import { settings as settings_en } from "../../../locales/en.json";
import { keys as keys_en } from "../../../locales/en.json";
import { kinds as kinds_en } from "../../../locales/en.json";
import { settings as settings_zh } from "../../../locales/zh.json";
import { keys as keys_zh } from "../../../locales/zh.json";
import { key_sentences as key_sentences_zh } from "../../../locales/zh.json";
import { kinds as kinds_zh } from "../../../locales/zh.json";

export const settings = {
  en: settings_en,
  zh: settings_zh,
};

export const keys = {
  en: keys_en,
  zh: keys_zh,
};

export const key_sentences = {
  zh: key_sentences_zh,
};

export const kinds = {
  en: kinds_en,
  zh: kinds_zh,
};
