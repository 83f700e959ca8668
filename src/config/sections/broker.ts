import { optional, required, withDefault } from "../fields.js";
import { topicFilter } from "../mqtt-names.js";
import { list, section, text, whole, writtenText } from "../values.js";

const port = () => whole(0, 65_535);

const user = () =>
  section({
    username: required(writtenText(), "Name to log in with.", { example: "ha" }),
    password: required(writtenText(), "A hash made by `greenhouse2mqtt passwd`, or plain (warned).", {
      example: "!secret ha",
      secret: true,
    }),
    publish: optional(
      list(topicFilter()),
      "Topics the user may publish; default: commands, requests and what Home Assistant sends.",
      { example: '["greenhouse/+/actuator/+/set"]', off: true },
    ),
    subscribe: optional(list(topicFilter()), "Topics the user may read.", {
      example: '["#"]',
      default: ["#"],
    }),
  });

const tls = () =>
  section({
    cert: optional(text(), "File with the broker's certificate; read again at a reload.", {
      example: "broker.pem",
      off: true,
    }),
    key: optional(text(), "File with its key; read again at a reload.", { example: "broker.key", off: true }),
    port: withDefault(port(), 8883, "Port of MQTT over TLS; opened when cert and key are given."),
  });

const limits = () =>
  section({
    clients: withDefault(whole(1, 10_000), 100, "Connections at the same time."),
    packet_size: withDefault(whole(1024, 268_435_455), 262_144, "Largest packet in bytes."),
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
  host: withDefault(
    text("a host name or address", /^[A-Za-z0-9._:[\]%-]{1,253}$/),
    "127.0.0.1",
    "Address to listen at; any but this computer's own needs users.",
  ),
  port: withDefault(port(), 1883, "Port of MQTT."),
  websocket_port: optional(port(), "MQTT over WebSocket.", { example: "9001", off: true }),
  users: withDefault(list(user()), [], "Who may connect; without users everybody on this computer."),
  tls: withDefault(tls(), {}, "A second listener with TLS."),
  limits: withDefault(limits(), {}, "What clients can take."),
});
