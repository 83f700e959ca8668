import { join } from "node:path";
import { controllerTopicId } from "../config/controller-topic-id.js";
import type { Configuration } from "../config/schema.js";
import { DiscoveryOutput } from "../homeassistant/discovery-output.js";
import type { DiscoveryPorts } from "../homeassistant/discovery-ports.js";
import { type BrokerConnection, PublishError } from "../mqtt/connection.js";
import { EventOutbox } from "../mqtt/event-outbox.js";
import { Leftovers } from "../mqtt/leftovers.js";
import { StateOutput, type StateGate } from "../mqtt/state-output.js";
import type { Topics } from "../mqtt/topics.js";
import { nodeFiles } from "../platform/files.js";
import type { Logger } from "../runtime/logger.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { Mirror } from "./mirror.js";

/** What an earlier run showed and this one does not waits this long, counted from the first good list. */
const patienceMs = 24 * 3_600_000;
/** In the data directory. */
const withdrawnFile = "homeassistant-withdrawn.json";

export function createEvents(connection: BrokerConnection, topics: Topics, log: Logger): EventOutbox {
  return new EventOutbox({
    publish: (document) => connection.publish(topics.bridge.event, document, { qos: 1 }),
    failed: (error) => {
      log.debug({ reason: String(error) }, "an event was not published");
    },
  });
}

export const createStates = (
  { configuration, log }: BridgeSurroundings,
  mirror: Mirror,
  topics: Topics,
  connection: BrokerConnection,
  gate: StateGate | undefined,
): StateOutput =>
  new StateOutput({
    ...{ topics, publisher: connection, view: mirror.store, gate, log },
    qos: configuration.mqtt.state_qos,
  });

/** Null where nothing is announced. */
export function createDiscovery(
  { configuration, clock, random, log, version }: BridgeSurroundings,
  mirror: Mirror,
  topics: Topics,
  connection: BrokerConnection,
  states: Pick<DiscoveryPorts, "republishStates" | "publishStates">,
): DiscoveryOutput | null {
  const { homeassistant, mqtt, data_dir: dataDir } = configuration;
  if (!homeassistant.enabled) return null;
  return new DiscoveryOutput(
    {
      publish: (topic, payload, options) => connection.publish(topic, payload, { ...options, qos: 1 }),
      isRefusal: (error) =>
        error instanceof PublishError && (error.kind === "refused" || error.kind === "invalid"),
      ...states,
      memory: {
        read: () => nodeFiles.read(join(dataDir, withdrawnFile)),
        write: (text) => nodeFiles.writePrivate(join(dataDir, withdrawnFile), text),
      },
      removalAllowed: (code) => code === null || mirror.inventory.mayForget(code, clock.monotonic()),
      view: {
        controllers: () => mirror.store.controllers(),
        get: (code) => mirror.store.get(code),
        platformHadTime: () => platformHadTime(mirror, clock),
      },
      clock,
      random,
      log,
    },
    {
      topics,
      prefix: homeassistant.discovery_prefix,
      language: homeassistant.language,
      sensorNames: homeassistant.sensor_names,
      hasBudget: configuration.platform.requests_per_minute > 0,
      version,
      clientId: mqtt.client_id,
    },
  );
}

export function createLeftovers(
  { configuration, clock, log }: BridgeSurroundings,
  mirror: Mirror,
  topics: Topics,
  connection: BrokerConnection,
  mayClear: () => boolean,
): Leftovers {
  const ignored = ignoredIds(configuration);
  return new Leftovers({
    base: topics.base,
    view: mirror.store,
    publish: (topic, payload) =>
      connection.publish(topic, payload, { retain: true, qos: configuration.mqtt.state_qos }),
    isUnwanted: (id) => ignored.has(id),
    isAccountKnown: () => mirror.inventory.isKnown,
    platformHadTime: () => platformHadTime(mirror, clock),
    mayClear,
    failed: (topic, error) => {
      log.debug({ topic, reason: String(error) }, "could not mark or clear a topic of an earlier run");
    },
  });
}

const platformHadTime = ({ inventory }: Mirror, clock: BridgeSurroundings["clock"]): boolean =>
  inventory.knownForMs(clock.monotonic()) >= patienceMs;

/** Topic ids of ignored controllers, but for those that a controller in their place was given. */
function ignoredIds({ controllers }: Configuration): ReadonlySet<string> {
  const ids = (ignored: boolean) =>
    Object.entries(controllers).flatMap(([code, { ignore, id }]) =>
      ignore === ignored ? [id ?? controllerTopicId(code)] : [],
    );
  const inUse = new Set(ids(false));
  return new Set(ids(true).filter((id) => !inUse.has(id)));
}
