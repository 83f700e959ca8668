import { msg, type Text } from "../language/text.js";

/*
 * Names, senders and answers come from outside. A terminal obeys escapes and control characters (a single character
 * each from U+0080 on), and shows a line backwards behind a mark of writing direction.
 */

const direction = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const obeyed = new RegExp(
  `[\\0-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u2028\\u2029${direction}]|\\r(?!\\n)`,
  "gu",
);

/**
 * Makes a text safe for a terminal or a file of lines: characters that would be obeyed are shown by their code, as in
 * JSON, so JSON keeps its meaning. Line ends and tabs stay.
 */
export const inert = (text: string): string =>
  text.replace(obeyed, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Whether a text may stand in a line of a log or table. */
export const isOneLine = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);

/** Why a text may not. */
export const notOneLine = (key: string): Text =>
  msg`"${key}" has control characters, or half of a character, in it.`;
