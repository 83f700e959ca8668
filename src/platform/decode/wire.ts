/** A JSON object of the platform. Only ever looked up by name, never copied whole. */
export type Fields = Readonly<Record<string, unknown>>;
export type Scalar = string | number | boolean;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** A property of its own; names such as `constructor` find nothing by accident. */
export const own = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** The names of a list, one blank between them. */
export const words = (text: string): readonly string[] => text.split(" ");

/** Trimmed text of a string or a finite number; null for everything else and for nothing but blanks. */
export function textOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null;
  if (typeof value !== "string") return null;
  const text = value.trim();
  return text === "" ? null : text;
}

/** A string, a finite number or a boolean as it came; null for everything else. */
export function scalarOf(value: unknown): Scalar | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/** The value at a dotted path (`data.list`, `data.0.name`); undefined when a step is missing. */
export function at(value: unknown, path: string): unknown {
  let here: unknown = value;
  for (const step of path.split(".")) {
    if (!isContainer(here)) return undefined;
    here = Object.hasOwn(here, step) ? (here as Fields)[step] : undefined;
  }
  return here;
}
