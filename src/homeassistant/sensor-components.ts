import { statusNumbers, takesCommands } from "../greenhouse/device-types.js";
import type { Controller, Parameter, RunningStatus, SensorDefinition } from "../greenhouse/model.js";
import { statusWord } from "../greenhouse/sensor-name-tables.js";
import { catalogueWord, translatedSensorName, translatedStatusName } from "../greenhouse/sensor-names.js";
import type { ParameterSettings } from "../greenhouse/settings.js";
import { humanise } from "./actuator-components.js";
import {
  available,
  confirmedCommandFields,
  type DocumentSettings,
  type Entity,
  type Fields,
} from "./documents.js";
import { displayName } from "./identity.js";
import { multiply, suffix, templates, within } from "./labels.js";
import { classify, counter } from "./sensor-classes.js";

export function sensorEntities(controller: Controller, settings: DocumentSettings): Entity[] {
  const { topics } = settings;
  const house = controller.info.id;
  const nameOf = sensorNames(controller, settings);
  return [...controller.sensors.values()].map(({ definition }) => {
    const { id, key } = definition;
    const state_topic = topics.sensor(house, id).value;
    const fields = { state_topic, ...measurement(definition), ...available(topics, house, id) };
    return { platform: "sensor", key, slug: id, name: displayName(nameOf(definition), id), fields };
  });
}

/** Names sensors: a configured name as it is, else the catalogue's unless two sensors would share it. */
function sensorNames(
  { sensors }: Controller,
  { language, sensorNames: which }: DocumentSettings,
): (definition: SensorDefinition) => string {
  const translate = ({ name, platformName }: SensorDefinition) =>
    (which === "translated" && name === platformName && translatedSensorName(platformName, language)) || name;
  const times = new Map<string, number>();
  for (const name of [...sensors.values()].map(({ definition }) => translate(definition)))
    times.set(name, (times.get(name) ?? 0) + 1);
  return (definition) => {
    const name = translate(definition);
    return (times.get(name) ?? 0) > 1 ? definition.name : name;
  };
}

function measurement(definition: SensorDefinition): Fields {
  if (!definition.numeric) return { value_template: templates.text };
  const { kind, unit: read, decimals: given } = definition;
  const counted = definition.average ? null : counter(catalogueWord(definition.platformName), read, given);
  const { deviceClass, unit, decimals, factor, icon, ...classes } = counted ?? classify(kind, read, given);
  // An average never adds up, even of a quantity that does.
  const stateClass = definition.average && classes.stateClass !== null ? "measurement" : classes.stateClass;
  return {
    device_class: deviceClass ?? undefined,
    unit_of_measurement: shownUnit(unit),
    state_class: stateClass ?? undefined,
    suggested_display_precision: decimals,
    icon: icon ?? undefined,
    value_template: factor === 1 ? undefined : multiply(factor),
  };
}

/**
 * Two entities for each running status: on/off, and the platform's text. The status's first value decides which one is
 * enabled; neither ever disappears because a value changed.
 */
export function statusEntities(controller: Controller, settings: DocumentSettings): Entity[] {
  const all = [...controller.statuses.values()];
  const onOff: Fields = { payload_on: "on", payload_off: "off", device_class: "running" };
  return all.flatMap((status): Entity[] => {
    const { key, slug, name } = statusNames(status, all, controller, settings);
    const state_topic = settings.topics.status(controller.info.id, status.id).value;
    const isSwitch = status.value === null || status.state === "on" || status.state === "off";
    const fieldsOf = (own: Fields, isEnabled: boolean): Fields => ({
      state_topic,
      ...own,
      enabled_by_default: isEnabled ? undefined : false,
    });
    const running = fieldsOf({ value_template: templates.onOff, ...onOff }, isSwitch);
    const raw = fieldsOf({ value_template: templates.text, entity_category: "diagnostic" }, !isSwitch);
    const ofText = { slug: `${slug}_value`, name: suffix(settings.tell, name, "raw") };
    return [
      { platform: "binary_sensor", key: `status:${key}`, slug, name, fields: running },
      { platform: "sensor", key: `text:${key}`, ...ofText, fields: raw },
    ];
  });
}

/**
 * Key, slug and name of a running status. The key is its number; where two share it or there is none, the platform's
 * name. The slug says what the number means. The name is the status's own, or that of the one actuator tied to it.
 */
function statusNames(
  status: RunningStatus,
  all: readonly RunningStatus[],
  { actuators }: Controller,
  { language, tell, sensorNames: which }: DocumentSettings,
) {
  const isAlone = all.every((other) => other === status || other.number !== status.number);
  const number = isAlone ? status.number : null;
  const word = statusWord(status.name);
  const isShared = all.some((other) => other !== status && statusWord(other.name) === word);
  const meaning = (number === null ? null : statusNumbers.get(number)) ?? (isShared ? null : word);
  // Several statuses of one actuator would all get its name.
  const tied = [...actuators.values()].find(
    ({ settings: { running = [] } }) => number !== null && running.length === 1 && running[0] === number,
  );
  const translated = which === "platform" ? null : translatedStatusName(status.name, language);
  return {
    key: number === null ? status.key.replace(/^status:/, "") : String(number),
    slug: meaning ?? status.id,
    name:
      tied === undefined
        ? displayName(translated ?? status.name, status.id)
        : suffix(tell, displayName(tied.settings.name ?? "", humanise(tied.settings.id)), "running"),
  };
}

/** Entities of mirrored addresses: a number where writable, else a sensor. */
export function parameterEntities(controller: Controller, { topics }: DocumentSettings): Entity[] {
  const { id: house, type } = controller.info;
  return [...controller.parameters.values()].map((one) => {
    const { settings: parameter } = one;
    const { id, address, unit } = parameter;
    const topic = topics.parameter(house, id);
    const names = {
      key: `parameter:${address}`,
      slug: id,
      name: displayName(parameter.name ?? "", humanise(id)),
    };
    const shown = { state_topic: topic.value, icon: "mdi:tune-variant" };
    const range = takesCommands(type) ? shownRange(one) : null;
    if (range === null) return { platform: "sensor", ...names, fields: { ...shown, ...quantity(parameter) } };
    const box = { value_template: within(range.min, range.max), ...range, mode: "box" };
    const command = { unit_of_measurement: shownUnit(unit), ...confirmedCommandFields(topic.set) };
    return { platform: "number", ...names, fields: { ...shown, ...box, ...command } };
  });
}

type Range = Readonly<Record<"min" | "max" | "step", number>>;

/**
 * The writable range, widened to include the read value, as Home Assistant shows nothing outside of it. The bridge
 * still refuses writes beyond the limits. Home Assistant refuses a number without a range, or with a step below 0.001.
 */
export function shownRange({ settings: { writable }, value }: Parameter): Range | null {
  if (writable === undefined || writable.min >= writable.max) return null;
  const { min, max } = writable;
  const step = Math.max(writable.step, 0.001);
  if (typeof value !== "number" || !Number.isFinite(value)) return { min, max, step };
  const border = 10 ** Math.ceil(Math.log10(Math.max(Math.abs(value), 1)));
  return { min: value < min ? Math.min(min, -border) : min, max: value > max ? border : max, step };
}

/**
 * Unit and decimals of an address, sent only where the configuration declares a quantity. With them Home Assistant
 * accepts numbers only, and an address may hold anything.
 */
function quantity({ unit: configured, decimals, scale }: ParameterSettings): Fields {
  const unit = shownUnit(configured);
  if (unit === undefined && decimals === undefined && scale === 1) return { value_template: templates.text };
  return {
    value_template: templates.number,
    unit_of_measurement: unit,
    state_class: "measurement",
    suggested_display_precision: decimals,
  };
}

const shownUnit = (unit: string | null | undefined): string | undefined =>
  displayName(unit ?? "", "").slice(0, 32) || undefined;
