/* Made by build/languages.mjs from the files of `locales`. */
export const languages = ["en", "zh"] as const;
