import { allowedOf, vocabulary } from "../greenhouse/command/words.js";
import {
  actuatorDocument,
  isoOrNull,
  parameterDocument,
  sensorDocument,
  statusDocument,
} from "../greenhouse/documents.js";
import type { Language } from "../greenhouse/labels.js";
import type { Actuator, Controller, Quality, Sensor, SensorDefinition } from "../greenhouse/model.js";
import { translatedSensorName, translatedStatusName } from "../greenhouse/sensor-names.js";
import type { ActuatorView, ControllerView, Label, OverviewRow } from "../page/protocol.js";
import type { CommandBoard } from "./board.js";

const worst: readonly Quality[] = ["bad", "stale", "uncertain", "good"];

/** A controller that changes becomes another object, so that hundreds which do not cost little. */
const rows = new WeakMap<Controller, OverviewRow>();

/** `command` is the newest under way, `alarms` how many are on. */
export function overviewRow(
  controller: Controller,
  command: OverviewRow["command"],
  alarms: number,
): OverviewRow {
  const held = rows.get(controller);
  if (held?.command === command && held.alarms === alarms) return held;
  const { info, availability, problem } = controller;
  const sensors = [...controller.sensors.values()];
  const qualities = new Set(sensors.map(({ quality }) => quality));
  const oldest = Math.min(...sensors.map(({ measuredAt }) => measuredAt ?? Infinity));
  const quality = worst.find((one) => qualities.has(one)) ?? null;
  const oldest_reading_at = isoOrNull(oldest === Infinity ? null : oldest);
  const row = { name: info.name, availability, problem, quality, oldest_reading_at, command, alarms };
  rows.set(controller, row);
  return row;
}

export function controllerView(controller: Controller, board: CommandBoard): ControllerView {
  const { info, availability, problem, sensors, actuators, statuses, parameters } = controller;
  const { id, code, name } = info;
  return {
    ...{ id, code, name, availability, problem },
    sensors: each(sensors, (sensor) => ({ ...sensorDocument(sensor), label: sensorLabel(sensor) })),
    actuators: each(actuators, (actuator, key) => ({
      ...actuatorView(actuator),
      ...board.shown(id, "actuator", key),
    })),
    status: each(statuses, (status) => ({
      ...statusDocument(status),
      label: labelOf((language) => translatedStatusName(status.name, language) ?? status.name),
    })),
    parameters: each(parameters, (parameter, key) => ({
      ...parameterDocument(parameter),
      name: parameter.settings.name ?? key,
      writable: parameter.settings.writable ?? null,
      ...board.shown(id, "parameter", key),
    })),
  };
}

const each = <Item, Shown>(items: ReadonlyMap<string, Item>, show: (item: Item, id: string) => Shown) =>
  Object.fromEntries([...items].map(([id, item]) => [id, show(item, id)]));

const labelOf = (inWords: (language: Language) => string): Label => ({
  en: inWords("en"),
  zh: inWords("zh"),
});

/** Looked up in the catalogue once for each sensor that a view shows, as that takes longer than all else about it. */
const labels = new WeakMap<SensorDefinition, Label>();

/** Its own name where it was given one, else the platform's in the words of the catalogue. */
function sensorLabel({ definition }: Sensor): Label {
  const { name, platformName } = definition;
  const inWords = (language: Language) => translatedSensorName(platformName, language) ?? name;
  const label = labels.get(definition) ?? labelOf(name === platformName ? inWords : () => name);
  labels.set(definition, label);
  return label;
}

/** What may be commanded, who locked it, and what ends by itself. */
function actuatorView(actuator: Actuator): Omit<ActuatorView, "command" | "result"> {
  const { settings, restrictions } = actuator;
  const { words, degrees } = vocabulary(settings);
  return {
    ...actuatorDocument(actuator),
    name: settings.name ?? settings.id,
    kind: settings.kind,
    words: words.filter((word) => word !== "stop"),
    degrees: degrees !== null,
    stop: words.includes("stop"),
    read_only: settings.readOnly,
    allowed: allowedOf(actuator),
    lock: restrictions?.lock ?? null,
    lease: restrictions?.lease ?? null,
  };
}

/** What people call a controller or an actuator of it. */
export function nameOf({ info, actuators }: Controller, actuator: string | null): string {
  const name = actuator && (actuators.get(actuator)?.settings.name ?? actuator);
  return name ? `${info.name} / ${name}` : info.name;
}
