import type { Configuration } from "../config/schema.js";
import type { ConnectionListeners, ConnectionSettings } from "../mqtt/connection.js";
import type { Topics } from "../mqtt/topics.js";

/** Where the embedded broker can be reached and as whom; null when an own broker is configured. */
export interface EmbeddedBroker {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

export function discoveryFilter(configuration: Configuration): string {
  return `${configuration.homeassistant.discovery_prefix}/device/+/config`;
}

export function connectionSettings(
  configuration: Configuration,
  topics: Topics,
  embedded: EmbeddedBroker | null,
  on: ConnectionListeners,
): ConnectionSettings {
  const { mqtt, homeassistant } = configuration;
  const { ca, cert, key, reject_unauthorized: rejectUnauthorized } = mqtt.tls;
  return {
    url: embedded?.url ?? mqtt.url ?? "",
    username: embedded?.username ?? mqtt.username,
    password: embedded?.password ?? mqtt.password,
    clientId: mqtt.client_id,
    protocolVersion: mqtt.protocol_version,
    tls: { ca, cert, key, rejectUnauthorized },
    will: { topic: topics.bridge.state, payload: "offline" },
    subscriptions: [...topics.subscriptions, ...(homeassistant.enabled ? [homeassistant.status_topic] : [])],
    guard: { topic: topics.bridge.state, expected: "online" },
    on,
  };
}
