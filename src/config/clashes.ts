import { resolve } from "node:path";
import { isLoopback } from "../runtime/sockets.js";
import type { LoadedConfiguration } from "./load.js";
import { formatProblem, inOrder, type Path, type Problem } from "./problem.js";
import type { Configuration } from "./schema.js";
import { urlOf } from "./urls.js";

/** Something only one running bridge can have. */
interface Claim {
  readonly what: string;
  readonly key: string;
  readonly path: Path;
  readonly on: "key" | "value";
}

/**
 * What two configurations claim both, although each needs its own: client id and base topic at one broker, data
 * directory, ports, controllers. Each problem stands in the later file and names the place in the earlier one.
 */
export function clashes(loaded: readonly LoadedConfiguration[]): Problem[] {
  const owners = new Map<string, Problem>();
  const found: Problem[] = [];
  for (const file of loaded) {
    const own = claimsOf(file.configuration).map((claim) => ({
      claim,
      place: file.problemAt({ path: claim.path, on: claim.on, message: claim.what }),
    }));
    for (const { claim, place } of own) {
      const owner = owners.get(claim.key);
      if (owner !== undefined) found.push({ ...place, message: `${claim.what} as ${placeOf(owner)}` });
    }
    for (const { claim, place } of own) if (!owners.has(claim.key)) owners.set(claim.key, place);
  }
  return inOrder(found);
}

/** `east.yaml:3:5 mqtt.client_id` */
const placeOf = (problem: Problem) => formatProblem({ ...problem, message: "" }).replace(/: $/, "");

function claimsOf(configuration: Configuration): Claim[] {
  const { mqtt } = configuration;
  const broker = brokerOf(configuration);
  const claim = (
    what: string,
    key: readonly unknown[],
    path: Path,
    on: "key" | "value" = "value",
  ): Claim => ({
    what,
    key: JSON.stringify([what, ...key]),
    path,
    on,
  });
  return [
    claim("the same client_id at the same broker", [broker, mqtt.client_id], ["mqtt", "client_id"]),
    claim("the same base_topic at the same broker", [broker, mqtt.base_topic], ["mqtt", "base_topic"]),
    claim("the same data_dir", [resolve(configuration.data_dir)], ["data_dir"]),
    ...portsOf(configuration).map(([path, port]) => claim("the same port", [port], path)),
    ...Object.entries(configuration.controllers).flatMap(([code, { ignore }]) =>
      ignore ? [] : claim("the same controller", [code], ["controllers", code], "key"),
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

/** Ports on this computer; 0 is any free one. The address does not matter: two bridges on one port are a mistake. */
function portsOf({ mqtt, broker, http }: Configuration): (readonly [Path, number])[] {
  const ports: [Path, number][] = http === false ? [] : [[["http", "port"], http.port]];
  if (mqtt.url === undefined) {
    ports.push([["broker", "port"], broker.port]);
    if (broker.websocket_port !== undefined)
      ports.push([["broker", "websocket_port"], broker.websocket_port]);
    if (broker.tls.cert !== undefined) ports.push([["broker", "tls", "port"], broker.tls.port]);
  }
  return ports.filter(([, port]) => port !== 0);
}
