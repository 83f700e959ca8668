import type { DeviceRecord } from "../greenhouse/ports.js";
import {
  privateAs as as,
  privateHost,
  privateOwnNames,
  privatePath,
  type PrivateText,
  secretSpellings,
} from "../runtime/redaction.js";
import { secretValues } from "./load.js";
import { allFeatures, type Configuration } from "./schema.js";
import { controllerTopicId } from "../settings/controllers.js";

/** Texts of a configuration that say where it is, whose it is, or how to get in. */
export function privateTexts(configuration: Configuration): readonly PrivateText[] {
  const { platform, mqtt } = configuration;
  const urls = [platform.business_url, platform.realtime_url, ...(mqtt.url === undefined ? [] : [mqtt.url])];
  const { ca, cert, key } = mqtt.tls;
  const files = [configuration.data_dir, platform.token_file, ca, cert, key];
  return [
    ...as("secret", secretSpellings(secretValues(configuration))),
    ...urls.flatMap(privateHost),
    ...as("user", [mqtt.username]),
    ...files.flatMap(privatePath),
    ...privateOwnNames([mqtt.client_id, mqtt.base_topic]),
    ...allFeatures.flatMap((feature) => feature.privateTexts?.(configuration) ?? []),
    ...as("topic", topicsOf(configuration)),
    ...Object.entries(configuration.controllers).flatMap(([code, section]) => controllerTexts(code, section)),
  ];
}

/** Topics that many bridges have; names and codes below them are hidden by themselves. */
const commonTopic = /^(?:weather\/[^/]*|(?:greenhouse|homeassistant|\$SYS)\/.*)$/;

/** Topics that others chose. */
function topicsOf({ mqtt, broker, commands, weather }: Configuration): readonly string[] {
  const ofUsers = broker.users.flatMap(({ publish = [], subscribe = [] }) => [...publish, ...subscribe]);
  const ofWeather = Object.values(weather).map(({ topic }) => topic);
  return [...ofUsers, ...commands.response_topics, ...ofWeather]
    .filter((topic) => !topic.startsWith(`${mqtt.base_topic}/`) && !commonTopic.test(topic))
    .map(beforeWildcards)
    .filter((text) => text.includes("/") && text.replace(/[+#/]/g, "").length >= shortestTopic);
}

/** Shorter ones, such as `on/off`, occur in many sentences. */
const shortestTopic = 6;

/**
 * The part of a topic filter that other messages may contain; a single word, such as `sensors`, only with its
 * wildcards.
 */
function beforeWildcards(filter: string): string {
  const [levels = ""] = filter.split(/\/?[+#]/, 1);
  return levels.includes("/") ? levels : filter;
}

function controllerTexts(
  code: string,
  { id, name, area, ...section }: Configuration["controllers"][string],
): readonly PrivateText[] {
  const { actuators, sensors, parameters } = section;
  const inner = [...Object.values(actuators), ...Object.values(sensors), ...Object.values(parameters)];
  return [...codeTexts(code), ...as("name", [id, name, area, ...inner.map((one) => one.name)])];
}

/** The code, and the topic id made of it. */
const codeTexts = (code: string) => as("controller", [code, controllerTopicId(code)]);

/** Codes, names and addresses in the account itself. */
export function deviceTexts(account: {
  readonly controllers: readonly DeviceRecord[];
  readonly devices?: readonly DeviceRecord[];
}): readonly PrivateText[] {
  return [...account.controllers, ...(account.devices ?? [])].flatMap(({ code, name, stationName, hls }) => [
    ...codeTexts(code),
    ...as("name", [name, stationName]),
    ...as("address", [hls]),
  ]);
}

const ofRules = /^(?:rule|lease) /;
const ofPeople: ReadonlySet<string> = new Set(["by", "user", "username"]);

/**
 * Names of people in what a bridge says of itself, the ids that they gave their commands, and the path of its
 * configuration.
 */
export function privateIn(value: unknown, key = ""): readonly PrivateText[] {
  if (typeof value === "string") {
    if (ofPeople.has(key) && !ofRules.test(value)) return as("user", [value]);
    if (key === "config") return privatePath(value);
    // Such as `page:anna`.
    return key === "via" ? as("user", [/:(.*)$/s.exec(value)?.[1]]) : [];
  }
  if (Array.isArray(value)) return value.flatMap((one) => privateIn(one, key));
  if (typeof value !== "object" || value === null) return [];
  const called = "command" in value && "id" in value && typeof value.id === "string" ? [value.id] : [];
  return [...as("id", called), ...Object.entries(value).flatMap(([inner, one]) => privateIn(one, inner))];
}
