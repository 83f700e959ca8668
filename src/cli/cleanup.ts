import type { Configuration } from "../config/schema.js";
import { discoveryFilter, foundDocument } from "../homeassistant/announced.js";
import type { BrokerConnection } from "../mqtt/connection.js";
import { placeOf, type Topics, topicsUnder } from "../mqtt/topics.js";
import { loggerFor, readConfiguration, withBroker } from "./errands.js";
import { CommandFailure, type CommonOptions, exitCodes, type Surroundings } from "./surroundings.js";

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
    const own = () => ownTopics(connection, configuration, topics, options.all === true);
    await refuseWhileRunning(connection, topics);
    const found = await own();
    for (const topic of found) around.out(`${topic}\n`);
    const failed = await clear(connection, found);
    const left = await own();
    around.err.write(`${found.length - left.length} of ${found.length} retained topics cleared\n`);
    if (left.length > 0) throw new CommandFailure(leftText(left, failed));
  });
}

/** By itself, so that nothing it could be lost among comes with it. */
async function refuseWhileRunning(connection: BrokerConnection, topics: Topics): Promise<void> {
  let state = "";
  const isSeen = await connection.scan([topics.bridge.state], (_, payload) => {
    state = payload.toString();
  });
  if (!isSeen)
    throw new CommandFailure(
      `the broker did not show ${topics.bridge.state}, so nobody knows whether a bridge is running; nothing was cleared. Let this user read it`,
    );
  if (state === "online")
    throw new CommandFailure(
      "a bridge is running with this base topic and would publish everything again; stop it first",
    );
}

async function ownTopics(
  connection: BrokerConnection,
  configuration: Configuration,
  topics: Topics,
  all: boolean,
): Promise<readonly string[]> {
  const { base } = topics;
  const found = new Set<string>();
  const filters = [
    ...[...topics.retained, topics.alarms],
    discoveryFilter(configuration.homeassistant.discovery_prefix),
    ...(all ? [`${base}/bridge/+`] : []),
  ];
  const isComplete = await connection.scan(filters, (topic, payload) => {
    const isOurs =
      topic.startsWith(`${base}/bridge/`) ||
      topic.startsWith(`${base}/alarm/`) ||
      placeOf(base, topic) !== null ||
      foundDocument(payload.toString(), base) !== null;
    if (isOurs) found.add(topic);
  });
  if (!isComplete)
    throw new CommandFailure(
      `the broker did not show everything under ${base}/ and the announcements (${found.size} topics seen): let this user read them, or try again when the link is better`,
    );
  return [...found].sort();
}

/** Resolves with why the first of those that could not be cleared was not; null when all were. */
async function clear(connection: BrokerConnection, topics: readonly string[]): Promise<string | null> {
  let failed: string | null = null;
  const clearings: Promise<void>[] = [];
  const noted = (error: unknown) => {
    failed ??= error instanceof Error ? error.message : String(error);
  };
  for (const topic of topics) {
    await connection.ready();
    clearings.push(connection.publish(topic, "", { retain: true, qos: 1 }).catch(noted));
  }
  await Promise.all(clearings);
  return failed;
}

function leftText(left: readonly string[], failed: string | null): string {
  const why =
    failed ?? "something publishes them again, or the broker's access list does not let this user clear them";
  return `${left.length} retained topics are still there, ${left[0] ?? ""} first: ${why}`;
}
