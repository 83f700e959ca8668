import type { DeviceRecord } from "../greenhouse/ports.js";
import { type PrivateText, secretSpellings } from "../runtime/redaction.js";
import { secretValues } from "./load.js";
import type { Configuration } from "./schema.js";

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
  return [["controller", code], ...as("name", [id, name, area, ...inner.map((one) => one.name)])];
}

/** Codes, names and addresses of the account itself. */
export function deviceTexts(account: {
  readonly controllers: readonly DeviceRecord[];
  readonly devices?: readonly DeviceRecord[];
}): readonly PrivateText[] {
  return [...account.controllers, ...(account.devices ?? [])].flatMap(({ code, name, stationName, hls }) => [
    ["controller", code] as const,
    ...as("name", [name, stationName]),
    ...as("address", [hls]),
  ]);
}
