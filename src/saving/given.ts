import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { resolveReference, secretsIn } from "../config/yaml/references.js";
import { parseSource } from "../config/yaml/source.js";
import type { GivenSetting } from "../page/protocol.js";
import { isPasswordHash } from "../runtime/passwords.js";
import type { Path } from "../settings/problem.js";
import { keyText } from "../settings/key.js";
import { isSecretAt, isTextAt } from "./schema-at.js";
import { references } from "./yaml-text.js";

/* The values of a configuration text, with the source of each. */

/** A value with its place, for the page. */
export interface GivenValue extends GivenSetting {
  /** Its place in the text, so that it can be left out. */
  readonly span?: readonly [from: number, to: number];
}

interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secretsFile: string;
  /** Null where there is no such file. */
  readonly secretsText: string | null;
  /** Maps a place of this file to a place of a configuration. */
  readonly placeOf?: (path: Path) => Path;
}

const same = (path: Path): Path => path;

/** Maps a place of a fleet's file: `defaults` holds the settings of its accounts one level deeper. */
export const inDefaults = ([first, ...rest]: Path): Path => {
  if (first === undefined) return [];
  return first === "defaults" ? rest : [first, ...rest];
};

/** Values by key, in the order of the file; an empty section has an entry without a value. */
export function given(text: string, sources: Sources): Readonly<Record<string, GivenValue>> {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    lineCounter: lines,
    customTags: references,
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

/** Values of a text without references to the environment or secrets. */
export const keysIn = (text: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(given(text, { env: {}, secretsFile: "", secretsText: null })).flatMap(
      ([key, { value }]) => (value === undefined ? [] : [[key, value]]),
    ),
  );

const namesOf = (shown: ReturnType<typeof given>): readonly string[] =>
  Object.values(shown).flatMap(({ from, name }) => (from === "secret" && name ? [name] : []));

/** The names of secrets that a text uses. */
export const secretNames = (text: string): readonly string[] => [
  ...new Set(namesOf(given(text, { env: {}, secretsFile: "", secretsText: null }))),
];

interface WithoutSecrets {
  readonly text: string;
  readonly names: readonly string[];
  /** False where the result would be no YAML, or would still hold a secret. */
  readonly isSound: boolean;
}

/**
 * Replaces secrets in a text by `!secret name`. Returns it with all names that it then uses; new names begin with
 * `prefix`.
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

/** The span of a value with its tag, without the line breaks that the parser counts to a value of several lines. */
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
    // Everything in the file of secrets is a secret.
    if (isSecret || tag === "!secret") return { from, name, isSecret: true };
    const resolved = resolveReference(tag, name, { env, secrets });
    const value = resolved.ok && isScalar(resolved.node) ? resolved.node.value : null;
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      ? { from, name, value }
      : { from, name };
  };
}
