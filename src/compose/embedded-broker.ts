import type { BrokerSettings, EmbeddedBroker, RefusedLogin } from "../broker/broker.js";
import type { Configuration } from "../config/schema.js";
import type { Journal } from "../journal/journal.js";
import type { BridgeSurroundings } from "./bridge-parts.js";

/** Starts the embedded broker where no other is configured; null where one is. Its code is loaded only then. */
export async function startEmbeddedBroker(
  { configuration, clock, log, live }: BridgeSurroundings,
  journal?: Pick<Journal, "append">,
): Promise<EmbeddedBroker | null> {
  if (configuration.mqtt.url !== undefined) return null;
  const { startBroker } = await import("../broker/broker.js");
  // People type passwords into the wrong field, so the name is left out.
  const onRefusedLogin = (refused: RefusedLogin) => {
    const record = { type: "login_failed", listener: "broker", user: null, ...refused } as const;
    journal?.append(record, { durable: false }).catch(() => undefined);
  };
  const broker = await startBroker(brokerSettings(configuration), { clock, log, onRefusedLogin });
  live?.onReload(() => void broker.renewCertificate());
  return broker;
}

function brokerSettings({ broker, mqtt, homeassistant }: Configuration): BrokerSettings {
  const { cert, key, port: tlsPort } = broker.tls;
  return {
    host: broker.host,
    port: broker.port,
    websocketPort: broker.websocket_port,
    tls: cert !== undefined && key !== undefined ? { cert, key, port: tlsPort } : undefined,
    users: broker.users,
    limits: {
      clients: broker.limits.clients,
      packetBytes: broker.limits.packet_size,
      retainedTopics: broker.limits.retained_topics,
      filters: broker.limits.filters,
      // Four clients that take all they may, of filters as long as the bridge's topics are.
      filterLevels: broker.limits.filters * 32,
      filtersPerPacket: broker.limits.filters_per_packet,
      filterBytes: broker.limits.filter_length,
      loginAttempts: broker.limits.login_attempts,
    },
    topics: {
      base: mqtt.base_topic,
      status: homeassistant.status_topic,
      discoveryPrefix: homeassistant.discovery_prefix,
    },
  };
}
