import { languages } from "../language/known.js";
import { z } from "zod";
import { addressPattern, deviceCodePattern } from "../greenhouse/model.js";
import { topicIdPattern } from "../greenhouse/topic-ids.js";
import { alternatives } from "../language/lists.js";
import { msg, row, type Text } from "../language/text.js";
import { durationPattern, formatDuration, parseDuration } from "../runtime/duration.js";
import { suggestion } from "../runtime/similar-words.js";
import { asMessage } from "./problem.js";

/** The message for a missing or wrong value, which never repeats the value itself. */
export function expecting(what: Text): z.core.$ZodErrorMap {
  return (complaint) => asMessage(expected(what, complaint.input));
}

const expected = (what: Text, input: unknown): Text =>
  input === undefined ? msg`missing, expected ${what}` : msg`expected ${what}`;

/** If a word was probably mistyped, a list longer than this is not shown. */
const mostListed = 9;

/** `expected one of a, b, c, did you mean "b"?` */
export function expectingOneOf(words: readonly (string | number)[]): z.core.$ZodErrorMap {
  const what = words.length === 1 ? String(words[0]) : msg`one of ${words.join(", ")}`;
  const texts = words.map(String);
  return ({ input }) => {
    const guess = typeof input === "string" ? suggestion(input, texts) : "";
    if (guess !== "" && words.length > mostListed)
      return asMessage(msg`not one of the ${words.length} words${guess}`);
    return asMessage(row`${expected(what, input)}${guess}`);
  };
}

/** Facts about a key beside its schema, for the example file and the reference. */
export interface FieldFacts {
  readonly description: string;
  /** As a user would write it. Set without a schema default if the default depends on other keys. */
  readonly default?: unknown;
  /** YAML text after `key: ` in the example file; otherwise the default is shown. */
  readonly example?: string;
  /** Shown in the example file as a comment. */
  readonly off?: boolean;
  /** For maps: the key of the entry that the example file explains key by key. */
  readonly entry?: string;
  /** Further entries of that map in the example file, as YAML text. */
  readonly more?: string;
  /** Stands for the keys of a map in the reference; `<id>` by default. */
  readonly each?: string;
  /** Must never appear in a log, topic or message. */
  readonly secret?: boolean;
}

interface TypeFacts {
  /** For the reference: `duration`, `address`, ... */
  readonly name: string;
  /** Read from the file as written, so that `0012` needs no quotes. */
  readonly written?: boolean;
}

export const fieldFacts = z.registry<FieldFacts>();
export const typeFacts = z.registry<TypeFacts>();

type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The result of parsing a file with this schema. */
export type Parsed<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

/* The types of values. Each error says what was expected, in the terms of the file. */

export function named<T extends z.ZodType>(schema: T, name: string, written = false): T {
  typeFacts.add(schema, written ? { name, written } : { name });
  return schema;
}

function matching(pattern: RegExp, what: Text) {
  const error = expecting(what);
  return z.string({ error }).regex(pattern, { error });
}

/** One line of text. */
export const text = (
  what: Text = msg`text of one line`,
  pattern = /^[^\u0000-\u001f\u007f-\u009f]{1,500}$/,
) => named(matching(pattern, what), "text");

/** Text that is often digits: read as written, with or without quotes. */
export const writtenText = (...rule: Parameters<typeof text>) => named(text(...rule), "text", true);

export const defaultZone = "Asia/Shanghai";

const isTimeZone = (name: string): boolean => name === defaultZone || isInTable(name);

function isInTable(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

const noZones = msg`this Node.js knows no time zones, as where it was built without their table (ICU); install the usual one from https://nodejs.org`;

/**
 * The problem for everything that needs time zones; null for none. Reading a configuration takes the usual zone for
 * known, as looking it up is slow. If Node.js names the version of its zone table, it has one.
 */
export const zoneProblem = (): Text | null =>
  process.versions["tz"] !== undefined || isInTable(defaultZone) ? null : noZones;

function zoneError(): { message: string } | null {
  const problem = zoneProblem();
  return problem === null ? null : asMessage(problem);
}

export const timeZone = () => {
  const error = expecting(msg`a time zone such as Asia/Shanghai or UTC`);
  return z.string({ error }).refine(isTimeZone, { error: (issue) => zoneError() ?? error(issue) });
};

export const address = () =>
  named(matching(addressPattern, msg`an address of letters, digits, ".", "_" and "-"`), "address", true);

export const controlValue = () =>
  named(matching(/^[!-~]{1,64}$/, msg`a control value without blanks, such as 00000100`), "value", true);

export const flag = () => named(z.boolean({ error: expecting(msg`true or false`) }), "true or false");

/** `name` replaces long lists of words in the reference. */
export const choice = <const T extends readonly [string, ...string[]]>(words: T, name = words.join(", ")) =>
  named(z.enum(words, { error: expectingOneOf(words) }), name);

/** A language with translations. */
export const spoken = () => choice(languages);

export function whole(min: number, max: number) {
  const error = expecting(
    max === Number.MAX_SAFE_INTEGER
      ? msg`a whole number, at least ${min}`
      : msg`a whole number from ${min} to ${max}`,
  );
  return named(z.int({ error }).min(min, { error }).max(max, { error }), "whole number");
}

export const decimal = () => named(z.number({ error: expecting(msg`a number`) }), "number");

export const nonZero = () => {
  const error = expecting(msg`a number other than 0`);
  return named(
    z.number({ error }).refine((value) => value !== 0, { error }),
    "number",
  );
};

export const positive = () => {
  const error = expecting(msg`a number above 0`);
  return named(z.number({ error }).gt(0, { error }), "number");
};

/** Longer than any of these waits needs, and far below what a timer can hold (24.8 days). */
const longestMs = 7 * 86_400_000;

/** Text such as `30s`, parsed to ms. */
export function duration(minMs = 0) {
  const bound = minMs === 0 ? "" : msg`, at least ${formatDuration(minMs)}`;
  const error = expecting(msg`a duration such as 500ms, 30s, 5m or 1h${bound}`);
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
  return asMessage(
    ms !== null && ms > longestMs
      ? msg`expected at most ${formatDuration(longestMs)}`
      : msg`expected at least ${formatDuration(minMs)}`,
  );
};

export const section = <T extends z.core.$ZodLooseShape>(keys: T) =>
  z.strictObject(keys, { error: sectionError });

const sectionError: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys" ? undefined : expecting(msg`a section of keys with values`)(issue);

export const list = <T extends z.ZodType>(item: T) => z.array(item, { error: expecting(msg`a list`) });

/** A map whose keys the user chooses. */
export const map = <K extends z.ZodType<string, string>, V extends z.ZodType>(key: K, value: V) =>
  z.record(key, value, { error: expecting(msg`a section of keys with values`) });

/** The parsed address; null if it is none. */
export function urlOf(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** `http://` or `https://` with a host; a last slash of the path is removed. */
export const webUrl = (example: string) =>
  named(
    url(["http:", "https:"], example).transform((given) => given.replace(/\/+$/, "")),
    "URL",
  );

export const brokerUrl = () => named(url(["mqtt:", "mqtts:", "ws:", "wss:"], "mqtt://localhost:1883"), "URL");

function url(schemes: readonly string[], example: string) {
  const names = alternatives(schemes.map((scheme) => `${scheme}//`));
  const what = msg`an address that starts with ${names}, such as ${example}`;
  return z.string({ error: expecting(what) }).superRefine((given, context) => {
    const parsed = urlOf(given);
    const fail = (message: Text) => context.addIssue({ code: "custom", ...asMessage(message) });
    if (/\s/.test(given) || parsed === null || !schemes.includes(parsed.protocol) || parsed.hostname === "")
      fail(msg`expected ${what}`);
    else if (parsed.username !== "" || parsed.password !== "")
      fail(msg`expected an address without user and password; give them under keys of their own`);
    else if (parsed.search !== "" || parsed.hash !== "") fail(msg`expected an address without "?" and "#"`);
  });
}

/* Levels without wildcards and control characters; `$` at the start belongs to the broker. */
const topicPattern = /^(?![$/])(?!.*\/(?:\/|$))[^+#\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/;

export const topic = () =>
  text(msg`a topic without "+" and "#", and no "/" or "$" at its start`, topicPattern);

/* `+` alone in its level, `#` alone in the last one. */
const filterPattern =
  /^(?:(?:\+|[^+#/\u0000-\u001f\u007f-\u009f\ud800-\udfff]*)\/)*(?:#|\+|[^+#/\u0000-\u001f\u007f-\u009f\ud800-\udfff]+)$/;

export const topicFilter = () =>
  text(msg`a topic filter such as greenhouse/+/sensor/# or "#"`, filterPattern);

const idRule = msg`an id of a-z, 0-9, "_" and "-" (at most 64)`;

export const topicId = () => text(idRule, topicIdPattern);

/** A topic id as a map's key; the error shows an example made from what was written. */
export const idKey = () =>
  z
    .string()
    .regex(topicIdPattern, { error: (issue) => asMessage(msg`expected ${idRule}${likeThis(issue.input)}`) });

function likeThis(key: unknown): Text {
  if (typeof key !== "string") return "";
  const cleaned = key
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 64);
  return cleaned === "" ? "" : msg`, such as "${cleaned}"`;
}

export const deviceCode = () =>
  z.string().regex(deviceCodePattern, {
    error: expecting(
      msg`a device code as the platform writes it (at most 64 characters, no blanks around it)`,
    ),
  });

type More = Omit<FieldFacts, "description">;

/** A text alone is the example as in the example file; a leading `#` means that the key is a comment there. */
const factsOf = (description: string, more: More | string): FieldFacts => {
  if (typeof more !== "string") return { ...more, description };
  return more.startsWith("# ")
    ? { example: more.slice(2), off: true, description }
    : { example: more, description };
};

/*
 * The place of a key in its section. Each call needs its own schema instance, because the facts are stored per
 * instance; that is why the types are functions.
 */

/** A section needs no example, as its keys have their own. */
export function required<T extends z.ZodObject>(schema: T, description: string): T;
export function required<T extends z.ZodType>(
  schema: T,
  description: string,
  more: (More & Required<Pick<More, "example">>) | string,
): T;
export function required<T extends z.ZodType>(schema: T, description: string, more: More | string = {}): T {
  fieldFacts.add(schema, factsOf(description, more));
  return schema;
}

export function optional<T extends z.ZodType>(
  schema: T,
  description: string,
  more: More | string = {},
): z.ZodOptional<T> {
  const field = z.optional(schema);
  fieldFacts.add(field, factsOf(description, more));
  return field;
}

/** The default is written as a user would write it and goes through the same checks. */
export function withDefault<T extends z.ZodType>(
  schema: T,
  value: z.input<T>,
  description: string,
  more: More | string = {},
): z.ZodPrefault<T> {
  const field = z.prefault(schema, value);
  fieldFacts.add(field, { ...factsOf(description, more), default: value });
  return field;
}

export const port = () => whole(0, 65_535);

export const host = () => text(msg`a host name or address`, /^[A-Za-z0-9._:[\]%-]{1,253}$/);

/** Login keys of a user of the broker or the page. */
export const login = (example: string) => ({
  username: required(writtenText(), "Name to log in with.", { example }),
  password: required(writtenText(), "A hash made by `greenhouse2mqtt passwd`, or plain (warned).", {
    example: `!secret ${example}`,
    secret: true,
  }),
});
