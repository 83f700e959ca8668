import { z } from "zod";
import { countsAtOnce } from "../config/at-once.js";
import { configurationSchema } from "../config/schema.js";
import type { SettingNode } from "../page/protocol.js";
import { bare } from "../config/yaml/read-document.js";
import type { Path } from "../settings/problem.js";
import { fieldFacts, typeFacts } from "../settings/values.js";

/* The schema as a tree, from which forms are made. */

type Schema = z.core.$ZodType;

/** The path element that stands for a name chosen by a person. */
const anyName = "";

let made: readonly SettingNode[] | null = null;

/** Made once, as a schema does not change. */
export const schemaTree = (): readonly SettingNode[] => (made ??= keysOf(configurationSchema, []));

function keysOf(schema: z.ZodObject, above: Path): readonly SettingNode[] {
  return Object.entries<Schema>(schema.def.shape).map(([name, inner]) =>
    nodeOf(name, inner, [...above, name]),
  );
}

function nodeOf(name: string, schema: Schema, path: Path): SettingNode {
  const facts = fieldFacts.get(schema);
  const inner = bare(schema);
  const mayBeLeftOut = schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault;
  const isEmpty = facts?.default === undefined || JSON.stringify(facts.default) === "{}";
  return {
    name,
    ...formOf(inner, path),
    ...(facts !== undefined && {
      description: facts.description,
      effect: countsAtOnce(path) ? "now" : "run",
    }),
    ...(!isEmpty && { default: facts.default }),
    ...(facts?.example !== undefined && { example: facts.example }),
    ...(facts !== undefined && !mayBeLeftOut && { required: true as const }),
    ...(facts?.secret === true && { secret: true as const }),
  };
}

/** The allowed names, where they are from a fixed list; undefined where people choose them. */
function wordsOf(key: Schema): readonly string[] | undefined {
  const [check] = key instanceof z.ZodString ? (key.def.checks ?? []) : [];
  const rule = check?._zod.def;
  const pattern =
    rule !== undefined && "pattern" in rule && rule.pattern instanceof RegExp ? rule.pattern.source : "";
  const [, list] = /^\^\(\?:(\w+(?:\|\w+)+)\)\$$/.exec(pattern) ?? [];
  return list?.split("|");
}

function formOf(schema: Schema, path: Path): Omit<SettingNode, "name"> {
  const kind = typeFacts.get(schema)?.name;
  const named = kind === undefined ? {} : { kind };
  if (kind === "anything") return { type: "anything", kind };
  if (schema instanceof z.ZodObject) return { type: "section", keys: keysOf(schema, path) };
  if (schema instanceof z.ZodRecord) {
    const key = schema.def.keyType;
    const words = key instanceof z.ZodEnum ? key.options : wordsOf(key);
    const entry = nodeOf("", schema.def.valueType, [...path, anyName]);
    return { type: "map", entry, ...(words !== undefined && { words }) };
  }
  if (schema instanceof z.ZodArray)
    return { type: "list", entry: nodeOf("", schema.def.element, [...path, anyName]) };
  if (schema instanceof z.ZodUnion)
    return {
      ...named,
      type: "either",
      options: schema.def.options.map((option) => nodeOf("", option, path)),
    };
  if (schema instanceof z.ZodEnum) return { type: "choice", words: schema.options, ...named };
  if (schema instanceof z.ZodLiteral)
    return { type: "choice", words: [...schema.values].map(String), ...named };
  if (schema instanceof z.ZodBoolean) return { type: "flag", ...named };
  if (schema instanceof z.ZodNumber) return { type: "number", ...named };
  return { type: "text", ...named };
}
