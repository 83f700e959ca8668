import { msg, type Text } from "../language/text.js";
import { nearest } from "../runtime/similar-words.js";
import type { Path } from "./problem.js";

/* A key of the configuration as one text: `controllers.GH-0001.actuators.roof.name`, `http.users[0].role`. */

const plainPart = /^[\p{L}\p{N}\p{M}_°/%-]+$/u;

/** Names with dots or blanks are quoted, so that the text leads back to the path. */
export const keyText = (path: Path): string =>
  path
    .map((part, at) => {
      if (typeof part === "number") return `[${part}]`;
      return `${at === 0 ? "" : "."}${plainPart.test(part) ? part : JSON.stringify(part)}`;
    })
    .join("");

const onePart = /(?:^|\.)(?:("(?:[^"\\]|\\.)*")|([^."[\]\s]+))|\[(\d{1,6})\]/uy;

/** Parses a key; null if it is none. */
export function pathOf(key: string): Path | null {
  const path: (string | number)[] = [];
  onePart.lastIndex = 0;
  while (onePart.lastIndex < key.length) {
    const before = onePart.lastIndex;
    const found = onePart.exec(key);
    if (found === null || (before === 0 && found[0].startsWith("."))) return null;
    const [, quoted, plain, position] = found;
    const name = quoted === undefined ? plain : unquoted(quoted);
    if (name === null || name === "__proto__") return null;
    path.push(name ?? Number(position));
  }
  return path.length === 0 || typeof path[0] === "number" ? null : path;
}

function unquoted(quoted: string): string | null {
  try {
    const name: unknown = JSON.parse(quoted);
    return typeof name === "string" && name !== "" ? name : null;
  } catch {
    return null;
  }
}

export const noKey = (given: string): Text =>
  msg`"${given.slice(0, 80)}" is no key; keys are written as in controllers.GH-0001.name or http.users[0].role`;

/** Suggests a known key, or nothing. */
export const meant = (name: string, known: readonly string[]): Text => {
  const near = nearest(name, [...known]);
  return near === null ? "" : msg`, did you mean "${near}"?`;
};
