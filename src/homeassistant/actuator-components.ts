import { type ActuatorKind, type KindRow, kindRows } from "../greenhouse/actuator-kinds.js";
import { stateOfWord, valueTable } from "../greenhouse/actuator-values.js";
import type { Controller } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Topics } from "../mqtt/topics.js";
import {
  attributes,
  commandFields,
  confirmedCommandFields,
  entry,
  type Entry,
  type Fields,
  available,
} from "./components.js";
import type { DocumentSettings, Language, Platform } from "./documents.js";
import { displayName, type Owner } from "./identity.js";
import { type Label, labelOfWord, optionLabels, suffixed, templates, wordOfLabel } from "./labels.js";

/** The view people expect beside the select, which carries every option; `select` means there is none. */
type View = "cover" | "switch" | "light" | "valve" | "select";

interface KindView {
  readonly as: View;
  /** Of what its domain or class gives none, the select first of all. */
  readonly icon: string;
  /** Of a cover. */
  readonly deviceClass?: "window" | "shade" | "curtain";
}

const views: Readonly<Record<ActuatorKind, KindView>> = {
  skylight: { as: "cover", deviceClass: "window", icon: "mdi:window-open-variant" },
  shade_curtain: { as: "cover", deviceClass: "shade", icon: "mdi:roller-shade" },
  thermal_curtain: { as: "cover", deviceClass: "curtain", icon: "mdi:curtains" },
  side_vent: { as: "cover", deviceClass: "window", icon: "mdi:window-open" },
  positioner: { as: "cover", icon: "mdi:arrow-up-down" },
  circulation_fan: { as: "switch", icon: "mdi:fan" },
  uv_disinfection: { as: "switch", icon: "mdi:lightbulb-fluorescent-tube-outline" },
  mist_humidifier: { as: "switch", icon: "mdi:air-humidifier" },
  co2_supply: { as: "switch", icon: "mdi:molecule-co2" },
  humidity_control: { as: "switch", icon: "mdi:water-percent" },
  hot_air_blower: { as: "switch", icon: "mdi:heat-wave" },
  heating_blower: { as: "switch", icon: "mdi:heating-coil" },
  mist_cooling: { as: "switch", icon: "mdi:sprinkler-fire" },
  machine: { as: "switch", icon: "mdi:engine-outline" },
  fan_wet_curtain: { as: "select", icon: "mdi:fan-chevron-up" },
  irrigation: { as: "valve", icon: "mdi:sprinkler-variant" },
  light: { as: "light", icon: "mdi:lightbulb-auto-outline" },
  motor: { as: "select", icon: "mdi:engine-outline" },
  custom: { as: "select", icon: "mdi:tune-vertical" },
};

const needs = {
  cover: ["open", "close"],
  switch: ["on", "off"],
  light: ["on", "off"],
  valve: ["on", "off"],
  select: [],
} satisfies Record<View, readonly string[]>;

/** The view of an actuator: the configured one where its values allow it, `none` to announce nothing. */
function viewOf(settings: ActuatorSettings): View | "none" {
  const wanted = settings.homeAssistant.as ?? views[settings.kind].as;
  if (wanted === "none") return "none";
  const words = valueTable(settings);
  return needs[wanted].every((word) => Object.hasOwn(words, word)) ? wanted : "select";
}

/** State words the platform's values stand for, in the table's order; commands accept each of them too. */
const optionsOf = (settings: ActuatorSettings): readonly string[] => [
  ...new Set(Object.keys(valueTable(settings)).map((word) => stateOfWord(settings.kind, word))),
];

const canStop = (settings: ActuatorSettings): boolean =>
  settings.stop !== undefined || Object.hasOwn(valueTable(settings), "stop");

/** One actuator with everything its components are made from. */
interface Subject {
  readonly actuator: ActuatorSettings;
  readonly owner: Owner;
  readonly language: Language;
  readonly topic: ReturnType<Topics["actuator"]>;
  readonly name: string;
}

export function actuatorEntries(controller: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  return [...controller.actuators.values()].flatMap(({ settings: actuator }) => {
    const { id } = actuator;
    const view = viewOf(actuator);
    if (view === "none") return [];
    const { language } = settings;
    const topic = settings.topics.actuator(controller.info.id, id);
    const subject = {
      actuator,
      owner,
      language,
      topic,
      name: displayName(actuator.name ?? "", humanised(id)),
    };
    if (actuator.readOnly) return readings(subject);
    const locks = actuator.limits === undefined ? [] : [lock(subject, controller.info.id, settings.topics)];
    return [...controls(subject, view), ...locks];
  });
}

interface Beside {
  readonly word?: string;
  /** Behind the actuator's name; its main entity is called as it is. */
  readonly label?: Label;
  /** Behind the actuator in the entity id. */
  readonly slug?: string;
}

function component(
  { actuator, owner, language, name }: Subject,
  platform: Platform,
  fields: Fields,
  { word = platform, label, slug }: Beside = {},
): Entry {
  const { id, address, homeAssistant, kind } = actuator;
  const entity = {
    platform,
    key: `${word}:${address}`,
    slug: slug === undefined ? id : `${id}_${slug}`,
    name: label === undefined ? name : suffixed(language, name, label),
  };
  const own = ["cover", "light", "lock", "valve"].includes(platform);
  return entry(owner, entity, {
    icon: usableIcon(homeAssistant.icon) ?? (own ? undefined : views[kind].icon),
    ...fields,
    enabled_by_default: homeAssistant.enabled ? fields["enabled_by_default"] : false,
  });
}

/**
 * Each thing once: beside its select, which says everything, an actuator has what Home Assistant has a domain of its own
 * for. A switch would only say less than the select, so it is there for those who want it, and says so in its name.
 */
function controls(subject: Subject, view: View): Entry[] {
  const { actuator, topic } = subject;
  const isSpare = view === "switch" && actuator.homeAssistant.as !== "switch";
  const spare: Fields = isSpare ? { enabled_by_default: false } : {};
  const stop = { icon: "mdi:stop", ...commandFields(topic.set), payload_press: "stop" };
  const hasOptions = optionsOf(actuator).length > 0;
  const isMain = view === "select" || isSpare;
  const mode = isMain ? {} : ({ label: "mode", slug: "mode" } as const);
  const own = isMain ? allowed(subject) : {};
  return [
    ...(view === "select"
      ? []
      : [
          component(
            subject,
            view,
            { ...viewFields[view](subject), ...spare, ...(isSpare ? {} : allowed(subject)) },
            isSpare ? { label: "switch" } : {},
          ),
        ]),
    ...(hasOptions ? [component(subject, "select", { ...selectFields(subject), ...own }, mode)] : []),
    // A cover has a stop of its own.
    ...(canStop(actuator) && view !== "cover"
      ? [component(subject, "button", stop, { word: "stop", label: "stop", slug: "stop" })]
      : []),
  ];
}

/** What may be commanded now and why no more, as attributes of an actuator's main entity. */
const allowed = ({ topic }: Subject): Fields => attributes(topic.allowed, templates.allowed);

/**
 * Keeps everybody off while a person works there. Needs the bridge alone. A configuration entity, so that nobody's "lock all
 * doors" reaches it; `allowed` tells of a lock at all times, the lock's own topic is empty without one.
 */
function lock(subject: Subject, controller: string, topics: Topics): Entry {
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
  return component(subject, "lock", fields, { label: "lock", slug: "lock" });
}

const onOffPayloads: Fields = { payload_on: "on", payload_off: "off" };

const viewFields = {
  cover: ({ actuator, topic }: Subject): Fields => ({
    device_class: views[actuator.kind].deviceClass,
    state_topic: topic.json,
    value_template: templates.coverState,
    state_open: "open",
    state_closed: "closed",
    ...(hasDegrees(actuator) && {
      position_topic: topic.json,
      position_template: templates.coverPosition,
      set_position_topic: topic.set,
      position_open: 100,
      position_closed: 0,
    }),
    ...confirmedCommandFields(topic.set),
    payload_open: "open",
    payload_close: "close",
    payload_stop: canStop(actuator) ? "stop" : null,
  }),
  switch: ({ topic }: Subject): Fields => ({
    state_topic: topic.json,
    value_template: templates.onOffState,
    ...onOffPayloads,
    state_on: "on",
    state_off: "off",
    ...confirmedCommandFields(topic.set),
  }),
  valve: ({ topic }: Subject): Fields => ({
    device_class: "water",
    state_topic: topic.json,
    value_template: templates.valveState,
    state_open: "open",
    state_closed: "closed",
    ...confirmedCommandFields(topic.set),
    payload_open: "on",
    payload_close: "off",
  }),
  light: ({ topic }: Subject): Fields => ({
    state_topic: topic.json,
    state_value_template: templates.onOffState,
    ...onOffPayloads,
    ...confirmedCommandFields(topic.set),
  }),
};

function selectFields({ actuator, language, topic }: Subject): Fields {
  const labels = optionLabels(language, shownWords(actuator));
  return {
    state_topic: topic.json,
    value_template: labelOfWord("value_json.state", labels, "None"),
    options: [...labels.values()],
    command_template: wordOfLabel(labels) ?? undefined,
    ...confirmedCommandFields(topic.set),
  };
}

/** A read-only actuator: its state as text and, where it has degrees, its position. */
function readings(subject: Subject): Entry[] {
  const { actuator, language, topic } = subject;
  const labels = optionLabels(language, shownWords(actuator));
  // A sensor of text would show `None` as a word.
  const text = labelOfWord("value_json.state", labels, "unknown");
  const shown = { state_topic: topic.json, value_template: text };
  const state = component(subject, "sensor", shown, { word: "state" });
  if (!hasDegrees(actuator)) return [state];
  const degree: Fields = {
    state_topic: topic.json,
    value_template: templates.degree,
    unit_of_measurement: "%",
    state_class: "measurement",
    suggested_display_precision: 0,
  };
  return [
    state,
    component(subject, "sensor", degree, { word: "position", label: "position", slug: "position" }),
  ];
}

function hasDegrees({ kind }: ActuatorSettings): boolean {
  const row: KindRow = kindRows[kind];
  return row.positionMode !== null;
}

/** Every state word; `position` where it stands at a degree, which cannot be chosen and is refused. */
function shownWords(actuator: ActuatorSettings): readonly string[] {
  return hasDegrees(actuator) ? [...optionsOf(actuator), "position"] : optionsOf(actuator);
}

/** `left_skylight` → `Left skylight`, `co2_supply` → `CO2 supply`. */
export const humanised = (id: string): string => {
  const words = (id.replace(/[_-]+/g, " ").trim() || id).replace(/\b(?:co2|ec|uv|par|vpd)\b/g, (word) =>
    word.toUpperCase(),
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Home Assistant refuses an entity whose icon is not `prefix:name`. */
const usableIcon = (icon: string | undefined): string | undefined =>
  icon !== undefined && /^[a-z0-9-]+:[a-z0-9-]+$/.test(icon) ? icon : undefined;
