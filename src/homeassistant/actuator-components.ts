import {
  type ActuatorKind,
  hasRunTime,
  stateOfWord,
  takesDegrees,
  valueTable,
} from "../greenhouse/actuator-kinds.js";
import type { Group, Member, Scene } from "../greenhouse/groups.js";
import type { Controller } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Tell } from "../language/words.js";
import type { Topics } from "../mqtt/topics.js";
import {
  attributes,
  available,
  commandFields,
  confirmedCommandFields,
  type DocumentSettings,
  type Entity,
  type Fields,
} from "./documents.js";
import { displayName, type Platform } from "./identity.js";
import { type Label, labelOfWord, optionLabels, suffix, templates, wordOfLabel } from "./labels.js";

/**
 * The entity that people expect beside the select, which offers every option; `select` means that there is no other.
 */
type View = "cover" | "switch" | "light" | "valve" | "select";

/** View, icon and device class of a kind; the icon serves entities whose domain or class brings none. */
type KindView = readonly [view: View, icon: string, deviceClass?: "window" | "shade" | "curtain"];

const views: Readonly<Record<ActuatorKind, KindView>> = {
  skylight: ["cover", "mdi:window-open-variant", "window"],
  shade_curtain: ["cover", "mdi:roller-shade", "shade"],
  thermal_curtain: ["cover", "mdi:curtains", "curtain"],
  side_vent: ["cover", "mdi:window-open", "window"],
  positioner: ["cover", "mdi:arrow-up-down"],
  circulation_fan: ["switch", "mdi:fan"],
  uv_disinfection: ["switch", "mdi:lightbulb-fluorescent-tube-outline"],
  mist_humidifier: ["switch", "mdi:air-humidifier"],
  co2_supply: ["switch", "mdi:molecule-co2"],
  humidity_control: ["switch", "mdi:water-percent"],
  hot_air_blower: ["switch", "mdi:heat-wave"],
  heating_blower: ["switch", "mdi:heating-coil"],
  mist_cooling: ["switch", "mdi:sprinkler-fire"],
  machine: ["switch", "mdi:engine-outline"],
  fan_wet_curtain: ["select", "mdi:fan-chevron-up"],
  irrigation: ["valve", "mdi:sprinkler-variant"],
  light: ["light", "mdi:lightbulb-auto-outline"],
  motor: ["select", "mdi:engine-outline"],
  custom: ["select", "mdi:tune-vertical"],
};

/** The view of an actuator: the configured one if its values allow it; `none` announces nothing. */
function viewOf(settings: ActuatorSettings): View | "none" {
  const wanted = settings.homeAssistant.as ?? views[settings.kind][0];
  if (wanted === "none") return "none";
  const words = valueTable(settings);
  const needed = wanted === "select" ? [] : wanted === "cover" ? ["open", "close"] : ["on", "off"];
  return needed.every((word) => Object.hasOwn(words, word)) ? wanted : "select";
}

/** State words of the platform's values, in the table's order; commands accept each of them. */
const optionsOf = (settings: ActuatorSettings): readonly string[] => [
  ...new Set(Object.keys(valueTable(settings)).map((word) => stateOfWord(settings.kind, word))),
];

const canStop = (settings: ActuatorSettings): boolean =>
  settings.stop !== undefined || Object.hasOwn(valueTable(settings), "stop");

/** An actuator with everything its entities are made of. */
interface Subject {
  readonly actuator: ActuatorSettings;
  readonly tell: Tell;
  readonly topic: Readonly<Record<"json" | "set" | "allowed" | "lock" | "run_time", string>>;
}

export function actuatorEntities({ info, actuators }: Controller, settings: DocumentSettings): Entity[] {
  const { tell, topics } = settings;
  return [...actuators.values()].flatMap(({ settings: actuator }) => {
    const subject = { actuator, tell, topic: topics.actuator(info.id, actuator.id) };
    const view = viewOf(actuator);
    if (view === "none") return [];
    if (actuator.readOnly) return [...readings(subject), ...running(subject), ...runTime(subject)];
    const locks = actuator.limits === undefined ? [] : [lock(subject, info.id, topics)];
    return [
      ...controls(subject, view),
      ...certainty(subject),
      ...running(subject),
      ...runTime(subject),
      ...locks,
    ];
  });
}

/**
 * An entity of an actuator. `label` follows the actuator's name (the main entity has none); `word` distinguishes
 * entities of one platform.
 */
function entity(
  { actuator, tell }: Subject,
  platform: Platform,
  fields: Fields,
  label?: Label,
  word: string = platform,
): Entity {
  const { id, address, homeAssistant, kind } = actuator;
  const name = displayName(actuator.name ?? "", humanise(id));
  const hasOwnIcon = ["cover", "light", "lock", "valve"].includes(platform);
  return {
    platform,
    key: `${word}:${address}`,
    slug: label === undefined ? id : `${id}_${label}`,
    name: label === undefined ? name : suffix(tell, name, label),
    fields: {
      icon: usableIcon(homeAssistant.icon) ?? (hasOwnIcon ? undefined : views[kind][1]),
      ...fields,
      enabled_by_default: homeAssistant.enabled ? undefined : false,
    },
  };
}

/**
 * The view, which voice, areas and default dashboards know, and the select with every option. Both are enabled at
 * first.
 */
function controls(
  subject: Subject,
  view: View,
  // Attributes of the main entity: which values are allowed now, and why no others.
  allowed: Fields = attributes(subject.topic.allowed, templates.allowed),
): Entity[] {
  const { actuator, topic } = subject;
  const isAlone = view === "select";
  const entities: Entity[] = [];
  if (view !== "select") {
    const fields = { ...viewFields[view](subject), ...allowed };
    entities.push(entity(subject, view, fields));
  }
  if (optionsOf(actuator).length > 0) {
    const fields = { ...selectFields(subject), ...(isAlone ? allowed : {}) };
    entities.push(entity(subject, "select", fields, isAlone ? undefined : "mode"));
  }
  const stop = { icon: "mdi:stop", ...commandFields(topic.set), payload_press: "stop" };
  // A cover brings its own stop button.
  if (canStop(actuator) && view !== "cover") entities.push(entity(subject, "button", stop, "stop", "stop"));
  return entities;
}

/**
 * A lock that keeps everybody off while a person works there; it needs only the bridge. As a configuration entity it is
 * out of reach of "lock all doors". It reads `allowed`, as the lock's own topic is empty without a lock.
 */
function lock(subject: Subject, controller: string, topics: Topics): Entity {
  const { actuator, topic } = subject;
  const about = { controller, actuator: actuator.id, by: "home-assistant" };
  const fields: Fields = {
    state_topic: topic.allowed,
    value_template: templates.locked,
    state_locked: "locked",
    state_unlocked: "unlocked",
    ...confirmedCommandFields(topics.bridge.request("lock")),
    payload_lock: JSON.stringify(about),
    payload_unlock: JSON.stringify({ ...about, locked: false }),
    ...attributes(topic.lock),
    entity_category: "config",
    ...available(topics),
  };
  return entity(subject, "lock", fields, "lock");
}

/** Whether `open` spreads a curtain out, which Home Assistant calls closed. */
const isInverted = ({ homeAssistant }: ActuatorSettings): boolean => homeAssistant.inverted === true;
/** Whether any motor runs, for an actuator with several running statuses; a single status is already an entity. */
function running(subject: Subject): Entity[] {
  const { actuator, topic } = subject;
  if ((actuator.running ?? []).length < 2) return [];
  const fields: Fields = {
    state_topic: topic.json,
    value_template: templates.running,
    ...onOrOff,
    device_class: "running",
  };
  return [entity(subject, "binary_sensor", fields, "running", "running")];
}

/** The total time that the actuator was on. */
function runTime(subject: Subject): Entity[] {
  const { actuator, topic } = subject;
  if (!hasRunTime(actuator.kind)) return [];
  const fields: Fields = {
    state_topic: topic.run_time,
    value_template: templates.runTime,
    ...attributes(topic.run_time),
    device_class: "duration",
    unit_of_measurement: "s",
    state_class: "total_increasing",
    entity_category: "diagnostic",
  };
  return [entity(subject, "sensor", fields, "run_time", "run-time")];
}

/**
 * A sensor that marks an uncertain position, as Home Assistant has no such state; for positions that are recalled and
 * never read.
 */
function certainty(subject: Subject): Entity[] {
  if (subject.actuator.positionReads !== "mode") return [];
  const fields: Fields = {
    state_topic: subject.topic.json,
    value_template: templates.quality,
    device_class: "enum",
    options: ["good", "uncertain", "stale"],
    entity_category: "diagnostic",
  };
  return [entity(subject, "sensor", fields, "position_quality", "position_quality")];
}

const openOrClosed: Fields = { state_open: "open", state_closed: "closed" };
const onOrOff: Fields = { payload_on: "on", payload_off: "off" };

const viewFields = {
  cover: ({ actuator, topic }: Subject): Fields => ({
    device_class: views[actuator.kind][2],
    state_topic: topic.json,
    value_template: isInverted(actuator) ? templates.invertedState : templates.coverState,
    ...openOrClosed,
    ...(takesDegrees(actuator.kind) && {
      position_topic: topic.json,
      position_template: isInverted(actuator) ? templates.invertedPosition : templates.coverPosition,
      set_position_topic: topic.set,
      set_position_template: isInverted(actuator) ? templates.invertedDegree : undefined,
      position_open: 100,
      position_closed: 0,
    }),
    ...confirmedCommandFields(topic.set),
    payload_open: isInverted(actuator) ? "close" : "open",
    payload_close: isInverted(actuator) ? "open" : "close",
    payload_stop: canStop(actuator) ? "stop" : null,
  }),
  switch: ({ topic }: Subject): Fields => ({
    state_topic: topic.json,
    value_template: templates.onOffState,
    ...onOrOff,
    state_on: "on",
    state_off: "off",
    ...confirmedCommandFields(topic.set),
  }),
  valve: ({ topic }: Subject): Fields => ({
    device_class: "water",
    state_topic: topic.json,
    value_template: templates.valveState,
    ...openOrClosed,
    ...confirmedCommandFields(topic.set),
    payload_open: "on",
    payload_close: "off",
  }),
  light: ({ topic }: Subject): Fields => ({
    state_topic: topic.json,
    state_value_template: templates.onOffState,
    ...onOrOff,
    ...confirmedCommandFields(topic.set),
  }),
};

function selectFields({ actuator, tell, topic }: Subject): Fields {
  const labels = optionLabels(tell, shownWords(actuator));
  return {
    state_topic: topic.json,
    value_template: labelOfWord("value_json.state", labels, "None"),
    options: [...labels.values()],
    command_template: wordOfLabel(labels) ?? undefined,
    ...confirmedCommandFields(topic.set),
  };
}

/** A read-only actuator: its state as text and, if it has degrees, its position. */
function readings(subject: Subject): Entity[] {
  const { actuator, tell, topic } = subject;
  // A text sensor would show `None` as a word.
  const text = labelOfWord("value_json.state", optionLabels(tell, shownWords(actuator)), "unknown");
  const state = { state_topic: topic.json, value_template: text };
  const degree: Fields = {
    state_topic: topic.json,
    value_template: templates.degree,
    unit_of_measurement: "%",
    state_class: "measurement",
    suggested_display_precision: 0,
  };
  return [
    entity(subject, "sensor", state, undefined, "state"),
    ...(takesDegrees(actuator.kind) ? [entity(subject, "sensor", degree, "position", "position")] : []),
  ];
}

/** Every state word, and `position` for an actuator with degrees; `position` cannot be chosen. */
function shownWords(actuator: ActuatorSettings): readonly string[] {
  return takesDegrees(actuator.kind) ? [...optionsOf(actuator), "position"] : optionsOf(actuator);
}

/** `left_skylight` → `Left skylight`, `co2_supply` → `CO2 supply`. */
export const humanise = (id: string): string => {
  const words = (id.replace(/[_-]+/g, " ").trim() || id).replace(/\b(?:co2|ec|uv|par|vpd)\b/g, (word) =>
    word.toUpperCase(),
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Home Assistant refuses an entity whose icon is not `prefix:name`. */
const usableIcon = (icon: string | undefined): string | undefined =>
  icon !== undefined && /^[a-z0-9-]+:[a-z0-9-]+$/.test(icon) ? icon : undefined;

/** Entities of groups and scenes. They belong to the bridge, as their members may be on several controllers. */
export function groupAndSceneEntities({
  groupsAndScenes,
  topics,
  tell,
}: DocumentSettings): readonly Entity[] {
  if (groupsAndScenes === undefined) return [];
  const groups = [...groupsAndScenes.groups.values()].flatMap((group) => groupEntities(group, topics, tell));
  return [...groups, ...[...groupsAndScenes.scenes.values()].map((scene) => sceneEntity(scene, topics))];
}

/**
 * Entities of a group, like those of an actuator that accepts what all members accept. It shows a state that all
 * members share.
 */
function groupEntities({ id, name, target, members }: Group, topics: Topics, tell: Tell): readonly Entity[] {
  const { kind, values, stop, inverted } = target;
  const { json, set } = topics.group(id);
  const actuator: ActuatorSettings = {
    id: `group_${id}`,
    name,
    kind,
    values,
    address: `group-${id}`,
    leadIn: "never",
    settleMs: 0,
    travelMs: 0,
    confirmWithinMs: 0,
    minIntervalMs: 0,
    tolerance: 0,
    readOnly: false,
    homeAssistant: {
      enabled: true,
      // As a cover it would move some of its members the wrong way round.
      ...(inverted === null ? { as: "select" } : { inverted: inverted === true }),
    },
    ...(stop && { stop }),
  };
  const view = viewOf(actuator);
  if (view === "none") return [];
  // The states of all members.
  const shown = attributes(json);
  const subject = { actuator, tell, topic: { json, set, allowed: json, lock: json, run_time: json } };
  return controls(subject, view, shown).map((entity) => ({
    ...entity,
    fields: { ...entity.fields, ...availableOf(topics, members) },
  }));
}

/**
 * Availability of a group. The controller counts only if all members are on one: a command to several still moves those
 * within reach.
 */
function availableOf(topics: Topics, members: readonly Member[]) {
  const [first = null, ...others] = new Set(members.map(({ controllerId }) => controllerId));
  return available(topics, others.length > 0 ? null : first);
}

const sceneEntity = ({ id, name, commands }: Scene, topics: Topics): Entity => ({
  platform: "scene",
  key: `scene:${id}`,
  slug: `scene_${id}`,
  name: displayName(name, id),
  fields: {
    ...commandFields(topics.scene(id).set),
    payload_on: "activate",
    ...availableOf(
      topics,
      commands.map(({ member }) => member),
    ),
  },
});
