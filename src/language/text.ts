/*
 * What the program says to a person. A sentence stays a template with what was put in until the edge where somebody reads it:
 * there `Tell` of words.ts makes the text of it in that person's language. Where programs read (MQTT, JSON, the log) it is
 * English by itself. A plain string is what no language changes: a name, an id, a value, a command, the words of another program.
 *
 *   msg`${name} is no actuator of ${controller}`        words: "{1} is no actuator of {2}" in locales/zh.json
 *   msg`${file} has ${counted(count, "problem", "problems")}`
 *   row`  - ${sentence}`                                  arranges texts and says nothing by itself
 *   joined(sentences, "; ")
 */

export type Text = string | Sentence;

/** What is put into a sentence. */
export type Value = Text | number;

export class Sentence {
  /** Each has what stands before the value at its place; the last one what stands behind all of them. */
  readonly parts: readonly string[];
  readonly values: readonly Value[];
  /** What the words of a language put in by name; null where they take the values by number. */
  readonly named: Readonly<Record<string, Value>> | null;
  /** What becomes of its words once they are said; null where they stay as they are. */
  readonly change: ((said: string) => string) | null;
  /** Where a language looks for its words; null where there are none to look for. */
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

  /** In English. */
  toString(): string {
    const said = this.parts.reduce((text, part, at) => `${text}${String(this.values[at - 1])}${part}`);
    return this.change === null ? said : this.change(said);
  }

  /** Documents are English. */
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

/** One of a closed list of words, or a text that is a sentence as a whole; its words stand under it, or under `key`. */
export const word = (english: string, key = english): Sentence => new Sentence([english], [], key);

/**
 * What another process or an earlier run tells in English beside a code: the language's own words for the code, with what they put
 * in by name; English, and a language without words for it, have it as it came.
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

/** The same text, changed once it is said: cut, or made one line. `change` has to fit every language. */
export const changed = (text: Text, change: (said: string) => string): Text =>
  typeof text === "string" ? change(text) : new Sentence(["", ""], [text], null, null, change);

/** The same text with each string that was put in changed, as where secrets are taken out. */
export const withStrings = (text: Text, change: (text: string) => string): Text =>
  typeof text === "string"
    ? change(text)
    : text.withValues((value) => (typeof value === "number" ? value : withStrings(value, change)));

/** The same text with what is put in as `change` makes it; the words of a sentence stay. */
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

/** An error whose message a person reads. */
export class TextError extends Error {
  declare readonly text: Text;

  constructor(text: Text, options?: ErrorOptions) {
    super(text.toString(), options);
    // A log that writes all of an error has it as its message already.
    Object.defineProperty(this, "text", { value: text });
  }
}

/** What an error says to a person: its own sentence, or the words of whatever threw it. */
export const textOf = (error: unknown): Text =>
  error instanceof TextError ? error.text : error instanceof Error ? error.message : String(error);

/** A sentence as it is kept: what `sentenceOf` makes the same one from. */
interface Kept {
  readonly parts: readonly string[];
  readonly values: readonly (string | number | Kept)[];
  /** Absent where it is that of its parts. */
  readonly template?: string | null;
  readonly named?: Readonly<Record<string, string | number | Kept>>;
}

const keptValue = (value: Value): string | number | Kept =>
  value instanceof Sentence ? keptOf(value) : value;

/** Without what becomes of its words: they are kept as they were said in English. */
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

/** Null for what is no sentence that was kept. */
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

/** A text as JSON keeps it. */
export const keptText = (text: Text): unknown => (typeof text === "string" ? text : keptOf(text));

export const textFrom = (kept: unknown): Text => sentenceOf(kept) ?? (typeof kept === "string" ? kept : "");

/** A document with its sentences in a language. */
export const documentText = (document: unknown, tell: (text: Text) => string): string =>
  JSON.stringify(document, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    // `toJSON` has made English of it by now.
    const given = this[key];
    return given instanceof Sentence ? tell(given) : value;
  });
