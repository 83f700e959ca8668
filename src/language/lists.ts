import { msg, type Text } from "./text.js";

/* Texts one behind the other, with what stands between them in each language. */

const each =
  (beside: (said: Text, next: Text) => Text) =>
  (texts: readonly Text[]): Text =>
    texts.reduce<Text | null>((said, next) => (said === null ? next : beside(said, next)), null) ?? "";

/** "a or b or c" */
export const alternatives = each((said, next) => msg`${said} or ${next}`);

/** "a, or b" of what may hold a comma itself. */
export const eitherOf = each((said, next) => msg`${said}, or ${next}`);

/** "a and b" */
export const both = each((said, next) => msg`${said} and ${next}`);

/** "a, b, c" of parts of a sentence; names and values are joined by a comma in every language. */
export const clauses = each((said, next) => msg`${said}, ${next}`);

/** "a, and b" */
export const additions = each((said, next) => msg`${said}, and ${next}`);

/** "a; b; c" */
export const statements = each((said, next) => msg`${said}; ${next}`);
