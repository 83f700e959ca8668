import { type ActuatorKind, type KindRow, kindRows } from "../greenhouse/actuator-kinds.js";
import { stateOfWord, valueTable } from "../greenhouse/actuator-values.js";
import type { Controller } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { commandFields, confirmedCommandFields, entry, type Entry, type Fields } from "./components.js";
import type { DocumentSettings, Language, Platform } from "./documents.js";
import { displayName, type Owner } from "./identity.js";
import { type Label, labelOfWord, optionLabels, suffixed, templates, wordOfLabel } from "./labels.js";

/** The view people expect beside the select, which carries every option; `select` means there is none. */
type View = "cover" | "switch" | "light" | "select";

interface KindView {
  readonly as: View;
  /** Of a cover. */
  readonly deviceClass?: "window" | "shade" | "curtain";
}

const views: Readonly<Record<ActuatorKind, KindView>> = {
  skylight: { as: "cover", deviceClass: "window" },
  shade_curtain: { as: "cover", deviceClass: "shade" },
  thermal_curtain: { as: "cover", deviceClass: "curtain" },
  side_vent: { as: "cover", deviceClass: "window" },
  positioner: { as: "cover" },
  circulation_fan: { as: "switch" },
  uv_disinfection: { as: "switch" },
  mist_humidifier: { as: "switch" },
  co2_supply: { as: "switch" },
  humidity_control: { as: "switch" },
  hot_air_blower: { as: "switch" },
  heating_blower: { as: "switch" },
  mist_cooling: { as: "switch" },
  machine: { as: "switch" },
  fan_wet_curtain: { as: "select" },
  irrigation: { as: "select" },
  light: { as: "light" },
  motor: { as: "select" },
  custom: { as: "select" },
};

const needs = {
  cover: ["open", "close"],
  switch: ["on", "off"],
  light: ["on", "off"],
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
  readonly topic: { readonly json: string; readonly set: string };
  readonly name: string;
  /** Keys every component of the actuator carries. */
  readonly common: Fields;
}

export function actuatorEntries(controller: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  return [...controller.actuators.values()].flatMap(({ settings: actuator }) => {
    const { id, homeAssistant } = actuator;
    const view = viewOf(actuator);
    const subject: Subject = {
      actuator,
      owner,
      language: settings.language,
      topic: settings.topics.actuator(controller.info.id, id),
      name: displayName(actuator.name ?? "", humanised(id)),
      common: {
        icon: usableIcon(homeAssistant.icon),
        enabled_by_default: homeAssistant.enabled ? undefined : false,
      },
    };
    if (view === "none") return [];
    return actuator.readOnly ? readings(subject) : controls(subject, view);
  });
}

/** One component; beside the actuator's main one it has a key, slug and name of its own. */
function component(
  { actuator, owner, language, name, common }: Subject,
  platform: Platform,
  fields: Fields,
  beside?: { readonly word: string; readonly label?: Label },
): Entry {
  const { id, address } = actuator;
  const key = `${beside?.word ?? platform}:${address}`;
  const slug = beside?.label ? `${id}_${beside.label}` : id;
  const shown = beside?.label ? suffixed(language, name, beside.label) : name;
  return entry(owner, { platform, key, slug, name: shown }, { ...common, ...fields });
}

function controls(subject: Subject, view: View): Entry[] {
  const { actuator, topic } = subject;
  const main = view === "select" ? [] : [component(subject, view, viewFields[view](subject))];
  const beside = view === "select" ? undefined : ({ word: "select", label: "mode" } as const);
  const select = component(subject, "select", selectFields(subject), beside);
  const press = { icon: "mdi:stop", ...commandFields(topic.set), payload_press: "stop" };
  return [
    ...main,
    ...(optionsOf(actuator).length === 0 ? [] : [select]),
    ...(canStop(actuator) ? [component(subject, "button", press, { word: "stop", label: "stop" })] : []),
  ];
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
  return [state, component(subject, "sensor", degree, { word: "position", label: "position" })];
}

function hasDegrees({ kind }: ActuatorSettings): boolean {
  const row: KindRow = kindRows[kind];
  return row.positionMode !== null;
}

/** Every state word; `position` where it stands at a degree, which cannot be chosen and is refused. */
function shownWords(actuator: ActuatorSettings): readonly string[] {
  return hasDegrees(actuator) ? [...optionsOf(actuator), "position"] : optionsOf(actuator);
}

/** `left_skylight` → `Left skylight`. */
export const humanised = (id: string): string => {
  const words = id.replace(/[_-]+/g, " ").trim() || id;
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Home Assistant refuses an entity whose icon is not `prefix:name`. */
const usableIcon = (icon: string | undefined): string | undefined =>
  icon !== undefined && /^[a-z0-9-]+:[a-z0-9-]+$/.test(icon) ? icon : undefined;
