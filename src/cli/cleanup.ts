import { msg, type Text } from "../language/text.js";
import type { Configuration } from "../config/schema.js";
import { features } from "../config/features.js";
import { placeOf, type Topics, topicsUnder } from "../mqtt/topics.js";
import type { BrokerClient } from "../beside/broker-client.js";
import { readConfiguration } from "../terminal/common.js";
import { withBroker } from "../terminal/running-bridge.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

/**
 * `greenhouse2mqtt cleanup`: lists and clears what the bridge keeps on the broker for its controllers and in Home
 * Assistant; with `--all` also its own `bridge/…` topics. The bridge must be stopped first, as it would publish
 * everything again.
 */
export async function cleanup(
  context: ProcessContext,
  options: CommonOptions & { all?: boolean },
): Promise<void> {
  const configuration = await readConfiguration(options, context);
  if (configuration.mqtt.url === undefined) {
    throw usageFailure(
      msg`the embedded broker keeps nothing over a restart, so there is nothing to clean up`,
    );
  }
  const topics = topicsUnder(configuration.mqtt.base_topic);
  await withBroker(configuration, async (client) => {
    const own = () => ownTopics(client, configuration, topics, options.all === true);
    await refuseWhileRunning(client, topics);
    const found = await own();
    for (const topic of found) context.out(`${topic}\n`);
    const failed = await clear(client, found);
    const left = await own();
    const done = msg`${found.length - left.length} of ${found.length} retained topics cleared`;
    context.err.write(`${context.speech.tell(done)}\n`);
    if (left.length > 0) throw new CommandFailure(leftText(left, failed));
  });
}

/** Read by itself, so that it cannot be lost among other topics. */
async function refuseWhileRunning(client: BrokerClient, { bridge }: Topics): Promise<void> {
  const { found, isWhole } = await client.readRetained([bridge.state]);
  if (!isWhole)
    throw new CommandFailure(
      msg`the broker did not show ${bridge.state}, so nobody knows whether a bridge is running; nothing was cleared. Let this user read it`,
    );
  if (found.get(bridge.state) === "online")
    throw new CommandFailure(
      msg`a bridge is running with this base topic and would publish everything again; stop it first`,
    );
}

async function ownTopics(
  client: BrokerClient,
  configuration: Configuration,
  { base, retained, alarms, groups }: Topics,
  all: boolean,
): Promise<readonly string[]> {
  const announcements = await features.homeassistant.left(configuration);
  const filters = [
    ...retained,
    alarms,
    ...groups,
    announcements.filter,
    ...(all ? [`${base}/bridge/+`] : []),
  ];
  const { found, isWhole } = await client.readRetained(filters);
  const isOurs = ([topic, payload]: readonly [string, string]) =>
    (topic.startsWith(`${base}/bridge/`) && all) ||
    topic.startsWith(`${base}/alarm/`) ||
    topic.startsWith(`${base}/group/`) ||
    placeOf(base, topic) !== null ||
    announcements.isOurs(payload);
  const own = [...found].filter(isOurs).map(([topic]) => topic);
  if (!isWhole)
    throw new CommandFailure(
      msg`the broker did not show everything under ${base}/ and the announcements (${own.length} topics seen); let this user read them, or try again when the link is better`,
    );
  return own.sort();
}

/** Most messages in flight; a broker may allow fewer. */
const mostAtOnce = 500;

/** Resolves with the reason of the first failure; null if all were cleared. */
async function clear(client: BrokerClient, topics: readonly string[]): Promise<Text | null> {
  const failures: Text[] = [];
  const atOnce = Math.min(mostAtOnce, client.facts.receiveMaximum ?? mostAtOnce);
  const clear = (topic: string) =>
    client.publish(topic, "", true).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      failures.push(msg`the broker refused ${topic}: ${why}; check its access list`);
    });
  for (let at = 0; at < topics.length; at += atOnce)
    await Promise.all(topics.slice(at, at + atOnce).map(clear));
  return failures[0] ?? null;
}

function leftText(left: readonly string[], failed: Text | null): Text {
  const why =
    failed ??
    msg`another program publishes them again, or the access list of the broker forbids this user to clear them`;
  return msg`${left.length} retained topics are still there, ${left[0] ?? ""} first: ${why}`;
}
