import { z } from "zod";
import { coreKeys } from "../settings/sections/core.js";
import { fieldFacts, section, typeFacts, type Parsed } from "../settings/values.js";
import { featureKeys, features } from "./features.js";
import type { Faces } from "../feature/feature.js";

const { broker, homeassistant, sparkplug, http, cluster, notify } = features;
const {
  platform,
  language,
  mqtt,
  polling,
  commands,
  data_dir,
  log,
  updates,
  weather,
  alarms,
  ...controllers
} = coreKeys;

/**
 * The whole configuration file, in the order in which people read about it. Parsing gives durations in ms and fills in
 * every default; `loadConfiguration` checks the rules between keys.
 */
export const configurationSchema = section({
  ...{ platform, language, mqtt },
  ...broker.keys,
  ...homeassistant.keys,
  ...sparkplug.keys,
  ...{ polling, commands },
  ...http.keys,
  ...{ data_dir, log, updates },
  ...cluster.keys,
  ...{ weather, alarms },
  ...notify.keys,
  ...controllers,
  // Those without a place above.
  ...featureKeys,
});

/** The parsed file: keys as in the YAML, durations in ms. */
export type Configuration = Parsed<typeof configurationSchema>;

/** All features, with what each says of a configuration. */
export const allFeatures: readonly Faces<Configuration>[] = Object.values(features);

export type ControllerConfiguration = Configuration["controllers"][string];

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * JSON Schema (draft 7, which editors know best) of the file as users write it: durations as text, addresses and other
 * written text also as numbers, empty keys where a key may be left out.
 */
export function jsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(configurationSchema, {
    io: "input",
    target: "draft-7",
    override: ({ zodSchema, jsonSchema: json }) => describe(zodSchema, json),
  });
  return { ...schema, title: "Configuration of greenhouse2mqtt" };
}

function describe(schema: z.core.$ZodType, json: JsonSchema): void {
  if (typeFacts.get(schema)?.written === true) json.type = ["string", "number"];
  const { additionalProperties: entry } = json;
  // `WS-0001:` alone is an entry without settings.
  const mayBeEmpty = typeof entry === "object" && entry.type === "object" && entry.required === undefined;
  if (schema instanceof z.ZodRecord && mayBeEmpty) allowNull(entry);
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
