import { z } from "zod";
import { fieldFacts, type FieldFacts } from "./facts.js";

type More = Omit<FieldFacts, "description">;

/*
 * How a key stands in its section. Each call needs a schema instance of its own, because the facts are kept per
 * instance; that is why the value types are functions.
 */

export function required<T extends z.ZodType>(schema: T, description: string, more: More = {}): T {
  fieldFacts.add(schema, { ...more, description });
  return schema;
}

export function optional<T extends z.ZodType>(
  schema: T,
  description: string,
  more: More = {},
): z.ZodOptional<T> {
  const field = z.optional(schema);
  fieldFacts.add(field, { ...more, description });
  return field;
}

/** The default is written as a user would write it and goes through the same checks. */
export function withDefault<T extends z.ZodType>(
  schema: T,
  value: z.input<T>,
  description: string,
  more: More = {},
): z.ZodPrefault<T> {
  const field = z.prefault(schema, value);
  fieldFacts.add(field, { ...more, description, default: value });
  return field;
}
