import { msg } from "../../language/text.js";
import { z } from "zod";
import { logLevels } from "../../runtime/log-levels.js";
import {
  brokerUrl,
  choice,
  duration,
  expectingOneOf,
  flag,
  list,
  optional,
  type Parsed,
  required,
  section,
  spoken,
  text,
  topic,
  withDefault,
  writtenText,
} from "../values.js";
import { alarmsSection } from "./alarms.js";
import { controllersSection, kindsSection, runningStatusSection } from "./controllers.js";
import { weatherSection } from "./limits-section.js";
import { platformSection } from "./platform.js";

/* The configuration that every bridge has, whatever its features. */

const commandsSection = section({
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

const mqttSection = section({
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
    writtenText(msg`a client id of letters, digits, ".", "_", ":" and "-"`, /^[A-Za-z0-9._:-]{1,100}$/),
    "greenhouse2mqtt",
    "Give each bridge at one broker its own, and keep it.",
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

const interval = () => duration(1000);

const pollingSection = section({
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

/** The keys that belong to no feature. */
export const coreKeys = {
  platform: required(platformSection, "The vendor's service."),
  language: optional(
    spoken(),
    "Of command line, Home Assistant and notices. Without it: English, the command line as LANG says.",
    "# zh",
  ),
  mqtt: withDefault(mqttSection, {}, "The broker to use."),
  polling: withDefault(pollingSection, {}, "How often the platform is read."),
  commands: withDefault(commandsSection, {}, "What may be commanded, and when."),
  data_dir: withDefault(
    text(),
    "./data",
    "Journal, token, ids and caches; relative paths start at the configuration's folder.",
  ),
  log: withDefault(logSection, {}, "Log, on stderr."),
  updates: withDefault(flag(), false, "Ask npm once a day for a newer version; the settings show it."),
  weather: withDefault(weatherSection, {}, "Measured values from the broker, for guards.", {
    entry: "wind",
    off: true,
  }),
  alarms: withDefault(
    alarmsSection,
    {},
    "Limits of readings, by kind, for all controllers; a sensor's own go first.",
    { entry: "temperature", each: "<kind>", off: true },
  ),
  mirror: withDefault(
    choice(["all", "listed"]),
    "all",
    "all: every controller of the account; listed: only those below.",
  ),
  kinds: withDefault(kindsSection, {}, "Settings of all actuators of a kind; an actuator's own go first.", {
    entry: "skylight",
    each: "<kind>",
    off: true,
  }),
  running_status: withDefault(runningStatusSection, {}, "What the values of running statuses mean.", {
    off: true,
  }),
  controllers: withDefault(controllersSection, {}, "Settings of single controllers, by device code.", {
    entry: "GH-0001",
    each: "<code>",
    more: "GH-0002: { ignore: true }",
  }),
};

/** The parsed configuration: durations in ms, every default filled in. */
export type CoreConfiguration = Parsed<z.ZodObject<typeof coreKeys>>;
