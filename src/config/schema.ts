import type { z } from "zod";
import { required, withDefault } from "./fields.js";
import { brokerSection } from "./sections/broker.js";
import { commandsSection } from "./sections/commands.js";
import { controllersSection } from "./sections/controllers.js";
import { homeAssistantSection } from "./sections/homeassistant.js";
import { httpSection } from "./sections/http.js";
import { logSection } from "./sections/log.js";
import { mqttSection } from "./sections/mqtt.js";
import { platformSection } from "./sections/platform.js";
import { pollingSection } from "./sections/polling.js";
import { choice, section, text } from "./values.js";

/**
 * The whole configuration file. Parsing gives durations in ms and every default filled in; rules between keys are
 * checked by `loadConfiguration`, not here.
 */
export const configurationSchema = section({
  platform: required(platformSection, "The vendor's service."),
  mqtt: withDefault(mqttSection, {}, "The broker to use."),
  broker: withDefault(
    brokerSection,
    {},
    "The embedded broker, used when mqtt.url is absent; keeps nothing over a restart.",
    {
      off: true,
    },
  ),
  homeassistant: withDefault(homeAssistantSection, {}, "Announcements to Home Assistant."),
  polling: withDefault(pollingSection, {}, "How often the platform is read."),
  commands: withDefault(commandsSection, {}, "What may be commanded, and when."),
  http: withDefault(httpSection, {}, "Health and metrics; `http: false` turns it off."),
  data_dir: withDefault(
    text(),
    "./data",
    "Journal, token, ids and caches; relative paths start at the configuration's folder.",
  ),
  log: withDefault(logSection, {}, "Log, on stderr."),
  mirror: withDefault(
    choice(["all", "listed"]),
    "all",
    "all: every controller of the account; listed: only those below.",
  ),
  controllers: withDefault(
    controllersSection,
    {},
    "What is known about single controllers, by device code.",
    {
      entry: "GH-0001",
      each: "<code>",
      more: "GH-0002: { ignore: true }",
    },
  ),
});

type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The parsed file: keys as in the YAML, durations in ms. */
export type Configuration = DeepReadonly<z.output<typeof configurationSchema>>;
/** The file as a user writes it, after YAML. */
export type ConfigurationInput = z.input<typeof configurationSchema>;
export type PlatformSettings = Configuration["platform"];
export type MqttSettings = Configuration["mqtt"];
export type BrokerSettings = Configuration["broker"];
export type HomeAssistantSettings = Configuration["homeassistant"];
export type PollingSettings = Configuration["polling"];
export type CommandSettings = Configuration["commands"];
/** False where it is turned off. */
export type HttpSettings = Configuration["http"];
export type ControllerConfiguration = Configuration["controllers"][string];
export type ActuatorConfiguration = ControllerConfiguration["actuators"][string];
export type SensorConfiguration = ControllerConfiguration["sensors"][string];
export type ParameterConfiguration = ControllerConfiguration["parameters"][string];
