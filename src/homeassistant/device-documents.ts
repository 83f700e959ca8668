import { outcomes } from "../greenhouse/command/outcomes.js";
import { isWithoutClient, takesCommands } from "../greenhouse/device-types.js";
import { bridgeEventTypes } from "../greenhouse/events.js";
import type { Tell } from "../language/words.js";
import { type Controller, type ControllerInfo, platformStates } from "../greenhouse/model.js";
import type { Topics } from "../mqtt/topics.js";
import { actuatorEntities, groupAndSceneEntities } from "./actuator-components.js";
import {
  attributes,
  available,
  commandFields,
  type DeviceDocument,
  documentOf,
  type DocumentSettings,
  type Entity,
  type Fields,
  originName,
} from "./documents.js";
import {
  bridgeIdentifier,
  bridgeOwner,
  controllerOwner,
  deviceIdentifier,
  displayName,
  type Platform,
} from "./identity.js";
import { field, type Label, labelOf, labelOfWord, optionLabels, templates } from "./labels.js";
import { parameterEntities, sensorEntities, statusEntities } from "./sensor-components.js";

/**
 * The discovery message of one controller, with what can be moved before what can only be read. It depends on
 * definitions and settings alone, with one exception: the state of a running status decides which of its two entities
 * is enabled at first.
 */
export function controllerDocument(controller: Controller, settings: DocumentSettings): DeviceDocument {
  const { info } = controller;
  const entities = [
    ...ownEntities(controller, settings),
    ...actuatorEntities(withCommandable(controller), settings),
    ...[parameterEntities, sensorEntities, statusEntities].flatMap((make) => make(controller, settings)),
  ];
  const needs = available(settings.topics, info.id);
  return documentOf(device(info, settings), controllerOwner(info.code), entities, settings, needs);
}

/** The device's fields. Home Assistant refuses the whole message for one empty or non-text value here. */
function device(info: ControllerInfo, { clientId, pageUrl }: DocumentSettings): Fields {
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
    via_device: bridgeIdentifier(clientId),
    configuration_url: streamPage(info.stream) ?? pageUrl,
  };
}

/** The stream's address, if Home Assistant accepts it: it takes only web addresses, to open in a browser. */
const streamPage = (stream: string | null): string | undefined =>
  stream !== null && /^https?:\/\/[^\s]+$/i.test(stream) ? stream : undefined;

/**
 * An entity of the controller or bridge as a whole, named by its label. `slug` stands in its entity id where the label
 * says too little.
 */
type Row = readonly [platform: Platform, label: Label, fields: Fields, slug?: string];

/** Makes entities of rows; `all` gives the fields that each of them gets. */
const entitiesOf = (tell: Tell, rows: readonly Row[], all: (label: Label) => Fields): Entity[] =>
  rows.map(([platform, label, fields, slug = label]) => ({
    platform,
    key: label.replaceAll("_", "-"),
    slug,
    name: labelOf(tell, label),
    fields: { ...fields, ...all(label) },
  }));

const flag = (state_topic: string, device_class: "connectivity" | "problem", more: Fields = {}): Fields => {
  const [payload_on, payload_off] = device_class === "problem" ? ["on", "off"] : ["online", "offline"];
  return { state_topic, payload_on, payload_off, device_class, ...more };
};

const pressFields = (topics: Topics, request: string, payload: object, icon: string): Fields => ({
  ...commandFields(topics.bridge.request(request)),
  payload_press: JSON.stringify(payload),
  icon,
});

const diagnostic = { entity_category: "diagnostic" };

/**
 * The controller with only the actuators that accept commands; a device type without commands keeps those with
 * `accept_type`.
 */
function withCommandable(controller: Controller): Controller {
  const { info, actuators } = controller;
  if (takesCommands(info.type)) return controller;
  const accepted = [...actuators].filter(([, { settings }]) => settings.acceptType === true);
  return { ...controller, actuators: new Map(accepted) };
}

/** Entities that need only the bridge, so that they stay readable while the controller or the platform is gone. */
function ownEntities(controller: Controller, { topics, tell }: DocumentSettings): Entity[] {
  const { info } = controller;
  const topic = topics.controller(info.id);
  const connectivity = flag(topic.availability, "connectivity", { value_template: templates.connectivity });
  // Its attributes say which actuators have a problem, and why.
  const problem = flag(topic.problem, "problem", attributes(topic.problems));
  const acknowledge = pressFields(topics, "acknowledge", { controller: info.id }, "mdi:check-all");
  const result = { state_topic: topic.result, value_template: templates.result, event_types: outcomes };
  // A camera or station without a client of its own has no connection.
  const hasConnection = info.client !== null || (info.record?.online ?? null) !== null;
  // A station or camera of an unknown type has results only if the configuration gives it actuators.
  const isCommanded = !isWithoutClient(info.type) || withCommandable(controller).actuators.size > 0;
  const lastOnline = { state_topic: topic.info, value_template: field("last_online_at") };
  const connection: readonly Row[] = [
    ["binary_sensor", "connectivity", connectivity],
    // Disabled by default: on some platforms it changes with every list.
    ["sensor", "last_online", { ...lastOnline, device_class: "timestamp", enabled_by_default: false }],
  ];
  const commanded: readonly Row[] = [
    ["binary_sensor", "problem", problem, "command_problem"],
    ["button", "acknowledge", acknowledge, "acknowledge_problem"],
    ["event", "result", { ...result, icon: "mdi:message-check-outline" }, "command_result"],
  ];
  const own = [...(isCommanded || hasConnection ? connection : []), ...(isCommanded ? commanded : [])];
  return [
    ...entitiesOf(tell, own, () => ({ ...diagnostic, ...available(topics) })),
    ...entitiesOf(tell, readingRows(controller, topic.reading_alarms), () => available(topics)),
  ];
}

/** Entities that say whether any reading is beyond a limit, and which; only for a house with limits. */
const readingRows = ({ sensors }: Controller, topic: string): readonly Row[] =>
  [...sensors.values()].some(({ definition }) => definition.bands !== undefined)
    ? [
        [
          "binary_sensor",
          "reading_alarm",
          flag(topic, "problem", { value_template: templates.readingAlarm, ...attributes(topic) }),
        ],
      ]
    : [];

/** The discovery message of the bridge itself, which every controller refers to. */
export function bridgeDocument(settings: DocumentSettings): DeviceDocument {
  const { version, clientId, tell, topics, pageUrl, hasBudget } = settings;
  const device = {
    identifiers: [bridgeIdentifier(clientId)],
    name: clientId === originName ? originName : `${originName} ${clientId}`,
    manufacturer: originName,
    model: "Bridge",
    sw_version: version,
    configuration_url: pageUrl,
  };
  const rows = bridgeRows(settings).filter(([, label]) => label !== "requests_left" || hasBudget);
  // A dead bridge is shown as disconnected, not as unavailable.
  const own = entitiesOf(tell, rows, (label) => (label === "connectivity" ? {} : available(topics)));
  const entities = [...own, ...groupAndSceneEntities(settings)];
  return documentOf(device, bridgeOwner(clientId), entities, settings);
}

/** Entities of the bridge: its health, its events, all alarms, and its buttons. */
function bridgeRows({ topics, tell }: DocumentSettings): readonly Row[] {
  const { bridge } = topics;
  const health = (name: string, fields: Fields): Fields => ({
    state_topic: bridge.health,
    value_template: field(name),
    ...fields,
    ...diagnostic,
  });
  // Disabled by default: they change with every poll, which would fill the activity list.
  const instant = { device_class: "timestamp", enabled_by_default: false };
  const left = { state_class: "measurement", suggested_display_precision: 0, icon: "mdi:counter" };
  // A sensor without options: with them Home Assistant reports an error for a held state when the labels change.
  const stateLabel = labelOfWord("value", optionLabels(tell, platformStates), "None");
  const state = { state_topic: bridge.platform, icon: "mdi:cloud-check-outline" };
  const version = { state_topic: bridge.info, value_template: field("version") };
  const seen = { alarm: "all", by: "home-assistant" };
  // Home Assistant drops an event whose type was not listed from the start.
  const types = { value_template: templates.alert, event_types: bridgeEventTypes };
  const told = { value_template: templates.anyAlarm, ...attributes(bridge.alarms) };
  return [
    ["binary_sensor", "connectivity", flag(bridge.state, "connectivity", diagnostic)],
    ["sensor", "platform", { ...state, value_template: stateLabel, ...diagnostic }],
    ["sensor", "last_contact_business", health("last_contact_business", instant)],
    ["sensor", "last_contact_realtime", health("last_contact_realtime", instant)],
    ["sensor", "oldest_reading", health("oldest_reading_at", instant)],
    ["sensor", "requests_left", health("requests_left", left)],
    ["sensor", "version", { ...version, ...diagnostic, icon: "mdi:tag" }],
    ["button", "refresh", pressFields(topics, "refresh", {}, "mdi:refresh")],
    ["event", "alert", { state_topic: bridge.event, icon: "mdi:bell-outline", ...types }],
    ["binary_sensor", "alarm", flag(bridge.alarms, "problem", told)],
    ["button", "acknowledge_alarms", pressFields(topics, "acknowledge", seen, "mdi:check-all")],
  ];
}
