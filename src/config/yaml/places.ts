import type { Path } from "../problem.js";

/** Offsets of the keys and values of a document, by path. */
export interface Places {
  readonly keys: ReadonlyMap<string, number>;
  readonly values: ReadonlyMap<string, number>;
}

export const pathKey = (path: Path): string => JSON.stringify(path);

/** Whether the file holds this key. */
export const holdsKey = (places: Places, path: Path): boolean => places.keys.has(pathKey(path));

/** The offset to show for a path; of the nearest section around it where it does not stand in the file. */
export function offsetOf(places: Places, path: Path, on: "key" | "value"): number {
  const key = places.keys.get(pathKey(path));
  const value = places.values.get(pathKey(path));
  const own = on === "key" ? (key ?? value) : (value ?? key);
  if (own !== undefined) return own;
  return path.length === 0 ? 0 : offsetOf(places, path.slice(0, -1), "key");
}
