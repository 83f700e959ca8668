import type { z } from "zod";
import { configurationSchema } from "../config/schema.js";
import { type Shape, shapeOf } from "../config/yaml/read-document.js";
import type { Path } from "../settings/problem.js";
import { fieldFacts } from "../settings/values.js";

type Schema = z.core.$ZodType;

/** What the schema says of a place in the file. */
export interface SchemaAt {
  readonly shape: Shape;
  /** It, or a section that it stands in, is a secret. */
  readonly isSecret: boolean;
}

/** What may stand behind a key, in the section or map that is one of its alternatives. */
function inner(shape: Shape, part: string | number): Schema | null {
  if (shape.type === "either")
    return shape.options.map((option) => inner(option, part)).find((one) => one !== null) ?? null;
  if (shape.type === "list") return typeof part === "number" ? shape.item : null;
  if (typeof part === "number") return null;
  if (shape.type === "map") return shape.words?.includes(part) === false ? null : shape.value;
  return shape.type === "section" ? (shape.keys.get(part) ?? null) : null;
}

/** Null for a place that the schema does not know. */
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

/** Whether a text there is taken as it is written, so that digits need no quotes. */
export const isTextAt = (path: Path): boolean => {
  const shape = schemaAt(path)?.shape;
  return (
    shape?.type === "text" || (shape?.type === "either" && shape.options.every(({ type }) => type === "text"))
  );
};

const secretName = /pass|pwd|secret|token|pin|key/i;

/** Whether a text there is to stand in the file of secrets; in a section that is sent as it is, what is called like one. */
export function isSecretAt(path: Path): boolean {
  const at = schemaAt(path);
  if (at === null || !at.isSecret) return false;
  return at.shape.type !== "anything" || secretName.test(String(path.at(-1)));
}
