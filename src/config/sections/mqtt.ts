import { z } from "zod";
import { expectingOneOf } from "../expectation.js";
import { optional, withDefault } from "../fields.js";
import { topic } from "../mqtt-names.js";
import { brokerUrl } from "../urls.js";
import { flag, section, text, writtenText } from "../values.js";

const tls = () =>
  section({
    ca: optional(text(), "File with the certificate of the authority that signed the broker's.", {
      example: "ca.pem",
      off: true,
    }),
    cert: optional(text(), "File with a client certificate.", { example: "client.pem", off: true }),
    key: optional(text(), "File with its key.", { example: "client.key", off: true }),
    reject_unauthorized: withDefault(flag(), true, "Refuse a broker whose certificate cannot be verified."),
  });

export const mqttSection = section({
  url: optional(brokerUrl(), "mqtt, mqtts, ws or wss. Without it the embedded broker is started and used.", {
    example: "mqtt://localhost:1883",
  }),
  username: optional(writtenText(), "User at the broker; with the embedded one the login of `set`.", {
    example: "bridge",
  }),
  password: optional(writtenText(), "Its password.", { example: "!secret mqtt_password", secret: true }),
  client_id: withDefault(
    writtenText('a client id of letters, digits, ".", "_", ":" and "-"', /^[A-Za-z0-9._:-]{1,100}$/),
    "greenhouse2mqtt",
    "Fixed, and of its own for each bridge at one broker.",
  ),
  base_topic: withDefault(topic(), "greenhouse", "First level(s) of every topic of the bridge."),
  state_qos: withDefault(
    z.literal([0, 1], { error: expectingOneOf([0, 1]) }),
    0,
    "QoS of retained states. Of QoS 1 a default Mosquitto keeps 1,000 back for a subscriber and drops the rest; 1 is for a historian with a persistent session, where its limits allow it.",
  ),
  protocol_version: withDefault(
    z.literal([4, 5], { error: expectingOneOf([4, 5]) }),
    5,
    "Falls back to 4 (MQTT 3.1.1) only where the broker says that it does not speak 5, which is tried again at each connect.",
  ),
  tls: withDefault(tls(), {}, "For mqtts and wss."),
});
