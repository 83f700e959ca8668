import type { DeviceRecord } from "../greenhouse/ports.js";
import { type PrivateText, secretSpellings } from "../runtime/redaction.js";
import { secretValues } from "./load.js";
import { type Configuration, controllerTopicId } from "./schema.js";

/** What a configuration holds that says where it is, whose it is or how to get in. */
export function privateTexts(configuration: Configuration): readonly PrivateText[] {
  const { platform, mqtt, broker, http } = configuration;
  const urls = [platform.business_url, platform.realtime_url, ...(mqtt.url === undefined ? [] : [mqtt.url])];
  const pageUsers = http === false ? [] : http.users;
  const users = [mqtt.username, ...[...broker.users, ...pageUsers].map(({ username }) => username)];
  const files = [configuration.data_dir, platform.token_file, mqtt.tls.ca, mqtt.tls.cert, mqtt.tls.key];
  // `data` alone tells nothing, and stands in many a sentence.
  const paths = files.filter((path) => path?.includes("/"));
  const own = [mqtt.client_id, mqtt.base_topic].filter(
    (text) => text !== "greenhouse2mqtt" && text !== "greenhouse",
  );
  return [
    ...as("secret", secretSpellings(secretValues(configuration))),
    ...as("host", [...urls.flatMap(spellings), broker.host, http === false ? null : http.host]),
    ...as("user", users),
    ...as("path", paths),
    ...as("name", own),
    ...Object.entries(configuration.controllers).flatMap(([code, section]) => controllerTexts(code, section)),
  ];
}

const as = (kind: string, texts: readonly (string | null | undefined)[]): readonly PrivateText[] =>
  texts.flatMap((text): readonly PrivateText[] =>
    text === null || text === undefined || text === "" ? [] : [[kind, text]],
  );

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

/** Names of people in what a bridge tells of itself, and what they called their commands. */
export function peopleIn(value: unknown, key = ""): readonly PrivateText[] {
  if (typeof value === "string") {
    if (ofPeople.has(key) && !ofRules.test(value)) return as("user", [value]);
    // As `page:anna`.
    return key === "via" ? as("user", [/:(.*)$/s.exec(value)?.[1]]) : [];
  }
  if (Array.isArray(value)) return value.flatMap((one) => peopleIn(one, key));
  if (typeof value !== "object" || value === null) return [];
  const called = "command" in value && "id" in value && typeof value.id === "string" ? [value.id] : [];
  return [...as("id", called), ...Object.entries(value).flatMap(([inner, one]) => peopleIn(one, inner))];
}
