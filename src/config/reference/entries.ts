import { z } from "zod";
import { fieldFacts, typeFacts, type FieldFacts } from "../facts.js";
import { bare, shapeOf, type Shape } from "../yaml/shape.js";

type Schema = z.core.$ZodType;

/** One key of a section, as the reference and the example show it. */
export interface Entry {
  readonly key: string;
  readonly facts: FieldFacts;
  readonly type: string;
  /** The keys below it, for a section (also one that may be turned off) and for the entries of a map or list. */
  readonly below: readonly Entry[];
  readonly holds: "value" | "section" | "map" | "list";
  readonly required: boolean;
}

/** The keys of a section in the schema's order; none for anything else. */
export function entriesOf(schema: Schema): Entry[] {
  const shape = sectionShape(shapeOf(schema));
  if (shape?.type !== "section") return [];
  return [...shape.keys].map(([key, field]) => entryOf(key, field));
}

function entryOf(key: string, field: Schema): Entry {
  const facts = fieldFacts.get(field) ?? { description: "" };
  const shape = sectionShape(shapeOf(field)) ?? shapeOf(field);
  const inner = shape.type === "map" ? shape.value : shape.type === "list" ? shape.item : field;
  const below = entriesOf(inner);
  const holds =
    below.length === 0 ? "value" : shape.type === "map" ? "map" : shape.type === "list" ? "list" : "section";
  const required = !(field instanceof z.ZodOptional) && !(field instanceof z.ZodPrefault);
  return { key, facts, type: typeName(field), below, holds, required };
}

/** Of alternatives (`http: false` or its keys), the section. */
function sectionShape(shape: Shape): Shape | undefined {
  return shape.type === "either" ? shape.options.find((option) => option.type === "section") : shape;
}

function typeName(field: Schema): string {
  let inner = field;
  for (;;) {
    const named = typeFacts.get(inner);
    if (named !== undefined) return named.name;
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) inner = inner.def.innerType;
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return plainType(bare(inner));
  }
}

function plainType(schema: Schema): string {
  if (schema instanceof z.ZodLiteral) return [...schema.values].join(", ");
  if (schema instanceof z.ZodArray) return `list of ${typeName(schema.def.element)}s`;
  if (schema instanceof z.ZodRecord) return `map of ${typeName(schema.def.valueType)}s`;
  if (schema instanceof z.ZodUnion) return "section or false";
  return schema instanceof z.ZodObject ? "section" : "text";
}
