/*
 * Rules between keys look at the file as it was read, not at the parsed configuration: they must find their error also
 * while something else in the file is wrong. So everything may be missing or of a wrong type here.
 */
export type Draft = Readonly<Record<string, unknown>>;

const nothing: Draft = {};

export const isDraft = (value: unknown): value is Draft =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const asDraft = (value: unknown): Draft => (isDraft(value) ? value : nothing);

export const sectionOf = (draft: Draft, key: string): Draft => asDraft(draft[key]);

/** The entries of a map of sections, in the file's order. */
export const entriesOf = (draft: Draft, key: string): (readonly [string, Draft])[] =>
  Object.entries(sectionOf(draft, key)).map(([name, value]) => [name, asDraft(value)]);

export const itemsOf = (draft: Draft, key: string): readonly unknown[] => {
  const value = draft[key];
  return Array.isArray(value) ? value : [];
};

export const given = (draft: Draft, key: string): boolean => Object.hasOwn(draft, key);

export function textOf(draft: Draft, key: string): string | null {
  const value = draft[key];
  return typeof value === "string" ? value : null;
}

export function numberOf(draft: Draft, key: string): number | null {
  const value = draft[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
