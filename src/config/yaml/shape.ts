import { z } from "zod";
import { typeFacts } from "../values.js";

/* What a schema expects at each place of a document. */

type Schema = z.core.$ZodType;

/** What a schema expects at one place, without the wrappers for defaults and checks. */
export type Shape =
  | { readonly type: "section"; readonly keys: ReadonlyMap<string, Schema> }
  /** `words`: the only keys allowed; null where the user chooses them. */
  | { readonly type: "map"; readonly words: readonly string[] | null; readonly value: Schema }
  | { readonly type: "list"; readonly item: Schema }
  | { readonly type: "either"; readonly options: readonly Shape[] }
  | { readonly type: "text" | "scalar" | "anything" };

/** The schema below defaults, `optional` and transforms. */
export function bare(schema: Schema): Schema {
  let inner = schema;
  for (;;) {
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) inner = inner.def.innerType;
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return inner;
  }
}

const known = new WeakMap<Schema, Shape>();

export function shapeOf(schema: Schema): Shape {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const shape = newShape(bare(schema));
  known.set(schema, shape);
  return shape;
}

function newShape(schema: Schema): Shape {
  if (typeFacts.get(schema)?.name === "anything") return { type: "anything" };
  if (schema instanceof z.ZodObject)
    return { type: "section", keys: new Map(Object.entries<Schema>(schema.def.shape)) };
  if (schema instanceof z.ZodRecord) {
    const key = schema.def.keyType;
    const words = key instanceof z.ZodEnum ? key.options.map(String) : null;
    return { type: "map", words, value: schema.def.valueType };
  }
  if (schema instanceof z.ZodArray) return { type: "list", item: schema.def.element };
  if (schema instanceof z.ZodUnion) return { type: "either", options: schema.def.options.map(shapeOf) };
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return { type: "text" };
  return { type: "scalar" };
}
