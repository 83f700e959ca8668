import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import { isDraft } from "../settings/draft.js";
import type { Path } from "../settings/problem.js";
import { type Change, editedText } from "./edit.js";
import { isSecretAt } from "./schema-at.js";
import { isList, isSection, Reference, type Written } from "./value-text.js";
import { references } from "./yaml-text.js";

/* Moves secrets of a change to the file of secrets and leaves `!secret name` in their place. */

interface Present {
  /** The parsed configuration; null for none. */
  readonly root: unknown;
  /** Names in the file of secrets. */
  readonly names: ReadonlySet<string>;
  /** Other configurations in the folder that use secrets; null where one of them cannot be read. */
  readonly others: readonly string[] | null;
}

interface Apart {
  readonly changes: readonly Change[];
  /** Changes of the file of secrets. */
  readonly secrets: readonly Change[];
}

function documentOf(text: string) {
  const options = {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    customTags: references,
  } as const;
  return parseDocument(text, options);
}

export const nodesOf = (text: string): unknown => documentOf(text).contents;

/** Whether a text may use a secret; one with errors may use more than the parser sees. */
function mayUse(name: string, text: string): boolean {
  if (!text.includes(name)) return false;
  const { errors, contents } = documentOf(text);
  return errors.length > 0 || usesOf(name, contents) > 0;
}

/** The top-level names of a file of secrets. */
export function namesIn(secretsText: string): ReadonlySet<string> {
  const root = nodesOf(secretsText);
  return new Set(isMap(root) ? root.items.map(({ key }) => String(isScalar(key) ? key.value : key)) : []);
}

/** How often a secret is used below a node. */
function usesOf(name: string, node: unknown): number {
  const below = (items: readonly unknown[]) => items.reduce<number>((sum, one) => sum + usesOf(name, one), 0);
  if (isMap(node)) return below(node.items.map(({ value }) => value));
  if (isSeq(node)) return below(node.items);
  return isScalar(node) && node.tag === "!secret" && String(node.value) === name ? 1 : 0;
}

function nodeAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (node, part) => (isMap(node) ? node.get(part, true) : isSeq(node) ? node.get(part, true) : undefined),
    root,
  );
}

/** Splits changes into those of the file, with references instead of secrets, and those of the file of secrets. */
export function secretsApart(changes: readonly Change[], present: Present): Apart {
  const isOfOthers = (name: string) => present.others?.some((text) => mayUse(name, text)) ?? true;
  const names = new Set(present.names);
  const secrets: Change[] = [];
  const put = (path: Path, value: string, siblings: unknown): Reference => {
    const old = nodeAt(present.root, path);
    const known = isScalar(old) && old.tag === "!secret" ? String(old.value) : null;
    // A secret that is used elsewhere too keeps its value; the changed one gets a new name.
    const isOwn = known !== null && usesOf(known, present.root) <= 1 && !isOfOthers(known);
    const name = isOwn ? known : freeName(path, siblings, names);
    names.add(name);
    secrets.push({ path: [name], value });
    return new Reference(name);
  };
  const apart = (value: Written, path: Path, siblings: unknown): Written => {
    if (typeof value === "string" && isSecretAt(path)) return put(path, value, siblings);
    if (isList(value)) return value.map((item, at) => apart(item, [...path, at], item));
    if (!isSection(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, apart(item, [...path, key], value)]),
    );
  };
  const kept = changes.map(({ path, value }) => {
    const siblings = value === undefined ? null : nodeAt(present.root, path.slice(0, -1));
    return { path, value: value === undefined ? undefined : apart(value, path, siblings) };
  });
  return { changes: kept, secrets };
}

/** A free name made from the key, such as `http_anna_password`; in a list it contains the owner's name. */
function freeName(path: Path, siblings: unknown, taken: ReadonlySet<string>): string {
  const owner = isMap(siblings)
    ? siblings.get("username")
    : isDraft(siblings)
      ? siblings["username"]
      : undefined;
  const parts = path.flatMap((part) => {
    if (typeof part === "number") return [typeof owner === "string" ? owner : String(part + 1)];
    return part === "users" || part === "sign_in" || part === "body" ? [] : [part];
  });
  const name = parts
    .join("_")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|_+$/g, "");
  const base = name === "" ? "secret" : name.slice(0, 100);
  for (let count = 1; ; count += 1) {
    const one = count === 1 ? base : `${base}_${count}`;
    if (!taken.has(one)) return one;
  }
}

/** The values of a file of secrets by name, as written; null where it holds anything else or cannot be read. */
export function secretValues(secretsText: string): ReadonlyMap<string, string> | null {
  const root = nodesOf(secretsText);
  if (root === null) return new Map();
  if (!isMap(root)) return null;
  const values = new Map<string, string>();
  for (const { key, value } of root.items) {
    if (!isScalar(key) || !isScalar(value)) return null;
    const written = typeof value.value === "string" ? value.value : (value.source ?? "");
    values.set(typeof key.value === "string" ? key.value : (key.source ?? ""), written);
  }
  return values;
}

/** The file of secrets with `more` added; null where it cannot be changed. */
export function withSecrets(secretsText: string, more: ReadonlyMap<string, string>): string | null {
  const changes = [...more].map(([name, value]) => ({ path: [name], value }));
  const edited = editedText(secretsText, changes, () => true);
  return edited.ok ? edited.text : null;
}
