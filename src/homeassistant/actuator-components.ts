import { type ActuatorKind, type KindRow, kindRows } from "../greenhouse/actuator-kinds.js";
import { stateOfWord, valueTable } from "../greenhouse/actuator-values.js";
import type { Controller } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import { commandFields, confirmedCommandFields, entry, type Entry, type Fields } from "./components.js";
import type { DocumentSettings } from "./documents.js";
import { displayName, type Owner } from "./identity.js";
import { labelOfWord, optionLabels, suffixed, templates, wordOfLabel } from "./labels.js";

/** The view people expect beside the select, which carries every option; `select` means there is none. */
export type View = "cover" | "switch" | "light" | "select";

interface KindView {
  readonly as: View;
  /** Of a cover. */
  readonly deviceClass?: "window" | "shade" | "curtain";
}

export const kindViews = {
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
} satisfies Record<ActuatorKind, KindView>;

const needs = {
  cover: ["open", "close"],
  switch: ["on", "off"],
  light: ["on", "off"],
  select: [],
} satisfies Record<View, readonly string[]>;

/** The view of an actuator: the configured one where its values allow it, `none` to announce nothing. */
export function viewOf(settings: ActuatorSettings): View | "none" {
  const wanted = settings.homeAssistant.as ?? kindViews[settings.kind].as;
  if (wanted === "none") return "none";
  const words = valueTable(settings);
  return needs[wanted].every((word) => Object.hasOwn(words, word)) ? wanted : "select";
}

export function coverClass(settings: ActuatorSettings): string | undefined {
  const view: KindView = kindViews[settings.kind];
  return view.deviceClass;
}

/** State words the platform's values stand for, in the table's order; commands accept each of them too. */
export const optionsOf = (settings: ActuatorSettings): readonly string[] => [
  ...new Set(Object.keys(valueTable(settings)).map((word) => stateOfWord(settings.kind, word))),
];

export const canStop = (settings: ActuatorSettings): boolean =>
  settings.stop !== undefined || Object.hasOwn(valueTable(settings), "stop");

/** One actuator with everything its components are made from. */
interface Subject {
  readonly actuator: ActuatorSettings;
  readonly owner: Owner;
  readonly settings: DocumentSettings;
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
      settings,
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

function controls(subject: Subject, view: View): Entry[] {
  const stop = canStop(subject.actuator) ? [stopButton(subject)] : [];
  const select = optionsOf(subject.actuator).length === 0 ? [] : [selectEntry(subject, view)];
  switch (view) {
    case "cover":
      return [cover(subject), ...select, ...stop];
    case "switch":
      return [switchEntry(subject), ...select, ...stop];
    case "light":
      return [light(subject), ...select, ...stop];
    case "select":
      return [...select, ...stop];
  }
}

function cover({ actuator, owner, topic, name, common }: Subject): Entry {
  const row: KindRow = kindRows[actuator.kind];
  const position: Fields =
    row.positionMode === null
      ? {}
      : {
          position_topic: topic.json,
          position_template: templates.coverPosition,
          set_position_topic: topic.set,
          position_open: 100,
          position_closed: 0,
        };
  return entry(
    owner,
    { platform: "cover", key: `cover:${actuator.address}`, slug: actuator.id, name },
    {
      ...common,
      device_class: coverClass(actuator),
      state_topic: topic.json,
      value_template: templates.coverState,
      state_open: "open",
      state_closed: "closed",
      ...position,
      ...confirmedCommandFields(topic.set),
      payload_open: "open",
      payload_close: "close",
      payload_stop: canStop(actuator) ? "stop" : null,
    },
  );
}

const onOffPayloads: Fields = { payload_on: "on", payload_off: "off" };

const switchEntry = ({ actuator, owner, topic, name, common }: Subject): Entry =>
  entry(
    owner,
    { platform: "switch", key: `switch:${actuator.address}`, slug: actuator.id, name },
    {
      ...common,
      state_topic: topic.json,
      value_template: templates.onOffState,
      ...onOffPayloads,
      state_on: "on",
      state_off: "off",
      ...confirmedCommandFields(topic.set),
    },
  );

const light = ({ actuator, owner, topic, name, common }: Subject): Entry =>
  entry(
    owner,
    { platform: "light", key: `light:${actuator.address}`, slug: actuator.id, name },
    {
      ...common,
      state_topic: topic.json,
      state_value_template: templates.onOffState,
      ...onOffPayloads,
      ...confirmedCommandFields(topic.set),
    },
  );

function selectEntry({ actuator, owner, settings, topic, name, common }: Subject, view: View): Entry {
  const labels = optionLabels(settings.language, shownWords(actuator));
  const alone = view === "select";
  return entry(
    owner,
    {
      platform: "select",
      key: `select:${actuator.address}`,
      slug: alone ? actuator.id : `${actuator.id}_mode`,
      name: alone ? name : suffixed(settings.language, name, "mode"),
    },
    {
      ...common,
      state_topic: topic.json,
      value_template: labelOfWord("value_json.state", labels, "None"),
      options: [...labels.values()],
      command_template: wordOfLabel(labels) ?? undefined,
      ...confirmedCommandFields(topic.set),
    },
  );
}

const stopButton = ({ actuator, owner, settings, topic, name, common }: Subject): Entry =>
  entry(
    owner,
    {
      platform: "button",
      key: `stop:${actuator.address}`,
      slug: `${actuator.id}_stop`,
      name: suffixed(settings.language, name, "stop"),
    },
    { ...common, icon: "mdi:stop", ...commandFields(topic.set), payload_press: "stop" },
  );

/** A read-only actuator: its state as text and, where it has degrees, its position. */
function readings({ actuator, owner, settings, topic, name, common }: Subject): Entry[] {
  const row: KindRow = kindRows[actuator.kind];
  const state = entry(
    owner,
    { platform: "sensor", key: `state:${actuator.address}`, slug: actuator.id, name },
    {
      ...common,
      state_topic: topic.json,
      // A sensor of text would show `None` as a word.
      value_template: labelOfWord(
        "value_json.state",
        optionLabels(settings.language, shownWords(actuator)),
        "unknown",
      ),
    },
  );
  if (row.positionMode === null) return [state];
  const position = entry(
    owner,
    {
      platform: "sensor",
      key: `position:${actuator.address}`,
      slug: `${actuator.id}_position`,
      name: suffixed(settings.language, name, "position"),
    },
    {
      ...common,
      state_topic: topic.json,
      value_template: templates.degree,
      unit_of_measurement: "%",
      state_class: "measurement",
      suggested_display_precision: 0,
    },
  );
  return [state, position];
}

/** Every state word; `position` where it stands at a degree, which cannot be chosen and is refused. */
function shownWords(actuator: ActuatorSettings): readonly string[] {
  const row: KindRow = kindRows[actuator.kind];
  return row.positionMode === null ? optionsOf(actuator) : [...optionsOf(actuator), "position"];
}

/** `left_skylight` → `Left skylight`. */
export const humanised = (id: string): string => {
  const words = id.replace(/[_-]+/g, " ").trim() || id;
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Home Assistant refuses an entity whose icon is not `prefix:name`. */
const usableIcon = (icon: string | undefined): string | undefined =>
  icon !== undefined && /^[a-z0-9-]+:[a-z0-9-]+$/.test(icon) ? icon : undefined;
