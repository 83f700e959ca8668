import { msg } from "../language/text.js";
import {
  type Parsed,
  host,
  list,
  login,
  optional,
  port,
  section,
  text,
  topicFilter,
  whole,
  withDefault,
} from "../settings/values.js";
import { type Draft, sectionOf } from "../settings/draft.js";
import { type Finding, when } from "../settings/problem.js";
import { hasUsers, isOpen } from "../settings/users.js";

const user = () =>
  section({
    ...login("ha"),
    publish: optional(
      list(topicFilter()),
      "Topics the user may publish; default: commands, requests and what Home Assistant sends.",
      '# ["greenhouse/+/actuator/+/set"]',
    ),
    subscribe: optional(list(topicFilter()), "Topics the user may read.", {
      example: '["#"]',
      default: ["#"],
    }),
  });

const tls = () =>
  section({
    cert: optional(text(), "File with the broker's certificate; read again at a reload.", "# broker.pem"),
    key: optional(text(), "File with its key; read again at a reload.", "# broker.key"),
    port: withDefault(port(), 8883, "Port of MQTT over TLS; opened when cert and key are given."),
  });

const limits = () =>
  section({
    clients: withDefault(whole(1, 10_000), 100, "Connections at the same time."),
    packet_size: withDefault(
      whole(1024, 268_435_455),
      262_144,
      "Largest packet in bytes, the bridge's own included: what announces a large controller to Home Assistant has some 50,000.",
    ),
    retained_topics: withDefault(
      whole(1, 1_000_000),
      1000,
      "Retained topics of all clients together; the bridge's own do not count.",
    ),
    filters: withDefault(
      whole(1, 100_000),
      5000,
      "Topic filters that one client may subscribe to; all together a few times as many.",
    ),
    filters_per_packet: withDefault(
      whole(1, 65_535),
      1000,
      "Topic filters in one packet; a client that sends more is disconnected.",
    ),
    filter_length: withDefault(whole(16, 65_535), 512, "Length of a topic filter in bytes."),
    login_attempts: withDefault(
      whole(1, 1000),
      10,
      "Wrong logins a minute for a name from one address before its further logins wait for their turn.",
    ),
  });

export const brokerSection = section({
  host: withDefault(host(), "127.0.0.1", "Address to listen at; any but this computer's own needs users."),
  port: withDefault(port(), 1883, "Port of MQTT."),
  websocket_port: optional(port(), "MQTT over WebSocket.", "# 9001"),
  users: withDefault(list(user()), [], "Who may connect; without users everybody on this computer."),
  tls: withDefault(tls(), {}, "A second listener with TLS."),
  limits: withDefault(limits(), {}, "What clients can take."),
});

export type BrokerSection = Parsed<typeof brokerSection>;

/** Demands users for a broker that other machines can reach, as any of them could move actuators. */
export function usersBeyondLoopback(root: Draft): Finding[] {
  const broker = sectionOf(root, "broker");
  return when(
    isOpen(broker) && !hasUsers(broker),
    ["broker", "host"],
    msg`other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1`,
  );
}
