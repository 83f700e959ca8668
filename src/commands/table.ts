/**
 * A map as a value: a change copies a small part and leaves the one before as it was, so that the state of ten thousand
 * targets can be data without every message copying all of it.
 */
export interface Table<Value> {
  readonly size: number;
  readonly parts: readonly ReadonlyMap<string, Value>[];
}

const partCount = 256;
const empty: ReadonlyMap<string, never> = new Map<string, never>();

export const emptyTable: Table<never> = {
  size: 0,
  parts: Array.from({ length: partCount }, () => empty),
};

function partOf(key: string): number {
  let hash = 0;
  for (let place = 0; place < key.length; place++) hash = (Math.imul(hash, 31) + key.charCodeAt(place)) | 0;
  return (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (partCount - 1);
}

export const at = <Value>(table: Table<Value>, key: string): Value | undefined =>
  table.parts[partOf(key)]?.get(key);

export function having<Value>(table: Table<Value>, key: string, value: Value): Table<Value> {
  const place = partOf(key);
  const before = table.parts[place] ?? empty;
  if (before.get(key) === value) return table;
  const part = new Map<string, Value>(before).set(key, value);
  return { size: table.size + part.size - before.size, parts: table.parts.with(place, part) };
}

export function without<Value>(table: Table<Value>, key: string): Table<Value> {
  const place = partOf(key);
  const before = table.parts[place];
  if (!before?.has(key)) return table;
  const part = new Map<string, Value>(before);
  part.delete(key);
  return { size: table.size - 1, parts: table.parts.with(place, part) };
}

export function* entries<Value>(table: Table<Value>): Generator<readonly [string, Value]> {
  if (table.size > 0) for (const part of table.parts) if (part.size > 0) yield* part;
}
