import { z } from "zod";
import { fieldFacts, typeFacts } from "../facts.js";
import { configurationSchema } from "../schema.js";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * JSON Schema (draft 7, which editors know best) of the file as users write it: durations as text, addresses and other
 * written text also as numbers, keys without a value allowed where a key may be left out.
 */
export function jsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(configurationSchema, {
    io: "input",
    target: "draft-7",
    override: ({ zodSchema, jsonSchema: json }) => {
      describe(zodSchema, json);
    },
  });
  return { ...schema, title: "Configuration of greenhouse2mqtt" };
}

function describe(schema: z.core.$ZodType, json: JsonSchema): void {
  if (typeFacts.get(schema)?.written === true) json.type = ["string", "number"];
  const facts = fieldFacts.get(schema);
  if (facts === undefined) return;
  json.description = facts.description;
  if (facts.default !== undefined && !isEmpty(facts.default)) json.default = facts.default;
  else delete json.default;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) allowNull(json);
}

const isEmpty = (value: unknown) => JSON.stringify(value) === "{}";

function allowNull(json: JsonSchema): void {
  if (json.anyOf !== undefined) json.anyOf = [...json.anyOf, { type: "null" }];
  if (json.enum !== undefined) json.enum = [...json.enum, null];
  if (json.type !== undefined) json.type = [json.type, "null" as const].flat();
}
