/* Made by build/languages.mjs from the files of `locales`. */
import { codes as codes_zh } from "../../../locales/zh.json";

export const codes = {
  zh: codes_zh,
};
