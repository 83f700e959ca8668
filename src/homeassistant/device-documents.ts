import { outcomes } from "../greenhouse/command/outcomes.js";
import { takesCommands } from "../greenhouse/device-types.js";
import { bridgeEventTypes } from "../greenhouse/events.js";
import {
  type Actuator,
  type Controller,
  type ControllerInfo,
  type Parameter,
  platformStates,
  type RunningStatus,
  type Sensor,
} from "../greenhouse/model.js";
import { actuatorEntries } from "./actuator-components.js";
import { commandFields, entry, type Entry, type Fields, withBridge, withController } from "./components.js";
import {
  type DeviceDocument,
  type DocumentSettings,
  originName,
  originOf,
  type Platform,
} from "./documents.js";
import {
  bridgeIdentifier,
  bridgeOwner,
  controllerOwner,
  deviceIdentifier,
  displayName,
  type Owner,
} from "./identity.js";
import { field, type Label, labelOf, labelOfWord, optionLabels, templates } from "./labels.js";
import { parameterEntries, sensorEntries, shownRange, statusEntries } from "./sensor-components.js";

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
    configuration_url: settings.pageUrl,
  };
}

/** What needs the bridge alone, so that it stays readable while the controller or the platform is gone. */
function ownEntries({ info }: Controller, owner: Owner, { topics, language }: DocumentSettings): Entry[] {
  const topic = topics.controller(info.id);
  const onOff = (on: string, off: string) => ({ payload_on: on, payload_off: off });
  const connectivity: OwnRow = [
    ...(["binary_sensor", "connectivity", "connectivity"] as const),
    {
      ...{ state_topic: topic.availability, value_template: templates.connectivity },
      ...{ ...onOff("online", "offline"), device_class: "connectivity" },
    },
  ];
  // Which actuators and why, for those who are told.
  const problem = { state_topic: topic.problem, ...onOff("on", "off"), device_class: "problem" };
  const acknowledge = {
    ...commandFields(topics.bridge.request("acknowledge")),
    ...{ payload_press: JSON.stringify({ controller: info.id }), icon: "mdi:check-all" },
  };
  const result = { state_topic: topic.result, value_template: templates.result, event_types: outcomes };
  const commanded: OwnRow[] = [
    ["binary_sensor", "problem", "command_problem", { ...problem, json_attributes_topic: topic.problems }],
    ["button", "acknowledge", "acknowledge_problem", acknowledge],
    ["event", "result", "command_result", { ...result, icon: "mdi:message-check-outline" }],
  ];
  const isCommanded = takesCommands(info.type);
  const rows = [
    ...(isCommanded || hasConnection(info) ? [connectivity] : []),
    ...(isCommanded ? commanded : []),
  ];
  return rows.map(([platform, key, slug, fields]) => {
    const entity = { platform, key, slug, name: labelOf(language, key) };
    return entry(owner, entity, { ...fields, entity_category: "diagnostic", ...withBridge(topics) });
  });
}

/** A camera or a station without a client of its own has no connection to tell of. */
const hasConnection = ({ record, client }: ControllerInfo): boolean =>
  client !== null || (record?.online ?? null) !== null;

/** The discovery message of the bridge itself, which every controller points to. */
export function bridgeDocument(settings: DocumentSettings): DeviceDocument {
  const { version, clientId, language, topics } = settings;
  const rows = [...bridgeReadings(settings), ...bridgeNews(settings)];
  return {
    device: {
      identifiers: [bridgeIdentifier(clientId)],
      name: clientId === originName ? originName : `${originName} ${clientId}`,
      manufacturer: originName,
      model: "Bridge",
      sw_version: version,
      configuration_url: settings.pageUrl,
    },
    origin: originOf(settings),
    components: Object.fromEntries(
      rows.map(([platform, label, slug, fields]) => {
        const entity = { platform, key: slug.replaceAll("_", "-"), slug, name: labelOf(language, label) };
        // A dead bridge shows as disconnected, not as unavailable.
        const available = label === "bridge_connectivity" ? {} : withBridge(topics);
        return entry(bridgeOwner(clientId), entity, { ...fields, ...available });
      }),
    ),
  };
}

type OwnRow = readonly [platform: Platform, label: Label, slug: string, fields: Fields];

function bridgeReadings({ topics, language, hasBudget }: DocumentSettings): OwnRow[] {
  const entity_category = "diagnostic";
  const health = (name: string, fields: Fields): Fields => ({
    ...{ state_topic: topics.bridge.health, value_template: field(name), ...fields, entity_category },
  });
  // They change with every poll, which would fill the activity list.
  const instant = (slug: Label, name: string): OwnRow => [
    ...(["sensor", slug, slug] as const),
    health(name, { device_class: "timestamp", enabled_by_default: false }),
  ];
  const left = { state_class: "measurement", suggested_display_precision: 0, icon: "mdi:counter" };
  // Without options: where their labels change, Home Assistant takes the state it holds for an error.
  const stateLabel = labelOfWord("value", optionLabels(language, platformStates), "None");
  const state = { state_topic: topics.bridge.platform, icon: "mdi:cloud-check-outline" };
  const version = { state_topic: topics.bridge.info, value_template: field("version") };
  return [
    [
      ...(["binary_sensor", "bridge_connectivity", "connectivity"] as const),
      {
        ...{ state_topic: topics.bridge.state, payload_on: "online", payload_off: "offline" },
        ...{ device_class: "connectivity", entity_category },
      },
    ],
    ["sensor", "platform", "platform", { ...state, value_template: stateLabel, entity_category }],
    instant("last_contact_business", "last_contact_business"),
    instant("last_contact_realtime", "last_contact_realtime"),
    instant("oldest_reading", "oldest_reading_at"),
    ...(hasBudget
      ? [["sensor", "requests_left", "requests_left", health("requests_left", left)] as const]
      : []),
    ["sensor", "version", "version", { ...version, entity_category, icon: "mdi:tag" }],
  ];
}

/** What the bridge tells, what is wrong anywhere until it is over, and what can be asked of it. */
function bridgeNews({ topics: { bridge } }: DocumentSettings): OwnRow[] {
  const pressed = (request: string, payload: object, icon: string): Fields => ({
    ...commandFields(bridge.request(request)),
    payload_press: JSON.stringify(payload),
    icon,
  });
  const seen = { alarm: "all", by: "home-assistant" };
  // Home Assistant drops an event of a type that was not named from the start.
  const types = { value_template: templates.alert, event_types: bridgeEventTypes };
  const alarm: Fields = {
    ...{
      state_topic: bridge.alarms,
      value_template: templates.anyAlarm,
      payload_on: "on",
      payload_off: "off",
    },
    ...{ device_class: "problem", json_attributes_topic: bridge.alarms },
  };
  return [
    ["button", "refresh", "refresh", pressed("refresh", {}, "mdi:refresh")],
    ["event", "alert", "alert", { state_topic: bridge.event, icon: "mdi:bell-outline", ...types }],
    ["binary_sensor", "alarm", "alarm", alarm],
    ["button", "acknowledge_alarms", "acknowledge_alarms", pressed("acknowledge", seen, "mdi:check-all")],
  ];
}

/**
 * Whether a controller's discovery message can differ between two views of it. Called for every change of every
 * controller, so it compares references and a handful of fields and builds nothing.
 */
export const announcesTheSame = (before: Controller, after: Controller): boolean =>
  before.info === after.info && everyPart(before, after, same);

/** Whether anything that both views announce is announced differently. */
export const contradicts = (before: Controller, after: Controller): boolean =>
  !everyPart(before, after, agree);

const everyPart = (before: Controller, after: Controller, compare: typeof agree): boolean =>
  compare(before.sensors, after.sensors, sameSensor) &&
  compare(before.statuses, after.statuses, sameStatus) &&
  compare(before.actuators, after.actuators, sameActuator) &&
  compare(before.parameters, after.parameters, sameParameter);

const same: typeof agree = (before, after, equal) =>
  before === after || (before.size === after.size && agree(before, after, equal, false));

function agree<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
  equal: (one: Item, other: Item) => boolean,
  mayMiss = true,
): boolean {
  for (const [key, old] of before) {
    const item = after.get(key);
    if (item === undefined ? !mayMiss : item !== old && !equal(old, item)) return false;
  }
  return true;
}

export const sameSensor = (one: Sensor, other: Sensor): boolean => one.definition === other.definition;

export const sameActuator = (one: Actuator, other: Actuator): boolean => one.settings === other.settings;

export function sameParameter(one: Parameter, other: Parameter): boolean {
  if (one.settings !== other.settings) return false;
  if (one.value === other.value || one.settings.writable === undefined) return true;
  const [before, after] = [shownRange(one), shownRange(other)];
  return before?.min === after?.min && before?.max === after?.max;
}

export const sameStatus = (one: RunningStatus, other: RunningStatus): boolean =>
  one.key === other.key && one.id === other.id && one.name === other.name && one.number === other.number;
