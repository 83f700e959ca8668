/* Maps that others fill, of which the newest entries are kept, so that nothing grows without end. */

/** Lets the entry go that was put first, where there are more than `most`. */
export function forgetOldest(
  kept: { readonly size: number; keys(): Iterable<string>; delete(key: string): boolean },
  most: number,
): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}

/** Puts an entry as the newest, and keeps the newest `most`. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  forgetOldest(map, most);
}
