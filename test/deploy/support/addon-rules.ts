import { z } from "zod";

/*
 * The Supervisor's rules for an app's config.yaml, options and translations, as far as they can be told without a
 * Supervisor. It drops keys it does not know; here they are mistakes.
 */

type SchemaElement = string | readonly SchemaElement[] | Schema;
export interface Schema {
  readonly [option: string]: SchemaElement;
}

const elementType = z
  .string()
  .regex(/^(bool|email|url|port|str|password|int\(\d*,\d*\)|match\(.*\)|list\(.+\))\??$/, "not a type");
/** Lists and sections may be nested two deep. */
const section = z.record(z.string(), elementType);
const element = z.union([elementType, z.array(z.union([elementType, section])).length(1), section]);

/** Those keys that the Supervisor knows and an app like ours needs. */
const addonRules = z.strictObject({
  name: z.string(),
  version: z.string(),
  slug: z.string().regex(/^[-_.A-Za-z0-9]+$/),
  description: z.string(),
  arch: z.array(z.enum(["aarch64", "amd64"])),
  homeassistant: z.string(),
  startup: z.enum(["initialize", "system", "services", "application", "once"]),
  boot: z.enum(["auto", "manual", "manual_only"]),
  stage: z.enum(["stable", "experimental", "deprecated"]),
  services: z.array(z.string().regex(/^(mqtt|mysql):(provide|want|need)$/)),
  map: z.array(z.strictObject({ type: z.enum(["addon_config", "ssl", "share"]), read_only: z.boolean() })),
  timeout: z.number().min(10).max(300),
  backup_exclude: z.array(z.string()),
  /** Where the Supervisor pulls it from, with the version as its tag; without it the Supervisor builds the folder's Dockerfile. */
  image: z
    .string()
    .regex(/^([a-z0-9.-]+(:\d+)?\/)?[a-z0-9{}._/-]+$/)
    .optional(),
  ...{ ingress: z.boolean(), ingress_port: z.number(), ingress_stream: z.boolean() },
  ...{ panel_icon: z.string(), panel_title: z.string(), panel_admin: z.boolean() },
  options: z.record(z.string(), z.unknown()),
  schema: z.record(z.string(), element),
});

const issuesOf = (rules: z.ZodType, value: unknown): readonly string[] =>
  rules.safeParse(value).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

export function addonProblems(addon: unknown): readonly string[] {
  const problems = issuesOf(addonRules, addon);
  if (problems.length > 0) return problems;
  const { options, schema } = addonRules.parse(addon);
  // A default makes an optional option required; null asks the user for a value.
  return Object.entries(options).flatMap(([option, value]) => {
    const type: SchemaElement | undefined = schema[option];
    if (type === undefined || (typeof type === "string" && type.endsWith("?")))
      return [`options.${option}: has a default, but is optional or not in the schema`];
    return value === null ? [] : issuesOf(valueOf(type), value);
  });
}

/** What the Supervisor would say to these options. */
export const optionProblems = (options: unknown, schema: Schema): readonly string[] =>
  issuesOf(valueOf(schema), options);

function valueOf(type: SchemaElement): z.ZodType {
  if (typeof type === "string")
    return type.endsWith("?") ? textOf(type.slice(0, -1)).optional() : textOf(type);
  if (isList(type)) return z.array(valueOf(type[0] ?? ""));
  return z.strictObject(mapped(type, valueOf));
}

function textOf(type: string): z.ZodType {
  const [, kind = type, inner = ""] = /^(match|list|int)\((.*)\)$/.exec(type) ?? [];
  if (kind === "match") return z.string().regex(new RegExp(inner));
  if (kind === "list") return z.enum(inner.split("|"));
  if (kind === "int") {
    const [least = "", most = ""] = inner.split(",");
    return z
      .int()
      .min(least === "" ? -Infinity : Number(least))
      .max(most === "" ? Infinity : Number(most));
  }
  return kind === "bool" ? z.boolean() : kind === "url" ? z.url() : z.string();
}

/** Each option has a name, and a description at most. */
export const translationProblems = (translation: unknown, schema: Schema): readonly string[] =>
  issuesOf(z.strictObject({ configuration: namesOf(schema) }), translation);

const word = z.string().regex(/\S/);

const namesOf = (schema: Schema): z.ZodType =>
  z.strictObject(
    mapped(schema, (type) => {
      const [inner] = isList(type) ? type : [type];
      const fields = typeof inner === "object" && !isList(inner) ? { fields: namesOf(inner) } : {};
      return z.strictObject({ name: word, description: word.optional(), ...fields });
    }),
  );

const mapped = (schema: Schema, to: (type: SchemaElement) => z.ZodType) =>
  Object.fromEntries(Object.entries(schema).map(([option, type]) => [option, to(type)]));

const isList = (type: SchemaElement): type is readonly SchemaElement[] => Array.isArray(type);
