import { addressPattern } from "../greenhouse/address.js";
import { z } from "zod";
import { durationPattern, formatDuration, parseDuration } from "./duration.js";
import { expecting, expectingOneOf } from "./expectation.js";
import { typeFacts } from "./facts.js";

/* The kinds of value a key can have. Every error sentence says what was expected in the words of the file. */

function named<T extends z.ZodType>(schema: T, name: string, written = false): T {
  typeFacts.add(schema, written ? { name, written } : { name });
  return schema;
}

function matching(pattern: RegExp, what: string) {
  const error = expecting(what);
  return z.string({ error }).regex(pattern, { error });
}

/** One line of text. */
export const text = (what = "text of one line", pattern = /^[^\u0000-\u001f\u007f-\u009f]{1,500}$/) =>
  named(matching(pattern, what), "text");

/** Text that is often digits: taken as written, quotes or not. */
export const writtenText = (what = "text of one line", pattern = /^[^\u0000-\u001f\u007f-\u009f]{1,500}$/) =>
  named(matching(pattern, what), "text", true);

export const address = () =>
  named(matching(addressPattern, 'an address of letters, digits, ".", "_" and "-"'), "address", true);

export const controlValue = () =>
  named(matching(/^[!-~]{1,64}$/, "a control value without blanks, such as 00000100"), "value", true);

export const flag = () => named(z.boolean({ error: expecting("true or false") }), "true or false");

/** `name` stands for the words in the reference where they are many. */
export const choice = <const T extends readonly [string, ...string[]]>(words: T, name = words.join(", ")) =>
  named(z.enum(words, { error: expectingOneOf(words) }), name);

export function whole(min: number, max: number) {
  const error = expecting(
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number, at least ${min}`
      : `a whole number from ${min} to ${max}`,
  );
  return named(z.int({ error }).min(min, { error }).max(max, { error }), "whole number");
}

export const decimal = () => named(z.number({ error: expecting("a number") }), "number");

export const nonZero = () => {
  const error = expecting("a number other than 0");
  return named(
    z.number({ error }).refine((value) => value !== 0, { error }),
    "number",
  );
};

export const positive = () => {
  const error = expecting("a number above 0");
  return named(z.number({ error }).gt(0, { error }), "number");
};

/** A day is more than any of these waits needs, and stays far below what a timer can hold (24.8 days). */
const longestMs = 7 * 86_400_000;

/** Text such as `30s`; parsed to ms. */
export function duration(minMs = 0) {
  const bound = minMs === 0 ? "" : `, at least ${formatDuration(minMs)}`;
  const error = expecting(`a duration such as 500ms, 30s, 5m or 1h${bound}`);
  const schema = z
    .string({ error })
    .regex(durationPattern, { error })
    .refine((given) => inside(parseDuration(given), minMs), { error: tooFar(minMs) })
    .transform((given) => parseDuration(given) ?? 0);
  return named(schema, "duration");
}

const inside = (ms: number | null, minMs: number) => ms === null || (ms >= minMs && ms <= longestMs);

const tooFar = (minMs: number) => (issue: { readonly input?: unknown }) => {
  const ms = typeof issue.input === "string" ? parseDuration(issue.input) : null;
  return ms !== null && ms > longestMs
    ? `expected at most ${formatDuration(longestMs)}`
    : `expected at least ${formatDuration(minMs)}`;
};

export const section = <T extends z.core.$ZodLooseShape>(keys: T) =>
  z.strictObject(keys, { error: sectionError });

const sectionError: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys" ? undefined : expecting("a section of keys with values")(issue);

export const list = <T extends z.ZodType>(item: T) => z.array(item, { error: expecting("a list") });

/** A map whose keys the user chooses. */
export const map = <K extends z.ZodType<string, string>, V extends z.ZodType>(key: K, value: V) =>
  z.record(key, value, { error: expecting("a section of keys with values") });
