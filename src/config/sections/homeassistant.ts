import { withDefault } from "../fields.js";
import { topic } from "../mqtt-names.js";
import { choice, flag, section } from "../values.js";

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
