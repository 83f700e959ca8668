import { msg, type Text } from "../../language/text.js";
import { type Fields, isContainer } from "./decoding.js";

/* Finds the place of something unreadable in an answer, only once it is reported. */

const mostLooked = 20_000;
const mostText = 80;

/**
 * The path from the root of an answer to a part of it (`data.list[3]`); null where not found. Of equal scalars the
 * first in a list.
 */
export function placeIn(answer: unknown, part: unknown): string | null {
  if (answer === part) return "the whole answer";
  const open: (readonly [node: object, way: string])[] = isContainer(answer) ? [[answer, ""]] : [];
  for (let looked = 0; looked < mostLooked; looked += 1) {
    const next = open.shift();
    if (next === undefined) return null;
    const [node, way] = next;
    for (const [key, child] of Object.entries(node as Fields)) {
      const name = Array.isArray(node) ? `[${key}]` : way === "" ? key : `.${key}`;
      const here = `${way}${name}`;
      if (child === part && (isContainer(part) || Array.isArray(node))) return shortened(here);
      if (isContainer(child)) open.push([child, here]);
    }
  }
  return null;
}

const shortened = (text: string): string => (text.length > mostText ? `${text.slice(0, mostText)}…` : text);

/** The look of a part without its values: each letter becomes `x`, each digit `0`. */
export function lookOf(part: unknown): Text {
  if (part === null) return "null";
  if (Array.isArray(part)) return msg`a list of ${part.length}`;
  if (isContainer(part)) {
    const names = Object.keys(part);
    return names.length === 0 ? msg`an object without fields` : msg`an object with ${names.length} fields`;
  }
  if (typeof part !== "string") return msg`a ${typeof part}`;
  return part.trim() === "" ? msg`a text of blanks` : msg`a text like "${masked(part)}"`;
}

/** ` (fields: a, b)`: only names, never values. */
export function fieldNames(part: unknown): Text {
  if (!isContainer(part)) return "";
  const first: unknown = Array.isArray(part) ? part[0] : part;
  const names = isContainer(first) && !Array.isArray(first) ? Object.keys(first).slice(0, mostNames) : [];
  return names.length === 0 ? "" : msg` (fields: ${names.map((name) => name.slice(0, 40)).join(", ")})`;
}

const mostNames = 12;

export const masked = (text: string): string =>
  text
    .slice(0, 60)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/\p{L}/gu, "x")
    .replace(/\p{N}/gu, "0");
