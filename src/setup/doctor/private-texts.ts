import type { Configuration } from "../../config/schema.js";
import type { DeviceRecord } from "../../greenhouse/ports.js";
import { brokerName } from "../../mqtt/connection/stream.js";
import { secretValues } from "../../config/secret-values.js";
import { secretSpellings } from "../../runtime/redaction.js";

export type PrivateText = readonly [kind: string, text: string];

/** What a configuration holds that says where it is, whose it is or how to get in. */
export function privateTexts(configuration: Configuration): readonly PrivateText[] {
  const { platform, mqtt, broker, http } = configuration;
  const hosts = [platform.business_url, platform.realtime_url, ...(mqtt.url === undefined ? [] : [mqtt.url])];
  const users = [mqtt.username, ...broker.users.map(({ username }) => username)];
  const paths = [configuration.data_dir, platform.token_file, mqtt.tls.ca, mqtt.tls.cert, mqtt.tls.key];
  const others = [mqtt.client_id, mqtt.base_topic].filter(
    (text) => text !== "greenhouse2mqtt" && text !== "greenhouse",
  );
  return [
    ...secretSpellings(secretValues(configuration)).map((text) => ["secret", text] as const),
    ...[...hosts.flatMap(spellings), broker.host, ...(http === false ? [] : [http.host])].map(
      (text) => ["host", text] as const,
    ),
    ...given(users).map((text) => ["user", text] as const),
    // `data` alone tells nothing, and stands in many a sentence.
    ...given(paths)
      .filter((text) => text.includes("/"))
      .map((text) => ["path", text] as const),
    ...others.map((text) => ["name", text] as const),
    ...Object.entries(configuration.controllers).flatMap(([code, section]) => controllerTexts(code, section)),
  ];
}

const given = (texts: readonly (string | null | undefined)[]): readonly string[] =>
  texts.filter((text): text is string => typeof text === "string" && text !== "");

/** `https://a.example:8443` as messages may write it. */
function spellings(address: string): readonly string[] {
  const { host, hostname, origin } = new URL(address);
  return [...new Set([address, origin, brokerName(address), host, hostname.replace(/^\[|\]$/g, "")])].filter(
    (text) => text !== "null" && text !== "the broker",
  );
}

function controllerTexts(
  code: string,
  section: Configuration["controllers"][string],
): readonly PrivateText[] {
  const { id, name, area, actuators, sensors, parameters } = section;
  const inner = [...Object.values(actuators), ...Object.values(sensors), ...Object.values(parameters)];
  return [
    ["controller", code],
    ...given([id, name, area, ...inner.map((one) => one.name)]).map((text) => ["name", text] as const),
  ];
}

/** Codes and names of the account itself. */
export function deviceTexts(devices: readonly DeviceRecord[]): readonly PrivateText[] {
  return devices.flatMap(({ code, name, stationName, hls }): PrivateText[] => [
    ["controller", code],
    ...given([name, stationName]).map((text) => ["name", text] as const),
    ...given([hls]).map((text) => ["address", text] as const),
  ]);
}
