import type { EmbeddedBroker } from "../broker/broker.js";
import type { Configuration } from "../config/schema.js";
import { discoveryFilter } from "../homeassistant/ownership.js";
import type { ConnectionListeners, ConnectionSettings } from "../mqtt/connection.js";
import type { Topics } from "../mqtt/topics.js";

export function connectionSettings(
  configuration: Configuration,
  topics: Topics,
  embedded: Pick<EmbeddedBroker, "url" | "credential"> | null,
  on: ConnectionListeners,
): ConnectionSettings {
  const { mqtt, homeassistant } = configuration;
  const { ca, cert, key, reject_unauthorized: rejectUnauthorized } = mqtt.tls;
  return {
    url: embedded?.url ?? mqtt.url ?? "",
    username: embedded?.credential.username ?? mqtt.username,
    password: embedded?.credential.password ?? mqtt.password,
    clientId: mqtt.client_id,
    protocolVersion: mqtt.protocol_version,
    tls: { ca, cert, key, rejectUnauthorized },
    will: { topic: topics.bridge.state, payload: "offline" },
    markTopic: topics.bridge.mark,
    subscriptions: [...topics.subscriptions, topics.bridge.selfTest],
    // No command depends on these being granted. Of a birth that Home Assistant publishes with the retain flag only the copy kept by the
    // broker carries it here, so the two can be told apart.
    withRetained: [
      ...topics.othersSelfTest,
      ...(homeassistant.enabled
        ? [homeassistant.status_topic, discoveryFilter(homeassistant.discovery_prefix)]
        : []),
    ],
    // A command is refused with its size instead of vanishing: every one has an outcome.
    anySize: (topic) => topics.parse(topic)?.type === "command",
    guard: { topic: topics.bridge.state, expected: "online" },
    on,
  };
}
