/*
 * Sentences for people. A sentence stays a template with its values until the moment somebody reads it; then `Tell` of words.ts
 * makes its text in that person's language. Programs (MQTT, JSON, the log) get the English text. A plain string is the same in
 * every language: a name, an id, a value, a command, or another program's words.
 *
 *   msg`${name} is no actuator of ${controller}`        words: "{1} is no actuator of {2}" in locales/zh.json
 *   msg`${file} has ${counted(count, "problem", "problems")}`
 *   row`  - ${sentence}`                                  arranges texts and has no words of its own
 *   joined(sentences, "; ")
 */

export type Text = string | Sentence;

/** A value in a sentence. */
export type Value = Text | number;

export class Sentence {
  /** The text before each value, and as the last item the text after all values. */
  readonly parts: readonly string[];
  readonly values: readonly Value[];
  /** Values that a language's words use by name; null where they use numbers. */
  readonly named: Readonly<Record<string, Value>> | null;
  /** Changes the finished text; null for no change. */
  readonly change: ((said: string) => string) | null;
  /** The key of the words in a locale; null for a text without words. */
  readonly #template: string | (() => string) | null;

  constructor(
    parts: readonly string[],
    values: readonly Value[],
    template: string | (() => string) | null,
    named: Sentence["named"] = null,
    change: Sentence["change"] = null,
  ) {
    this.parts = parts;
    this.values = values;
    this.named = named;
    this.#template = template;
    this.change = change;
  }

  get template(): string | null {
    return typeof this.#template === "function" ? this.#template() : this.#template;
  }

  withValues(change: (value: Value) => Value): Sentence {
    return new Sentence(this.parts, this.values.map(change), this.#template, this.named, this.change);
  }

  /** The English text. */
  toString(): string {
    const said = this.parts.reduce((text, part, at) => `${text}${String(this.values[at - 1])}${part}`);
    return this.change === null ? said : this.change(said);
  }

  /** English, as documents are. */
  toJSON(): string {
    return this.toString();
  }
}

/** The template of a sentence: `{1}` is its first value. */
const templateOf = (parts: readonly string[]): string =>
  parts.reduce((text, part, at) => `${text}{${at}}${part}`);

export const msg = (parts: TemplateStringsArray, ...values: readonly Value[]): Sentence =>
  new Sentence(parts, values, () => templateOf(parts));

export const row = (parts: TemplateStringsArray, ...values: readonly Value[]): Sentence =>
  new Sentence(parts, values, null);

/**
 * A word of a closed list, or a whole sentence without values; its words stand under the text itself, or under `key`.
 */
export const word = (english: string, key = english): Sentence => new Sentence([english], [], key);

/**
 * A text from another process or an earlier run, in English with a code. A language uses its own words for the code,
 * with the named values; English, and a language without such words, show the text as it came.
 */
export const byCode = (
  code: string,
  english: string,
  named: Readonly<Record<string, Value>> = {},
): Sentence => new Sentence([english], [], code, named);

/** "1 problem", "3 problems". */
export const counted = (count: number, one: string, other: string): Sentence =>
  new Sentence(
    ["", ` ${count === 1 ? one : other}`],
    [count],
    () => `{1, plural, one {# ${one}} other {# ${other}}}`,
  );

export const joined = (texts: readonly Value[], between: string): Sentence =>
  new Sentence(["", ...texts.map((_, at) => (at < texts.length - 1 ? between : ""))], texts, null);

/** The text, changed after it is said: cut, or put into one line. `change` has to fit every language. */
export const changed = (text: Text, change: (said: string) => string): Text =>
  typeof text === "string" ? change(text) : new Sentence(["", ""], [text], null, null, change);

/** The text with each inserted string changed, for instance to hide secrets. */
export const withStrings = (text: Text, change: (text: string) => string): Text =>
  typeof text === "string"
    ? change(text)
    : text.withValues((value) => (typeof value === "number" ? value : withStrings(value, change)));

/**
 * The text with each inserted string changed, also in nested sentences. A sentence's own words stay, except the foreign
 * text of `byCode`.
 */
export function withTexts(text: Text, change: (text: string) => string): Text {
  if (typeof text === "string") return change(text);
  const { parts, values, template, named } = text;
  const changed = (value: Value) => (typeof value === "number" ? value : withTexts(value, change));
  const byName = Object.entries(named ?? {}).map(([name, value]) => [name, changed(value)] as const);
  return new Sentence(
    named === null ? parts : parts.map(change),
    values.map(changed),
    template,
    named && Object.fromEntries(byName),
  );
}

/** An error whose message is for a person. */
export class TextError extends Error {
  declare readonly text: Text;

  constructor(text: Text, options?: ErrorOptions) {
    super(text.toString(), options);
    // Not enumerable, as a log that writes all fields of an error has the message already.
    Object.defineProperty(this, "text", { value: text });
  }
}

/** The text of an error for a person: its own sentence, or the message of a foreign error. */
export const textOf = (error: unknown): Text =>
  error instanceof TextError ? error.text : error instanceof Error ? error.message : String(error);

/** A stored sentence, from which `sentenceOf` makes an equal one. */
interface Kept {
  readonly parts: readonly string[];
  readonly values: readonly (string | number | Kept)[];
  /** Absent where it follows from the parts. */
  readonly template?: string | null;
  readonly named?: Readonly<Record<string, string | number | Kept>>;
}

const keptValue = (value: Value): string | number | Kept =>
  value instanceof Sentence ? keptOf(value) : value;

/** The stored form of a sentence. A changed text is stored as its English result. */
export function keptOf(sentence: Sentence): Kept {
  const { parts, values, template, named, change } = sentence;
  if (change !== null) return { parts: [sentence.toString()], values: [], template: null };
  const entries = Object.entries(named ?? {}).map(([name, value]) => [name, keptValue(value)] as const);
  return {
    parts,
    values: values.map(keptValue),
    ...(template !== templateOf(parts) && { template }),
    ...(named !== null && { named: Object.fromEntries(entries) }),
  };
}

const isKept = (kept: unknown): kept is Kept =>
  typeof kept === "object" &&
  kept !== null &&
  "parts" in kept &&
  "values" in kept &&
  Array.isArray(kept.parts) &&
  Array.isArray(kept.values) &&
  kept.parts.length === kept.values.length + 1;

const valueOf = (kept: unknown): Value =>
  typeof kept === "number" ? kept : (sentenceOf(kept) ?? (typeof kept === "string" ? kept : ""));

/** The sentence of a stored form; null for anything else. */
export function sentenceOf(kept: unknown): Sentence | null {
  if (!isKept(kept)) return null;
  const { parts, values, template = templateOf(parts), named } = kept;
  const entries = Object.entries(named ?? {}).map(([name, value]) => [name, valueOf(value)] as const);
  return new Sentence(
    parts.map(String),
    values.map(valueOf),
    template,
    named === undefined ? null : Object.fromEntries(entries),
  );
}

/** A text in its JSON form. */
export const keptText = (text: Text): unknown => (typeof text === "string" ? text : keptOf(text));

export const textFrom = (kept: unknown): Text => sentenceOf(kept) ?? (typeof kept === "string" ? kept : "");

/** A document as JSON, with its sentences in a language. */
export const documentText = (document: unknown, tell: (text: Text) => string): string =>
  JSON.stringify(document, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    // `toJSON` has already turned `value` into English.
    const given = this[key];
    return given instanceof Sentence ? tell(given) : value;
  });
