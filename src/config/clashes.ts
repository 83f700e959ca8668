import { resolve } from "node:path";
import { isLoopback } from "../runtime/sockets.js";
import type { LoadedConfiguration } from "./load.js";
import {
  atKey,
  atValue,
  type Finding,
  formatProblem,
  inOrder,
  type Path,
  type Problem,
  repeats,
} from "./problem.js";
import { listeners } from "./rules/rules.js";
import type { Configuration } from "./schema.js";
import { urlOf } from "./values.js";

/**
 * What two configurations claim both, although each needs its own: client id and base topic at one broker, data
 * directory, ports, controllers. Each problem stands in the later file and names the place in the earlier one.
 */
export function clashes(loaded: readonly LoadedConfiguration[]): Problem[] {
  const claims = loaded.flatMap((file) =>
    claimsOf(file.configuration).map(({ key, finding }) => ({ file, key, place: file.problemAt(finding) })),
  );
  const found = repeats(claims, ({ key }) => key).filter(([again, first]) => again.file !== first.file);
  return inOrder(
    found.map(([{ place }, first]) => ({ ...place, message: `${place.message} as ${placeOf(first.place)}` })),
  );
}

/** `east.yaml:3:5 mqtt.client_id` */
const placeOf = (problem: Problem) => formatProblem({ ...problem, message: "" }).replace(/: $/, "");

/** What only one running bridge can have. */
function claimsOf(configuration: Configuration) {
  const { mqtt, sparkplug } = configuration;
  const broker = brokerOf(configuration);
  const claim = (finding: Finding, ...key: readonly unknown[]) => ({
    finding,
    key: JSON.stringify([finding.message, ...key]),
  });
  const value = (what: string, path: Path, ...key: readonly unknown[]) => claim(atValue(path, what), ...key);
  return [
    value("the same client_id at the same broker", ["mqtt", "client_id"], broker, mqtt.client_id),
    value("the same base_topic at the same broker", ["mqtt", "base_topic"], broker, mqtt.base_topic),
    ...(sparkplug.enabled
      ? [
          value(
            "the same Sparkplug node at the same broker",
            ["sparkplug", "node"],
            broker,
            sparkplug.group,
            sparkplug.node,
          ),
        ]
      : []),
    value("the same data_dir", ["data_dir"], resolve(configuration.data_dir)),
    // The address does not matter: two bridges on one port are a mistake.
    ...listeners(configuration).map(({ path, port }) => value("the same port", path, port)),
    ...Object.entries(configuration.controllers).flatMap(([code, { ignore }]) =>
      ignore ? [] : claim(atKey(["controllers", code], "the same controller"), code),
    ),
  ];
}

const defaultPorts: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};

/** Host and port of the broker in use; all spellings of this computer are one. */
function brokerOf({ mqtt, broker }: Configuration): string {
  const url = mqtt.url === undefined ? null : urlOf(mqtt.url);
  if (url === null) return `this computer:${broker.port}`;
  const host = isLoopback(url.hostname) ? "this computer" : url.hostname.toLowerCase();
  return `${host}:${url.port === "" ? (defaultPorts[url.protocol] ?? 0) : url.port}`;
}
