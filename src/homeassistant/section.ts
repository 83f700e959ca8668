import { msg, type Text } from "../language/text.js";
import { kindRows } from "../greenhouse/actuator-kinds.js";
import { mirroredActuators } from "../settings/controllers.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { type Parsed, choice, flag, section, spoken, topic, withDefault } from "../settings/values.js";

const homeAssistantSection = section({
  enabled: withDefault(flag(), true, "Announce everything to Home Assistant."),
  discovery_prefix: withDefault(topic(), "homeassistant", "As set in Home Assistant's MQTT integration."),
  status_topic: withDefault(
    topic(),
    "homeassistant/status",
    "Where Home Assistant says that it has started.",
  ),
  language: withDefault(spoken(), "en", "Of the bridge's own entities and options."),
  sensor_names: withDefault(
    choice(["translated", "platform"]),
    "translated",
    "Names of sensors and running statuses: translated where the catalogue knows them, or the platform's.",
  ),
});

type Configured = Pick<CoreConfiguration, "controllers"> & {
  readonly homeassistant: Parsed<typeof homeAssistantSection>;
};

export const keys = {
  homeassistant: withDefault(homeAssistantSection, {}, "Announcements to Home Assistant."),
};

/**
 * A sentence about curtains whose configuration does not say whether `open` draws them aside: the interface does not
 * say so either, and Home Assistant assumes it.
 */
export const curtainSentences = ({ controllers, homeassistant }: Configured): readonly Text[] =>
  Object.entries(controllers).flatMap(([code, section]) =>
    (homeassistant.enabled ? mirroredActuators(section) : []).flatMap(([id, { kind, ...actuator }]) => {
      const { as, inverted } = actuator.homeassistant;
      if (kindRows[kind].family !== "curtains" || inverted !== undefined || as === "none") return [];
      return [
        msg`controllers.${code}.actuators.${id}: whether "open" draws this curtain aside or spreads it out is not known; watch one movement, then write homeassistant: { inverted: true } where it spreads out, else false`,
      ];
    }),
  );
