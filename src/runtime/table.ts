/**
 * A map as an immutable value: a change copies a small part and leaves the old value as it was. So the state of ten
 * thousand targets can be data without copying all of it for every message.
 */
type Parts<Value> = readonly ReadonlyMap<string, Value>[];

export interface Table<Value> {
  readonly size: number;
  readonly parts: readonly Parts<Value>[];
}

/** Parts in two levels, so that a change copies two short lists and one small part. */
const width = 16;
const empty: ReadonlyMap<string, never> = new Map<string, never>();

export const emptyTable: Table<never> = {
  size: 0,
  parts: Array.from({ length: width }, () => Array.from({ length: width }, () => empty)),
};

function partOf(key: string): number {
  let hash = 0;
  for (let place = 0; place < key.length; place++) hash = (Math.imul(hash, 31) + key.charCodeAt(place)) | 0;
  return (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (width * width - 1);
}

function withPart<Value>(
  { size, parts }: Table<Value>,
  place: number,
  part: ReadonlyMap<string, Value>,
  more: number,
): Table<Value> {
  const row = (parts[place >> 4] ?? []).with(place & 15, part);
  return { size: size + more, parts: parts.with(place >> 4, row) };
}

export function at<Value>({ parts }: Table<Value>, key: string): Value | undefined {
  const place = partOf(key);
  return parts[place >> 4]?.[place & 15]?.get(key);
}

export function having<Value>(table: Table<Value>, key: string, value: Value): Table<Value> {
  const place = partOf(key);
  const before = table.parts[place >> 4]?.[place & 15] ?? empty;
  if (before.get(key) === value) return table;
  const part = new Map<string, Value>(before).set(key, value);
  return withPart(table, place, part, part.size - before.size);
}

export function without<Value>(table: Table<Value>, key: string): Table<Value> {
  const place = partOf(key);
  const before = table.parts[place >> 4]?.[place & 15];
  if (before?.has(key) !== true) return table;
  const part = new Map<string, Value>(before);
  part.delete(key);
  return withPart(table, place, part, -1);
}

export function* entries<Value>(table: Table<Value>): Generator<readonly [string, Value]> {
  if (table.size > 0) for (const row of table.parts) for (const part of row) if (part.size > 0) yield* part;
}

/* Maps filled from outside, which keep only the newest entries, so that nothing grows without end. */

/** Removes the oldest entry if there are more than `most`. */
export function forgetOldest(
  kept: { readonly size: number; keys(): Iterable<string>; delete(key: string): boolean },
  most: number,
): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}

/** Sets an entry as the newest, and keeps the newest `most`. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  forgetOldest(map, most);
}
