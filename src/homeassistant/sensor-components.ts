import { statusNumbers, takesCommands } from "../greenhouse/device-types.js";
import type { Controller, Parameter, RunningStatus, SensorDefinition } from "../greenhouse/model.js";
import { statusWord } from "../greenhouse/sensor-name-tables.js";
import { catalogueWord, translatedSensorName, translatedStatusName } from "../greenhouse/sensor-names.js";
import type { ParameterSettings } from "../greenhouse/settings.js";
import { humanised } from "./actuator-components.js";
import { confirmedCommandFields, entry, type Entry, type Fields, available } from "./components.js";
import type { DocumentSettings } from "./documents.js";
import { displayName, type Owner } from "./identity.js";
import { multiplied, suffixed, templates, within } from "./labels.js";
import { classify, counter } from "./sensor-classes.js";

export function sensorEntries(controller: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  const { topics } = settings;
  const { id } = controller.info;
  const nameOf = sensorNames(controller, settings);
  return [...controller.sensors.values()].map(({ definition }) =>
    entry(
      owner,
      {
        platform: "sensor",
        key: definition.key,
        slug: definition.id,
        name: displayName(nameOf(definition), definition.id),
      },
      {
        state_topic: topics.sensor(id, definition.id).value,
        ...measurement(definition),
        ...available(topics, id, definition.id),
      },
    ),
  );
}

/** A configured name as it is; else the catalogue's, unless two sensors would share it. */
function sensorNames(
  { sensors }: Controller,
  { language, sensorNames: which }: DocumentSettings,
): (definition: SensorDefinition) => string {
  const translated = new Map<string, string>();
  const times = new Map<string, number>();
  for (const { definition } of which === "platform" ? [] : sensors.values()) {
    const { key, name, platformName } = definition;
    const own = name === platformName ? translatedSensorName(platformName, language) : null;
    if (own !== null) translated.set(key, own);
    times.set(own ?? name, (times.get(own ?? name) ?? 0) + 1);
  }
  return ({ key, name }) => {
    const own = translated.get(key);
    return own === undefined || (times.get(own) ?? 0) > 1 ? name : own;
  };
}

function measurement(definition: SensorDefinition): Fields {
  if (!definition.numeric) return { value_template: templates.text };
  const { kind, unit: read, decimals: given } = definition;
  const { deviceClass, unit, stateClass, decimals, factor, icon } =
    counter(catalogueWord(definition.platformName), read, given) ?? classify(kind, read, given);
  return {
    device_class: deviceClass ?? undefined,
    unit_of_measurement: shownUnit(unit),
    state_class: stateClass ?? undefined,
    suggested_display_precision: decimals,
    icon: icon ?? undefined,
    value_template: factor === 1 ? undefined : multiplied(factor),
  };
}

/**
 * Each running status twice: as on/off, and as the platform's text. Only one of them is enabled when Home Assistant
 * first sees it, by what the status then shows; neither ever disappears because a value changed.
 */
export function statusEntries(controller: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  const statuses = [...controller.statuses.values()];
  return statuses.flatMap((status) => {
    const slug = statusSlug(status, statuses);
    const name = statusName(controller, status, settings);
    const state_topic = settings.topics.status(controller.info.id, status.id).value;
    const key = statusKey(status, statuses);
    const isSwitch = status.value === null || status.state === "on" || status.state === "off";
    const text = { key: `text:${key.slice("status:".length)}`, slug: `${slug}_value` };
    const onOff: Fields = { payload_on: "on", payload_off: "off", device_class: "running" };
    return [
      entry(
        owner,
        { platform: "binary_sensor", key, slug, name },
        {
          ...{ state_topic, value_template: templates.onOff, ...onOff },
          enabled_by_default: isSwitch ? undefined : false,
        },
      ),
      entry(
        owner,
        { platform: "sensor", ...text, name: suffixed(settings.language, name, "raw") },
        {
          ...{ state_topic, value_template: templates.text, entity_category: "diagnostic" },
          enabled_by_default: isSwitch ? false : undefined,
        },
      ),
    ];
  });
}

/** The number alone, free of names; where two share one, or there is none, the name with it. */
function statusKey({ key, number }: RunningStatus, all: readonly RunningStatus[]): string {
  const isAlone = number !== null && all.filter((other) => other.number === number).length === 1;
  if (isAlone) return `status:${number}`;
  return key.startsWith("status:") ? key : `status:${key}`;
}

/** Named for its actuator where the configuration ties one to its number and the device shows the number once. */
function statusName(
  { actuators, statuses }: Controller,
  status: RunningStatus,
  { language, sensorNames: which }: DocumentSettings,
): string {
  const { number } = status;
  const shown = [...statuses.values()].filter((other) => other.number === number).length;
  const tied = [...actuators.values()].find(({ settings: { running } }) => running === number)?.settings;
  if (number === null || shown > 1 || tied === undefined) {
    const own = which === "platform" ? null : translatedStatusName(status.name, language);
    return displayName(own ?? status.name, status.id);
  }
  return suffixed(language, displayName(tied.name ?? "", humanised(tied.id)), "running");
}

/** What the number means, unless the device shows the number twice; then what the name does. */
function statusSlug(status: RunningStatus, all: readonly RunningStatus[]): string {
  const { number } = status;
  const meaning = number === null ? undefined : statusNumbers.get(number);
  const alone = all.every((other) => other === status || other.number !== number);
  if (meaning !== undefined && alone) return meaning;
  const word = statusWord(status.name);
  const isShared = all.some((other) => other !== status && statusWord(other.name) === word);
  return word === null || isShared ? status.id : word;
}

/** Mirrored addresses: a number where it may be written, else a sensor. */
export function parameterEntries(controller: Controller, owner: Owner, settings: DocumentSettings): Entry[] {
  return [...controller.parameters.values()].map((one) => {
    const { settings: parameter } = one;
    const { id, address } = parameter;
    const topic = settings.topics.parameter(controller.info.id, id);
    const name = displayName(parameter.name ?? "", humanised(id));
    const key = `parameter:${address}`;
    const range = takesCommands(controller.info.type) ? shownRange(one) : null;
    if (range === null) {
      const fields = { state_topic: topic.value, icon: "mdi:tune-variant", ...quantity(parameter) };
      return entry(owner, { platform: "sensor", key, slug: id, name }, fields);
    }
    return entry(
      owner,
      { platform: "number", key, slug: id, name },
      {
        state_topic: topic.value,
        icon: "mdi:tune-variant",
        value_template: within(range.min, range.max),
        ...range,
        mode: "box",
        unit_of_measurement: shownUnit(parameter.unit),
        ...confirmedCommandFields(topic.set),
      },
    );
  });
}

type Range = Readonly<Record<"min" | "max" | "step", number>>;

/**
 * The writable range, widened while the value read lies outside: Home Assistant would show nothing for it. What is then written
 * outside the limits is refused.
 */
export function shownRange({ settings, value }: Parameter): Range | null {
  const range = writableRange(settings);
  if (range === null || typeof value !== "number" || !Number.isFinite(value)) return range;
  const border = 10 ** Math.ceil(Math.log10(Math.max(Math.abs(value), 1)));
  const { min, max, step } = range;
  return { min: value < min ? Math.min(min, -border) : min, max: value > max ? border : max, step };
}

/** Home Assistant refuses a number without a range and one with a step below 0.001. */
function writableRange({ writable }: ParameterSettings): Range | null {
  if (writable === undefined || writable.min >= writable.max) return null;
  return { min: writable.min, max: writable.max, step: Math.max(writable.step, 0.001) };
}

/**
 * With a unit or decimals Home Assistant takes numbers only, and an address may hold anything. So both are sent only
 * where the configuration says it is a quantity, whatever was read last.
 */
function quantity(parameter: ParameterSettings): Fields {
  const { decimals, scale } = parameter;
  const unit = shownUnit(parameter.unit);
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
