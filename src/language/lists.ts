import { msg, type Text } from "./text.js";

/* Lists of texts, with the separators of each language. */

const each =
  (beside: (said: Text, next: Text) => Text) =>
  (texts: readonly Text[]): Text =>
    texts.reduce<Text | null>((said, next) => (said === null ? next : beside(said, next)), null) ?? "";

/** "a or b or c" */
export const alternatives = each((said, next) => msg`${said} or ${next}`);

/** "a, or b", for items that may contain commas. */
export const eitherOf = each((said, next) => msg`${said}, or ${next}`);

/** "a and b" */
export const both = each((said, next) => msg`${said} and ${next}`);

/** "a, b, c" for parts of a sentence; names and values are joined by commas in every language. */
export const clauses = each((said, next) => msg`${said}, ${next}`);

/** "a, and b" */
export const additions = each((said, next) => msg`${said}, and ${next}`);

/** "a; b; c" */
export const statements = each((said, next) => msg`${said}; ${next}`);
