import { isScalar, isSeq, parse, parseDocument } from "yaml";
import { strayIn } from "../config/yaml/odd-characters.js";
import type { Path } from "../settings/problem.js";

/* Formats a value as YAML text, the way a person would write it. */

/** A reference in the file to a value that is kept elsewhere. */
export class Reference {
  readonly tag = "!secret";
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value that can be written to a file; numbers and texts as in JSON. */
export type Written =
  string | number | boolean | Reference | readonly Written[] | { readonly [key: string]: Written };

/** Whether a text at this place below the value needs no quotes, even one of digits. */
export type IsText = (below: Path) => boolean;

export const isSection = (value: Written): value is Readonly<Record<string, Written>> =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof Reference);

export const isList = (value: Written): value is readonly Written[] => Array.isArray(value);

export type Quotes = "'" | '"' | null;

const oftenMisread = /^(?:y|n|yes|no|on|off|~|null|true|false|[-+.\d].*)$/i;
const digits = /^\d{1,32}$/;
const unsafe = /[\n\r\t"'`&*!|>%@#,[\]{}\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]|: |:$|^[-?: ]| $/u;

function isPlain(text: string): boolean {
  // Invisible characters are refused outside of quotes.
  if (text === "" || unsafe.test(text) || strayIn(text) !== null) return false;
  if (oftenMisread.test(text) && !/^\d+(?:ms|s|m|h)$/.test(text)) return false;
  const { contents, errors } = parseDocument(`[${text}]`, { version: "1.2", schema: "core" });
  if (errors.length > 0 || !isSeq(contents) || contents.items.length !== 1) return false;
  const [item] = contents.items;
  return isScalar(item) && item.value === text;
}

function quotedText(text: string, quotes: Quotes): string {
  // Single quotes serve a line of printable characters only.
  if (quotes === "'" && !/[\p{Cc}\u2028\u2029\ufeff]/u.test(text)) return `'${text.replaceAll("'", "''")}'`;
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** A quoted text stays quoted, even if it could stand without quotes. */
export function textOfScalar(
  value: string | number | boolean,
  isText: boolean,
  quotes: Quotes = null,
): string {
  if (typeof value !== "string" && !isText) return String(value);
  const text = String(value);
  if (quotes !== null) return quotedText(text, quotes);
  return (isText && digits.test(text)) || isPlain(text) ? text : quotedText(text, '"');
}

export const textOfKey = (key: string): string =>
  digits.test(key) || isPlain(key) ? key : quotedText(key, '"');

/** A value in one line. */
export function flowText(value: Written, isText: IsText, below: Path = []): string {
  if (value instanceof Reference) return `${value.tag} ${value.name}`;
  if (isList(value))
    return value.length === 0
      ? "[]"
      : `[${value.map((item, at) => flowText(item, isText, [...below, at])).join(", ")}]`;
  if (isSection(value)) {
    const entries = Object.entries(value).map(
      ([key, item]) => `${textOfKey(key)}: ${flowText(item, isText, [...below, key])}`,
    );
    return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
  }
  return textOfScalar(value, isText(below));
}

const isInner = (value: Written): boolean =>
  (isSection(value) || isList(value)) && Object.keys(value).length > 0;

const longestLine = 100;

/** Lines after a key, without indentation: a single line stands beside the key, several below it. */
export function blockLines(
  value: Written,
  isText: IsText,
  { step, isTop, below = [] }: { readonly step: string; readonly isTop: boolean; readonly below?: Path },
): readonly string[] {
  const flow = flowText(value, isText, below);
  const inner = (key: string | number, item: Written) =>
    blockLines(item, isText, { step, isTop: false, below: [...below, key] });
  const isShort = flow.length <= longestLine;
  if (isSection(value) && isInner(value) && (isTop || !isShort || Object.values(value).some(isInner)))
    return [
      "",
      ...Object.entries(value).flatMap(([key, item]) => under(`${textOfKey(key)}:`, inner(key, item), step)),
    ];
  if (isList(value) && value.some(isInner))
    return ["", ...value.map((item, at) => `- ${flowText(item, isText, [...below, at])}`)];
  return [flow];
}

/** A key with the lines of its value. */
export const under = (
  key: string,
  [first = "", ...rest]: readonly string[],
  step: string,
): readonly string[] => [first === "" ? key : `${key} ${first}`, ...rest.map((line) => `${step}${line}`)];

/** Parses a typed value: as it stands where a text is expected, else as YAML. */
export function valueTyped(text: string, isText: boolean): unknown {
  if (isText) return text;
  try {
    const value: unknown = parse(text, { version: "1.2", schema: "core" });
    return value ?? text;
  } catch {
    return text;
  }
}
