import type { ListLayout } from "./dialect.js";

export type Fields = Record<string, unknown>;

/** The part of an answer that holds these items; `keyOf` names each where the layout is keyed. */
export function layOut<T>(items: readonly T[], layout: ListLayout, keyOf: (item: T) => string): Fields {
  switch (layout) {
    case "array":
      return { data: items };
    case "list":
      return { data: { list: items, total: items.length } };
    case "records":
      return { data: { records: items, total: items.length, size: 5000, current: 1, pages: 1 } };
    case "rows":
      return { rows: items, total: items.length };
    case "keyed":
      return { data: Object.fromEntries(items.map((item) => [keyOf(item), item])) };
  }
}
