import { outcomes } from "../greenhouse/command/outcomes.js";
import { takesCommands } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import { actuatorEntries } from "./actuator-components.js";
import { withBridge, withController } from "./availability.js";
import { entry, type Entry, type Fields } from "./components.js";
import { type DeviceDocument, type DocumentSettings, originOf, type Platform } from "./document.js";
import { bridgeIdentifier, controllerOwner, deviceIdentifier, displayName, type Owner } from "./identity.js";
import { labelOf } from "./labels.js";

import { parameterEntries } from "./parameter-components.js";
import { sensorEntries, statusEntries } from "./sensor-components.js";
import { templates } from "./templates.js";

/**
 * The discovery message of one controller, what can be moved before what can be read. It depends on definitions and settings alone, with one exception: which of
 * a running status's two entities is enabled at first follows its state.
 */
export function controllerDocument(controller: Controller, settings: DocumentSettings): DeviceDocument {
  const owner = controllerOwner(controller.info.code);
  const entries = [
    ...ownEntries(controller, owner, settings),
    ...(takesCommands(controller.info.type) ? actuatorEntries(controller, owner, settings) : []),
    ...parameterEntries(controller, owner, settings),
    ...sensorEntries(controller, owner, settings),
    ...statusEntries(controller, owner, settings),
  ];
  return {
    device: device(controller, settings),
    origin: originOf(settings),
    ...withController(settings.topics, controller.info.id),
    components: Object.fromEntries(entries),
  };
}

/** Home Assistant refuses the whole message for one empty or non-text value here. */
function device({ info }: Controller, settings: DocumentSettings): DeviceDocument["device"] {
  const text = (value: string | null | undefined) => displayName(value ?? "", "") || undefined;
  const { record } = info;
  return {
    identifiers: [deviceIdentifier(info.code)],
    name: displayName(info.name, displayName(info.code, info.id)),
    manufacturer: text(record?.brand) ?? "Greenhouse platform",
    model: text(record?.typeName) ?? text(info.type),
    model_id: text(info.type),
    serial_number: text(info.code),
    suggested_area: text(info.area) ?? text(record?.stationName),
    via_device: bridgeIdentifier(settings.clientId),
  };
}

/** What needs the bridge alone, so that it stays readable while the controller or the platform is gone. */
function ownEntries({ info }: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  const { topics, language } = settings;
  const topic = topics.controller(info.id);
  const own = (
    platform: Platform,
    key: "connectivity" | "problem" | "result",
    slug: string,
    fields: Fields,
  ) =>
    entry(owner, { platform, key, slug, name: labelOf(language, key) }, { ...fields, ...withBridge(topics) });
  return [
    own("binary_sensor", "connectivity", "connectivity", {
      state_topic: topic.availability,
      value_template: templates.connectivity,
      payload_on: "online",
      payload_off: "offline",
      device_class: "connectivity",
      entity_category: "diagnostic",
    }),
    ...(takesCommands(info.type) ? commandEntries(own, topic) : []),
  ];
}

type Own = (platform: Platform, key: "problem" | "result", slug: string, fields: Fields) => Entry;

/** How commands ended. */
function commandEntries(own: Own, topic: { readonly problem: string; readonly result: string }): Entry[] {
  return [
    own("binary_sensor", "problem", "command_problem", {
      state_topic: topic.problem,
      payload_on: "on",
      payload_off: "off",
      device_class: "problem",
      entity_category: "diagnostic",
    }),
    own("event", "result", "command_result", {
      state_topic: topic.result,
      value_template: templates.result,
      event_types: [...outcomes],
    }),
  ];
}
