import { z } from "zod";
import { sensorKinds } from "../../greenhouse/sensors.js";
import { logLevels } from "../../runtime/log-levels.js";
import {
  brokerUrl,
  choice,
  duration,
  expecting,
  expectingOneOf,
  flag,
  list,
  optional,
  required,
  section,
  text,
  topic,
  topicFilter,
  topicId,
  whole,
  withDefault,
  writtenText,
} from "../../settings/values.js";

const port = () => whole(0, 65_535);

const host = () => text("a host name or address", /^[A-Za-z0-9._:[\]%-]{1,253}$/);

/** Of a user of the broker or the page. */
const login = (example: string) => ({
  username: required(writtenText(), "Name to log in with.", { example }),
  password: required(writtenText(), "A hash made by `greenhouse2mqtt passwd`, or plain (warned).", {
    example: `!secret ${example}`,
    secret: true,
  }),
});

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

export const commandsSection = section({
  read_only: withDefault(flag(), false, "Refuse every command."),
  dry_run: withDefault(flag(), false, "Check everything and send nothing."),
  max_age: withDefault(
    duration(1000),
    "60s",
    "From a command's arrival (or its `at`) to its first sending; a payload can only shorten it.",
  ),
  require_age: withDefault(flag(), false, "Refuse commands that carry neither `at` nor an MQTT 5 expiry."),
  require_by: withDefault(
    flag(),
    false,
    "Refuse commands that do not say who asks: `by`, or the embedded broker's user. A `stop` passes.",
  ),
  min_interval: withDefault(
    duration(),
    "2s",
    "Least time between two commands to one actuator; a newer one waits.",
  ),
  controller_interval: withDefault(
    duration(),
    "0s",
    "Least time between two values sent to one controller, for platforms that take one at a time.",
  ),
  raw_addresses: withDefault(flag(), false, "Allow .../address/<address>/set."),
  response_topics: withDefault(
    list(topic()),
    [],
    "Besides `<base>/response`: topics below which MQTT 5 answers may go.",
  ),
});

export const homeAssistantSection = section({
  enabled: withDefault(flag(), true, "Announce everything to Home Assistant."),
  discovery_prefix: withDefault(topic(), "homeassistant", "As set in Home Assistant's MQTT integration."),
  status_topic: withDefault(
    topic(),
    "homeassistant/status",
    "Where Home Assistant says that it has started.",
  ),
  language: withDefault(choice(["en", "zh"]), "en", "Of the bridge's own entities and options."),
  sensor_names: withDefault(
    choice(["translated", "platform"]),
    "translated",
    "Names of sensors and running statuses: translated where the catalogue knows them, or the platform's.",
  ),
});

/** Each may what those before it may. */
const pageRoles = ["viewer", "operator", "admin"] as const;

const pageUserKeys = {
  ...login("anna"),
  role: withDefault(
    choice(pageRoles),
    "viewer",
    "viewer reads everything; operator also commands, asks for things and sets the log level; admin also changes settings.",
  ),
};

const pageUser = () => section(pageUserKeys);

const ingress = () =>
  section({
    enabled: withDefault(flag(), false, "Serve the page through Home Assistant's ingress."),
    role: withDefault(choice(pageRoles), "viewer", "What everybody who comes through it may."),
    address: withDefault(
      text("an IP address", /^[0-9A-Fa-f.:]{2,45}$/),
      "172.30.32.2",
      "The Supervisor's; only connections from there count as ingress.",
    ),
  });

const listenerKeys = {
  host: withDefault(host(), "127.0.0.1", "Address to listen at."),
  port: withDefault(port(), 8099, "A busy port is a warning, not a reason to stop."),
  token: optional(
    writtenText("a token without blanks", /^[!-~]{1,1000}$/),
    "Lets programs read, as `Authorization: Bearer`; `/metrics` asks for it.",
    { example: "!secret http_token", off: true, secret: true },
  ),
  allowed_hosts: withDefault(
    list(text("a host name", /^[A-Za-z0-9._:[\]-]{1,253}$/)),
    [],
    "Further names a browser may use for this address.",
  ),
  settings: withDefault(flag(), true, "Let admins see and change this configuration on the page."),
};

const namedInNetwork = withDefault(
  flag(),
  true,
  "Where other computers reach the page: announce it in the network as greenhouse2mqtt.local.",
);

const overviewKinds = withDefault(
  list(choice(sensorKinds, "sensor kind")),
  ["temperature", "humidity", "co2", "illuminance", "soil_moisture"],
  "Kinds of sensors whose first reading stands on the overview of the page, in this order.",
);

const listener = section({
  ...listenerKeys,
  page: optional(
    flag(),
    "The page and its API. Default: true where `host` is this computer alone, with users, or with ingress.",
    "# true",
  ),
  users: withDefault(
    list(pageUser()),
    [],
    "Who may log in at the page; without users everybody on this computer reads, and nobody commands.",
    { off: true },
  ),
  ingress: withDefault(ingress(), {}, "Home Assistant's ingress, for the add-on.", { off: true }),
  mdns: namedInNetwork,
  past_readings: withDefault(
    flag(),
    true,
    "Fill the trends of the last 24 h at a start from the platform's weather-data/list, where the account gives it.",
  ),
  overview: overviewKinds,
});

/** One page of all accounts of a fleet. */
export const fleetListener = section({
  ...listenerKeys,
  users: withDefault(
    list(
      section({
        ...pageUserKeys,
        accounts: optional(list(topicId()), "The accounts that the user sees; all where it is left out."),
      }),
    ),
    [],
    "Who may log in at the page; without users everybody on this computer reads, and nobody commands.",
  ),
  mdns: namedInNetwork,
  overview: overviewKinds,
});

/** `false`, or where to listen. */
export const httpSection = z.union([z.literal(false), listener], {
  error: expecting("false or a section of keys with values"),
});

export const logSection = section({
  level: withDefault(choice(logLevels), "info", "Least severity that is logged."),
  format: withDefault(
    choice(["auto", "text", "json"]),
    "auto",
    "auto: text on a terminal, JSON lines elsewhere.",
  ),
});

const mqttTls = () =>
  section({
    ca: optional(text(), "File with the certificate of the authority that signed the broker's.", "# ca.pem"),
    cert: optional(text(), "File with a client certificate.", "# client.pem"),
    key: optional(text(), "File with its key.", "# client.key"),
    reject_unauthorized: withDefault(flag(), true, "Refuse a broker whose certificate cannot be verified."),
  });

export const mqttSection = section({
  url: optional(
    brokerUrl(),
    "mqtt, mqtts, ws or wss. Without it the embedded broker is started and used.",
    "mqtt://localhost:1883",
  ),
  username: optional(
    writtenText(),
    "User at the broker; with the embedded one the login of `set`.",
    "bridge",
  ),
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
    "QoS of retained states. 1 is for a historian with a persistent session; a default Mosquitto drops all above 1,000.",
  ),
  codes: withDefault(
    flag(),
    false,
    "Also states and qualities as integers, for drivers that read no words (docs/scada.md).",
  ),
  plain_times: withDefault(
    flag(),
    false,
    "Also the time of each reading as a topic, `.../measured_at`, for drivers that read no JSON.",
  ),
  protocol_version: withDefault(
    z.literal([4, 5], { error: expectingOneOf([4, 5]) }),
    5,
    "Falls back to 4 (MQTT 3.1.1) only if the broker says that it does not speak 5.",
  ),
  tls: withDefault(mqttTls(), {}, "For mqtts and wss."),
});

/** One level of a Sparkplug topic. */
const sparkplugName = () =>
  text(
    'a name without "/", "+" and "#", and not STATE',
    /^(?!STATE$)(?!\s)(?!.*\s$)[^/+#\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,64}$/,
  );

export const sparkplugSection = section({
  enabled: withDefault(flag(), false, "Show everything as a Sparkplug B 3.0 edge node too, for SCADA."),
  group: withDefault(sparkplugName(), "greenhouses", "Group id of the edge node."),
  node: withDefault(
    sparkplugName(),
    "greenhouse2mqtt",
    "Edge node id; of its own for each bridge in the group. Its devices are the controllers.",
  ),
  primary_host: optional(
    sparkplugName(),
    "Host id of the host application whose presence births wait for; without one they wait for nobody.",
    "# scada1",
  ),
});

const interval = () => duration(1000);

export const pollingSection = section({
  controllers: withDefault(
    interval(),
    "5m",
    "Controller list with online flags; the platform asks for 5m or more.",
  ),
  sensors: withDefault(interval(), "1m", "Readings of one controller."),
  running_status: withDefault(interval(), "5m", "Running statuses of one controller."),
  actuators: withDefault(interval(), "2m", "Addresses of actuators and parameters."),
  stale_after: withDefault(interval(), "15m", "A reading older than this is stale."),
});
