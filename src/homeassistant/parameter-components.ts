import { takesCommands } from "../greenhouse/device-types.js";
import type { Controller, Parameter } from "../greenhouse/model.js";
import type { ParameterSettings } from "../greenhouse/settings.js";
import { humanised } from "./actuator-components.js";
import { confirmedCommandFields, entry, type Entry, type Fields } from "./components.js";
import type { DocumentSettings } from "./document.js";
import { displayName, type Owner } from "./identity.js";
import { templates, within } from "./templates.js";

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
      const fields = { state_topic: topic.value, ...quantity(parameter) };
      return entry(owner, { platform: "sensor", key, slug: id, name }, fields);
    }
    return entry(
      owner,
      { platform: "number", key, slug: id, name },
      {
        state_topic: topic.value,
        value_template: within(range.min, range.max),
        ...range,
        mode: "box",
        unit_of_measurement: unitOf(parameter),
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
  const unit = unitOf(parameter);
  if (unit === undefined && decimals === undefined && scale === 1) return { value_template: templates.text };
  return {
    value_template: templates.number,
    unit_of_measurement: unit,
    state_class: "measurement",
    suggested_display_precision: decimals,
  };
}

const unitOf = ({ unit }: ParameterSettings): string | undefined =>
  unit === undefined ? undefined : displayName(unit, "").slice(0, 32) || undefined;
