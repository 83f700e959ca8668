import type { Configuration } from "../config/schema.js";
import { discoveryFilter, foundDocument } from "../homeassistant/ownership.js";
import type { BrokerConnection } from "../mqtt/connection.js";
import { placeOf } from "../mqtt/leftovers.js";
import { type Topics, topicsUnder } from "../mqtt/topics.js";
import { withBroker } from "./broker-errand.js";
import { type CommonOptions, loggerFor, readConfiguration } from "./configuration.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

/**
 * `greenhouse2mqtt cleanup`: lists and clears what the bridge keeps on the broker for its controllers and in Home
 * Assistant; with `--all` also its own `bridge/…` topics. A running bridge would publish it all again, so it must be
 * stopped first.
 */
export async function cleanup(
  options: CommonOptions & { all?: boolean },
  around: Surroundings,
): Promise<void> {
  const configuration = await readConfiguration(options, around);
  if (configuration.mqtt.url === undefined) {
    throw new CommandFailure(
      "the embedded broker keeps nothing over a restart, so there is nothing to clean up",
      exitCodes.usage,
    );
  }
  const topics = topicsUnder(configuration.mqtt.base_topic);
  await withBroker({ configuration, log: loggerFor(configuration, around) }, async (connection) => {
    const found = await ownTopics(connection, configuration, topics, options.all === true);
    for (const topic of found) {
      around.out(`${topic}\n`);
      await connection.publish(topic, "", { retain: true, qos: 1 });
    }
    around.err.write(`${found.length} retained topics cleared\n`);
  });
}

async function ownTopics(
  connection: BrokerConnection,
  configuration: Configuration,
  topics: Topics,
  all: boolean,
): Promise<readonly string[]> {
  const { base } = topics;
  const found = new Set<string>();
  const bridge = { isRunning: false };
  const discovery = discoveryFilter(configuration.homeassistant.discovery_prefix);
  await connection.scan([...topics.retained, `${base}/bridge/+`, discovery], (topic, payload) => {
    const text = payload.toString();
    if (topic === topics.bridge.state) bridge.isRunning = text === "online";
    const isBridge = topic.startsWith(`${base}/bridge/`);
    if (isBridge ? all : placeOf(base, topic) !== null || foundDocument(text, base) !== null)
      found.add(topic);
  });
  if (bridge.isRunning)
    throw new CommandFailure(
      "a bridge is running with this base topic and would publish everything again; stop it first",
    );
  return [...found].sort();
}
