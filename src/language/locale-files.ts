/* Made by build/languages.mjs from the files of `locales`. */

/** Each but English, which sentences are in by themselves. */
export const localeFiles = {
  zh: () => import("../../locales/zh.json", { with: { type: "json" } }),
};
