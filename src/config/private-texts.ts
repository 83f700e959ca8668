import type { DeviceRecord } from "../greenhouse/ports.js";
import { type PrivateText, secretSpellings } from "../runtime/redaction.js";
import { notifyPrivate } from "../notify/check.js";
import { secretValues } from "./load.js";
import { type Configuration, controllerTopicId } from "./schema.js";

/** What a configuration holds that says where it is, whose it is or how to get in. */
export function privateTexts(configuration: Configuration): readonly PrivateText[] {
  const { platform, mqtt, broker, http, notify, sparkplug } = configuration;
  const nats = configuration.cluster?.nats ?? [];
  const brokers = mqtt.url === undefined ? nats : [mqtt.url, ...nats];
  const urls = [platform.business_url, platform.realtime_url, ...brokers];
  const pageUsers = http === false ? [] : http.users;
  const users = [mqtt.username, ...[...broker.users, ...pageUsers].map(({ username }) => username)];
  const { ca, cert, key } = mqtt.tls;
  const files = [configuration.data_dir, platform.token_file, ca, cert, key, broker.tls.cert, broker.tls.key];
  const pageHosts = http === false ? [] : [http.host, ...http.allowed_hosts, http.ingress.address];
  const { group, node, primary_host: primaryHost } = sparkplug;
  const own = [mqtt.client_id, mqtt.base_topic, group, node, primaryHost].filter(
    (text) => !ownDefaults.has(text ?? ""),
  );
  return [
    ...as("secret", secretSpellings(secretValues(configuration))),
    ...as("host", [...urls.flatMap(spellings), broker.host, ...pageHosts]),
    ...as("user", users),
    ...files.flatMap(pathTexts),
    ...as("name", own),
    ...notifyTexts(notify),
    ...as("topic", topicsOf(configuration)),
    ...Object.entries(configuration.controllers).flatMap(([code, section]) => controllerTexts(code, section)),
  ];
}

function notifyTexts(notify: Configuration["notify"]): readonly PrivateText[] {
  const { names, urls, hosts, users } = notifyPrivate(notify);
  return [...as("name", names), ...as("host", [...urls.flatMap(spellings), ...hosts]), ...as("user", users)];
}

/** What everybody calls it who says nothing. */
const ownDefaults: ReadonlySet<string> = new Set(["greenhouse2mqtt", "greenhouse", "greenhouses"]);

const as = (kind: string, texts: readonly (string | null | undefined)[]): readonly PrivateText[] =>
  texts.flatMap((text): readonly PrivateText[] =>
    text === null || text === undefined || text === "" ? [] : [[kind, text]],
  );

/** `data` alone tells nothing, and stands in many a sentence. */
const pathTexts = (path: string | undefined) => (path?.includes("/") === true ? as("path", [path]) : []);

/** Below these, names and codes are hidden as such; nothing else there says whose it is. */
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

/** Shorter ones, such as `on/off`, stand in many a sentence. */
const shortestTopic = 6;

/** What other messages may write of a topic filter; a single word, such as `sensors`, only with its wildcards. */
function beforeWildcards(filter: string): string {
  const [levels = ""] = filter.split(/\/?[+#]/, 1);
  return levels.includes("/") ? levels : filter;
}

/** `https://a.example:8443` as messages may write it. */
function spellings(address: string): readonly string[] {
  const { host, hostname, origin, protocol } = new URL(address);
  return [
    ...new Set([address, origin, `${protocol}//${host}`, host, hostname.replace(/^\[|\]$/g, "")]),
  ].filter((text) => text !== "null");
}

function controllerTexts(
  code: string,
  { id, name, area, ...section }: Configuration["controllers"][string],
): readonly PrivateText[] {
  const { actuators, sensors, parameters } = section;
  const inner = [...Object.values(actuators), ...Object.values(sensors), ...Object.values(parameters)];
  return [...codeTexts(code), ...as("name", [id, name, area, ...inner.map((one) => one.name)])];
}

/** The code, and the topic id that is made of it. */
const codeTexts = (code: string) => as("controller", [code, controllerTopicId(code)]);

/** Codes, names and addresses of the account itself. */
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

/** Names of people in what a bridge tells of itself, what they called their commands, and its configuration file. */
export function privateIn(value: unknown, key = ""): readonly PrivateText[] {
  if (typeof value === "string") {
    if (ofPeople.has(key) && !ofRules.test(value)) return as("user", [value]);
    if (key === "config") return pathTexts(value);
    // As `page:anna`.
    return key === "via" ? as("user", [/:(.*)$/s.exec(value)?.[1]]) : [];
  }
  if (Array.isArray(value)) return value.flatMap((one) => privateIn(one, key));
  if (typeof value !== "object" || value === null) return [];
  const called = "command" in value && "id" in value && typeof value.id === "string" ? [value.id] : [];
  return [...as("id", called), ...Object.entries(value).flatMap(([inner, one]) => privateIn(one, inner))];
}
