import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";
import { stateOfWord, valueTable } from "../greenhouse/actuator-values.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";

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
