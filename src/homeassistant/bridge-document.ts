import type { PlatformState } from "../greenhouse/model.js";
import { withBridge } from "./availability.js";
import { commandFields, entry, type Entry, type Fields } from "./components.js";
import {
  type DeviceDocument,
  type DocumentSettings,
  originName,
  originOf,
  type Platform,
} from "./document.js";
import { bridgeIdentifier, bridgeOwner } from "./identity.js";
import { type Label, labelOf, optionLabels } from "./labels.js";
import { alertTypes } from "./alert-types.js";
import { field, labelOfWord, templates } from "./templates.js";

const platformStates = Object.keys({
  online: true,
  degraded: true,
  unauthorized: true,
  unreachable: true,
} satisfies Record<PlatformState, true>);

/** The discovery message of the bridge itself, which every controller points to. */
export function bridgeDocument(settings: DocumentSettings): DeviceDocument {
  const { topics, version, clientId } = settings;
  return {
    device: {
      identifiers: [bridgeIdentifier(clientId)],
      name: clientId === originName ? originName : `${originName} ${clientId}`,
      manufacturer: originName,
      model: "Bridge",
      sw_version: version,
    },
    origin: originOf(settings),
    components: Object.fromEntries([
      // Without availability: a dead bridge shows as disconnected, not as unavailable.
      own(settings, "binary_sensor", "bridge_connectivity", "connectivity", {
        state_topic: topics.bridge.state,
        payload_on: "online",
        payload_off: "offline",
        device_class: "connectivity",
        entity_category: "diagnostic",
      }),
      platformState(settings),
      ...healthEntries(settings),
      own(settings, "button", "refresh", "refresh", {
        ...commandFields(topics.bridge.request("refresh")),
        payload_press: "{}",
        icon: "mdi:refresh",
        ...withBridge(topics),
      }),
      own(settings, "event", "alert", "alert", {
        state_topic: topics.bridge.event,
        value_template: templates.alert,
        event_types: [...alertTypes],
        ...withBridge(topics),
      }),
    ]),
  };
}

function own(
  settings: DocumentSettings,
  platform: Platform,
  label: Label,
  key: string,
  fields: Fields,
): Entry {
  const { language, clientId } = settings;
  const name = labelOf(language, label);
  return entry(bridgeOwner(clientId), { platform, key: key.replaceAll("_", "-"), slug: key, name }, fields);
}

function platformState(settings: DocumentSettings): Entry {
  const { topics, language } = settings;
  const labels = optionLabels(language, platformStates);
  return own(settings, "sensor", "platform", "platform", {
    state_topic: topics.bridge.platform,
    // Without options: where their labels change, Home Assistant takes the state it holds for an error.
    value_template: labelOfWord("value", labels, "None"),
    entity_category: "diagnostic",
    ...withBridge(topics),
  });
}

function healthEntries(settings: DocumentSettings): Entry[] {
  const { topics } = settings;
  const health = (label: Label, name: string, fields: Fields) =>
    own(settings, "sensor", label, label, {
      state_topic: topics.bridge.health,
      value_template: field(name),
      ...fields,
      entity_category: "diagnostic",
      ...withBridge(topics),
    });
  // They change with every poll, which would fill the activity list.
  const instant: Fields = { device_class: "timestamp", enabled_by_default: false };
  return [
    health("last_contact_business", "last_contact_business", instant),
    health("last_contact_realtime", "last_contact_realtime", instant),
    health("oldest_reading", "oldest_reading_at", instant),
    ...(settings.hasBudget
      ? [
          health("requests_left", "requests_left", {
            state_class: "measurement",
            suggested_display_precision: 0,
            icon: "mdi:counter",
          }),
        ]
      : []),
    own(settings, "sensor", "version", "version", {
      state_topic: topics.bridge.info,
      value_template: field("version"),
      entity_category: "diagnostic",
      icon: "mdi:tag",
      ...withBridge(topics),
    }),
  ];
}
