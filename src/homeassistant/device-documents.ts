import { outcomes } from "../greenhouse/command/outcomes.js";
import { takesCommands } from "../greenhouse/device-types.js";
import type { BridgeEventType } from "../greenhouse/events.js";
import type {
  Actuator,
  Controller,
  ControllerInfo,
  Parameter,
  PlatformState,
  RunningStatus,
  Sensor,
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
function ownEntries({ info }: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  const { topics, language } = settings;
  const topic = topics.controller(info.id);
  const own = (platform: Platform, key: Label, slug: string, fields: Fields) => {
    const common: Fields = { entity_category: "diagnostic", ...withBridge(topics) };
    return entry(owner, { platform, key, slug, name: labelOf(language, key) }, { ...fields, ...common });
  };
  const connectivity = own("binary_sensor", "connectivity", "connectivity", {
    state_topic: topic.availability,
    value_template: templates.connectivity,
    payload_on: "online",
    payload_off: "offline",
    device_class: "connectivity",
  });
  if (!takesCommands(info.type)) return hasConnection(info) ? [connectivity] : [];
  return [
    connectivity,
    own("binary_sensor", "problem", "command_problem", {
      state_topic: topic.problem,
      payload_on: "on",
      payload_off: "off",
      device_class: "problem",
      // Which actuators and why, for those who are told.
      json_attributes_topic: topic.problems,
    }),
    own("button", "acknowledge", "acknowledge_problem", {
      ...commandFields(topics.bridge.request("acknowledge")),
      payload_press: JSON.stringify({ controller: info.id }),
      icon: "mdi:check-all",
    }),
    own("event", "result", "command_result", {
      state_topic: topic.result,
      value_template: templates.result,
      event_types: [...outcomes],
      icon: "mdi:message-check-outline",
    }),
  ];
}

/** A camera or a station without a client of its own has no connection to tell of. */
const hasConnection = ({ record, client }: ControllerInfo): boolean =>
  client !== null || (record?.online ?? null) !== null;

/**
 * What `bridge/event` tells: the types of the bridge's event entity. All are named from the start, because Home
 * Assistant drops any other.
 */
export const alertTypes = Object.keys({
  command_unconfirmed: true,
  command_rejected: true,
  command_failed: true,
  changed_elsewhere: true,
  reverted: true,
  confirmed_late: true,
  sign_in_refused: true,
  unauthorized: true,
  session_contested: true,
  platform_lost: true,
  platform_back: true,
  controller_offline: true,
  account_empty: true,
  shape_unknown: true,
  other_bridge: true,
  alarm: true,
  alarm_cleared: true,
  flood: true,
  locked: true,
  unlocked: true,
  lease_overrun: true,
} satisfies Record<BridgeEventType, true>);

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
      configuration_url: settings.pageUrl,
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
        icon: "mdi:bell-outline",
        value_template: templates.alert,
        event_types: [...alertTypes],
        ...withBridge(topics),
      }),
      ...alarmEntries(settings),
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

/** What is wrong anywhere, with its remedy, until it is over; the event above tells when it begins and ends. */
function alarmEntries(settings: DocumentSettings): Entry[] {
  const { topics } = settings;
  return [
    own(settings, "binary_sensor", "alarm", "alarm", {
      state_topic: topics.bridge.alarms,
      value_template: templates.anyAlarm,
      payload_on: "on",
      payload_off: "off",
      device_class: "problem",
      json_attributes_topic: topics.bridge.alarms,
      ...withBridge(topics),
    }),
    own(settings, "button", "acknowledge_alarms", "acknowledge_alarms", {
      ...commandFields(topics.bridge.request("acknowledge")),
      payload_press: JSON.stringify({ alarm: "all", by: "home-assistant" }),
      icon: "mdi:check-all",
      ...withBridge(topics),
    }),
  ];
}

function platformState(settings: DocumentSettings): Entry {
  const { topics, language } = settings;
  const labels = optionLabels(language, platformStates);
  return own(settings, "sensor", "platform", "platform", {
    state_topic: topics.bridge.platform,
    icon: "mdi:cloud-check-outline",
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
