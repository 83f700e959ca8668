type Fields = Readonly<Record<string, unknown>>;

/** Objects that stand together in an answer, as a list or under keys of their own. */
export interface Collection {
  /** Dotted from the root of the answer; empty for the answer itself. */
  readonly path: string;
  readonly items: readonly Fields[];
}

const maxDepth = 5;
const mostItems = 200;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Every collection of an answer, outer ones first. */
export function collectionsIn(body: unknown, path: readonly string[] = []): readonly Collection[] {
  if (typeof body !== "object" || body === null || path.length > maxDepth) return [];
  const items = Object.values(body).filter(isFields).slice(0, mostItems);
  const isCollection = Array.isArray(body) ? items.length > 0 : items.length > 1;
  const inner = Array.isArray(body)
    ? []
    : Object.entries(body).flatMap(([key, child]) =>
        key.includes(".") ? [] : collectionsIn(child, [...path, key]),
      );
  return [...(isCollection ? [{ path: path.join("."), items }] : []), ...inner];
}
