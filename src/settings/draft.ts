import type { Path } from "./problem.js";

/*
 * The file as it was read, for rules between keys: they must find their error even if something else in the file is
 * wrong. So here everything may be missing or of a wrong type.
 */
export type Draft = Readonly<Record<string, unknown>>;

const nothing: Draft = {};

export const isDraft = (value: unknown): value is Draft =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const asDraft = (value: unknown): Draft => (isDraft(value) ? value : nothing);

export const sectionOf = (draft: Draft, key: string): Draft => asDraft(draft[key]);

/** A section and its path. */
export interface Placed {
  readonly path: Path;
  readonly section: Draft;
}

/** Caches results by file: each rule asks for the same sections again, perhaps of forty thousand controllers. */
const ofFiles = new WeakMap<Draft, Map<string, readonly Placed[]>>();

/** Every section at a path where `*` stands for any name or position, in file order. The file must not change. */
export function sectionsAt(root: Draft, pattern: string): readonly Placed[] {
  if (!isDraft(root.controllers)) return foundAt(root, pattern);
  const known = ofFiles.get(root) ?? new Map<string, readonly Placed[]>();
  ofFiles.set(root, known);
  const found = known.get(pattern) ?? foundAt(root, pattern);
  known.set(pattern, found);
  return found;
}

function foundAt(root: Draft, pattern: string): readonly Placed[] {
  let found: readonly { readonly path: Path; readonly value: unknown }[] = [{ path: [], value: root }];
  for (const key of pattern.split(".")) {
    const next: { readonly path: Path; readonly value: unknown }[] = [];
    for (const { path, value } of found)
      if (key !== "*") next.push({ path: [...path, key], value: asDraft(value)[key] });
      else if (Array.isArray(value))
        for (const [at, item] of value.entries()) next.push({ path: [...path, at], value: item });
      else if (isDraft(value))
        for (const name of Object.keys(value)) next.push({ path: [...path, name], value: value[name] });
    found = next;
  }
  return found.map(({ path, value }) => ({ path, section: asDraft(value) }));
}

export const itemsOf = (draft: Draft, key: string): readonly unknown[] => {
  const value = draft[key];
  return Array.isArray(value) ? value : [];
};

export const isGiven = (draft: Draft, key: string): boolean =>
  Object.hasOwn(draft, key) && draft[key] !== undefined;

export function textOf(draft: Draft, key: string): string | null {
  const value = draft[key];
  return typeof value === "string" ? value : null;
}

export function numberOf(draft: Draft, key: string): number | null {
  const value = draft[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
