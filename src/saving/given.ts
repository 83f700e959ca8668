import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { resolveReference, secretsIn } from "../config/yaml/references.js";
import { parseSource } from "../config/yaml/source.js";
import type { GivenSetting } from "../page/protocol.js";
import { isPasswordHash } from "../runtime/passwords.js";
import type { Path } from "../settings/problem.js";
import { keyText } from "../settings/key.js";
import { isSecretAt, isTextAt } from "./schema-at.js";

/* What stands in a configuration, value by value, and where each comes from. */

/** For the page, with its place. */
export interface GivenValue extends GivenSetting {
  /** Where it stands in the text, for whoever leaves it out. */
  readonly span?: readonly [from: number, to: number];
}

interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secretsFile: string;
  /** Null where there is no such file. */
  readonly secretsText: string | null;
  /** Which place of a configuration a place of this file stands for. */
  readonly placeOf?: (path: Path) => Path;
}

const tags = ["!env", "!secret"].map((tag) => ({ tag, resolve: (name: string) => name }));

const same = (path: Path): Path => path;

/** In the file of a fleet what holds for its accounts stands one level deeper. */
export const inDefaults = ([first, ...rest]: Path): Path => {
  if (first === undefined) return [];
  return first === "defaults" ? rest : [first, ...rest];
};

/** By key, in the order of the file; sections without anything in them stand for themselves with no value. */
export function given(text: string, sources: Sources): Readonly<Record<string, GivenValue>> {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    lineCounter: lines,
    customTags: tags,
  });
  const found: Record<string, GivenValue> = {};
  const resolve = resolver(sources);
  const { placeOf = same } = sources;
  const look = (node: unknown, path: Path): void => {
    if (isMap(node) && node.items.length === 0 && path.length > 0)
      found[keyText(path)] = { from: "file", line: lines.linePos(node.range?.[0] ?? 0).line };
    else if (isMap(node))
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? (typeof key.value === "string" ? key.value : (key.source ?? "")) : null;
        if (name !== null && name !== "__proto__") look(value, [...path, name]);
      }
    else if (isSeq(node)) for (const [at, item] of node.items.entries()) look(item, [...path, at]);
    else if (isScalar(node) && node.value !== null && path.length > 0) {
      const span = [node.range?.[0] ?? 0, node.range?.[1] ?? 0] as const;
      const { line } = lines.linePos(span[0]);
      const tag = node.tag === "!env" || node.tag === "!secret" ? node.tag : null;
      const written = typeof node.value === "string" ? node.value : (node.source ?? "");
      const place = placeOf(path);
      const value = isTextAt(place) ? written : (node.value as string | number | boolean);
      const isSecret = isSecretAt(place) && !(tag === null && isPasswordHash(written));
      found[keyText(path)] =
        tag === null
          ? { from: "file", line, span, ...(isSecretAt(place) ? { isSecret: true } : { value }) }
          : { ...resolve(tag, written, isSecret), line, span };
    }
  };
  look(document.contents, []);
  return found;
}

/** The values of a text that names nothing elsewhere. */
export const keysIn = (text: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(given(text, { env: {}, secretsFile: "", secretsText: null })).flatMap(
      ([key, { value }]) => (value === undefined ? [] : [[key, value]]),
    ),
  );

const namesOf = (shown: ReturnType<typeof given>): readonly string[] =>
  Object.values(shown).flatMap(({ from, name }) => (from === "secret" && name ? [name] : []));

/** What a text takes from the file of secrets, by name. */
export const secretNames = (text: string): readonly string[] => [
  ...new Set(namesOf(given(text, { env: {}, secretsFile: "", secretsText: null }))),
];

interface WithoutSecrets {
  readonly text: string;
  readonly names: readonly string[];
  /** False where what would be left is no YAML, or a secret still stands in it. */
  readonly isSound: boolean;
}

/**
 * The text without the secrets that stand in it, with `!secret name` in their place, and all names that it uses then; new ones begin
 * with `prefix`.
 */
export function withoutSecrets(text: string, { prefix = "", placeOf = same } = {}): WithoutSecrets {
  const nothing = { env: {}, secretsFile: "", secretsText: null, placeOf };
  const shown = given(text, nothing);
  const taken = new Set(namesOf(shown));
  const spans = Object.entries(shown).flatMap(([key, { isSecret, from, span }]) =>
    isSecret === true && from === "file" && span !== undefined
      ? [{ key, span: writtenSpan(text, span) }]
      : [],
  );
  const named = spans.map(({ key, span }) => {
    const base = `${prefix}${key}`
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_")
      .replace(/^_+|_+$/g, "");
    let name = base;
    for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`;
    taken.add(name);
    return { span, name };
  });
  const plain = named
    .toSorted(({ span: [one] }, { span: [other] }) => other - one)
    .reduce(
      (now, { span: [from, to], name }) => `${now.slice(0, from)}!secret ${name}${now.slice(to)}`,
      text,
    );
  return { text: plain, names: [...taken].toSorted(), isSound: isSound(plain, nothing) };
}

/** With the tag before a value, and without the line breaks behind it, which those of several lines count as theirs. */
function writtenSpan(
  text: string,
  [from, to]: readonly [number, number],
): readonly [from: number, to: number] {
  const [before = ""] = /(?:(?<=[\s[{,:])[!&]\S*[ \t]+)*$/.exec(text.slice(0, from)) ?? [];
  return [from - before.length, from + text.slice(from, to).trimEnd().length];
}

const isSound = (text: string, sources: Sources): boolean =>
  parseSource(text).ok &&
  Object.values(given(text, sources)).every(({ isSecret, from }) => isSecret !== true || from !== "file");

function resolver({ env, secretsFile, secretsText }: Sources) {
  const parsed = secretsText === null ? null : parseSource(secretsText);
  const secrets =
    parsed?.ok === true ? secretsIn(parsed.source, secretsFile) : ({ ok: false, message: null } as const);
  return (tag: "!env" | "!secret", name: string, isSecret: boolean): Omit<GivenValue, "line"> => {
    const from = tag === "!env" ? "environment" : "secret";
    // Whatever stands in the file of secrets is one.
    if (isSecret || tag === "!secret") return { from, name, isSecret: true };
    const resolved = resolveReference(tag, name, { env, secrets });
    const value = resolved.ok && isScalar(resolved.node) ? resolved.node.value : null;
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? { from, name, value }
      : { from, name };
  };
}
