import anyAscii from "any-ascii";
import { z } from "zod";
import { controllerTopicId as topicIdOf } from "../greenhouse/topic-ids.js";
import {
  brokerSection,
  commandsSection,
  homeAssistantSection,
  httpSection,
  logSection,
  mqttSection,
  pollingSection,
  sparkplugSection,
} from "./sections/bridge.js";
import {
  controllersSection,
  groupsSection,
  kindsSection,
  runningStatusSection,
  scenesSection,
} from "./sections/controllers.js";
import { alarmsSection } from "./sections/alarms.js";
import { clusterSection } from "./sections/cluster.js";
import { weatherSection } from "./sections/limits-section.js";
import { notifySection } from "../notify/section.js";
import { platformSection } from "./sections/platform.js";
import {
  choice,
  fieldFacts,
  optional,
  required,
  section,
  text,
  typeFacts,
  withDefault,
  type Parsed,
} from "../settings/values.js";

/**
 * The whole configuration file. Parsing gives durations in ms and every default filled in; rules between keys are
 * checked by `loadConfiguration`, not here.
 */
export const configurationSchema = section({
  platform: required(platformSection, "The vendor's service."),
  language: optional(
    choice(["en", "zh"]),
    "Of command line, Home Assistant and notices. Without it: English, the command line as LANG says.",
    "# zh",
  ),
  mqtt: withDefault(mqttSection, {}, "The broker to use."),
  broker: withDefault(
    brokerSection,
    {},
    "The embedded broker, used when mqtt.url is absent; keeps nothing over a restart.",
    { off: true },
  ),
  homeassistant: withDefault(homeAssistantSection, {}, "Announcements to Home Assistant."),
  sparkplug: withDefault(sparkplugSection, {}, "Sparkplug B, on a connection of its own to the same broker."),
  polling: withDefault(pollingSection, {}, "How often the platform is read."),
  commands: withDefault(commandsSection, {}, "What may be commanded, and when."),
  http: withDefault(httpSection, {}, "Health, metrics and the page; `http: false` turns it off."),
  data_dir: withDefault(
    text(),
    "./data",
    "Journal, token, ids and caches; relative paths start at the configuration's folder.",
  ),
  log: withDefault(logSection, {}, "Log, on stderr."),
  cluster: optional(
    clusterSection,
    "Several machines with this configuration, one of which runs it at a time (docs/cluster.md).",
    { off: true },
  ),
  weather: withDefault(weatherSection, {}, "Measured values from the broker, for guards.", {
    entry: "wind",
    off: true,
  }),
  alarms: withDefault(
    alarmsSection,
    {},
    "Limits of readings, by kind, for all controllers; a sensor's own go first.",
    { entry: "temperature", each: "<kind>", off: true },
  ),
  notify: withDefault(notifySection, {}, "Where alarms go: phones, chats and mail.", { off: true }),
  mirror: withDefault(
    choice(["all", "listed"]),
    "all",
    "all: every controller of the account; listed: only those below.",
  ),
  kinds: withDefault(kindsSection, {}, "Settings of all actuators of a kind; an actuator's own go first.", {
    entry: "skylight",
    each: "<kind>",
    off: true,
  }),
  running_status: withDefault(runningStatusSection, {}, "What the values of running statuses mean.", {
    off: true,
  }),
  controllers: withDefault(
    controllersSection,
    {},
    "What is known about single controllers, by device code.",
    {
      entry: "GH-0001",
      each: "<code>",
      more: "GH-0002: { ignore: true }",
    },
  ),
  groups: withDefault(groupsSection, {}, "Actuators that take one command together, by id.", {
    entry: "skylights",
    off: true,
  }),
  scenes: withDefault(scenesSection, {}, "Several commands that are sent together, by id.", {
    entry: "night",
    off: true,
  }),
});

/** The parsed file: keys as in the YAML, durations in ms. */
export type Configuration = Parsed<typeof configurationSchema>;
export type ControllerConfiguration = Configuration["controllers"][string];

/** The topic id of a controller that was given none: the bridge, `check` and the command line must mean the same one. */
export const controllerTopicId = (code: string): string => topicIdOf(code, anyAscii);

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * JSON Schema (draft 7, which editors know best) of the file as users write it: durations as text, addresses and other
 * written text also as numbers, keys without a value allowed where a key may be left out.
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
  // `WS-0001:` alone is an entry with nothing to say.
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
