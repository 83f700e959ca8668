import type { z } from "zod";
import { configurationSchema } from "../config/schema.js";
import { holdsSecret, type Shape, shapeOf } from "../config/yaml/read-document.js";
import type { Path } from "../settings/problem.js";
import { fieldFacts } from "../settings/values.js";

type Schema = z.core.$ZodType;

/** The schema at a place of the file. */
export interface SchemaAt {
  readonly shape: Shape;
  /** Whether it, or a section around it, is a secret. */
  readonly isSecret: boolean;
}

/** The schema of a key in a section or map, or in such an alternative. */
function inner(shape: Shape, part: string | number): Schema | null {
  if (shape.type === "either")
    return shape.options.map((option) => inner(option, part)).find((one) => one !== null) ?? null;
  if (shape.type === "list") return typeof part === "number" ? shape.item : null;
  if (typeof part === "number") return null;
  if (shape.type === "map") return shape.words?.includes(part) === false ? null : shape.value;
  return shape.type === "section" ? (shape.keys.get(part) ?? null) : null;
}

/** The schema at a path; null for a place that it does not know. */
export function schemaAt(path: Path): SchemaAt | null {
  let at: SchemaAt = { shape: shapeOf(configurationSchema), isSecret: false };
  for (const part of path) {
    if (at.shape.type === "anything") continue;
    const schema = inner(at.shape, part);
    if (schema === null) return null;
    at = { shape: shapeOf(schema), isSecret: at.isSecret || fieldFacts.get(schema)?.secret === true };
  }
  return at;
}

/** Whether a text there needs no quotes, even one of digits. */
export const isTextAt = (path: Path): boolean => {
  const shape = schemaAt(path)?.shape;
  return (
    shape?.type === "text" || (shape?.type === "either" && shape.options.every(({ type }) => type === "text"))
  );
};

/** Whether a text there belongs into the file of secrets. */
export function isSecretAt(path: Path): boolean {
  const at = schemaAt(path);
  if (at === null || !at.isSecret) return false;
  return holdsSecret(path, at.shape);
}
