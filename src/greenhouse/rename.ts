import type { BandsByKind } from "./bands.js";
import { renameSensor } from "./fold-sensors.js";
import { mapChanged, withChange } from "./freshness.js";
import type { Actuator, Controller, LayoutSlot, Sensor, SensorDefinition } from "./model.js";
import type { ControllerSettings } from "./settings.js";

/*
 * Applies configuration changes at run time: names, areas, icons, places, and limits of readings. Everything read or
 * commanded stays. Unchanged parts keep their reference, as listeners compare by reference.
 */

export function renameAll(
  controller: Controller,
  said: ControllerSettings | null,
  bandsByKind: BandsByKind | undefined,
): Controller {
  const settings = kept(controller.settings, said);
  const own = new Map(settings?.sensors.map((one) => [one.id, one]));
  const known = new Map<SensorDefinition, SensorDefinition>();
  const definitionOf = (before: SensorDefinition): SensorDefinition => {
    const after = known.get(before) ?? renameSensor(before, own.get(before.id), bandsByKind);
    known.set(before, after);
    return after;
  };
  const slots = (all: readonly LayoutSlot[]) =>
    keptAll(
      all,
      all.map((slot) => {
        const definition = slot.definition && definitionOf(slot.definition);
        return definition === slot.definition ? slot : { ...slot, definition };
      }),
    );
  const { averages } = controller;
  return withChange(controller, {
    settings,
    info: infoBy(controller.info, settings),
    layout: slots(controller.layout),
    ...(averages && { averages: slots(averages) }),
    sensors: mapChanged(controller.sensors, (sensor): Sensor => {
      const definition = definitionOf(sensor.definition);
      return definition === sensor.definition ? sensor : { ...sensor, definition };
    }),
    actuators: actuatorsBy(controller.actuators, settings),
    parameters: mapChanged(controller.parameters, (parameter) => {
      const one = settings?.parameters.find(({ id }) => id === parameter.settings.id);
      const after = kept(parameter.settings, one ?? parameter.settings);
      return after === parameter.settings ? parameter : { ...parameter, settings: after };
    }),
  });
}

function infoBy(info: Controller["info"], settings: ControllerSettings | null): Controller["info"] {
  const name = settings?.name ?? (info.record?.name || info.code);
  const area = settings?.area ?? null;
  return name === info.name && area === info.area ? info : { ...info, name, area };
}

/** In the order of the file. */
function actuatorsBy(
  before: Controller["actuators"],
  settings: ControllerSettings | null,
): Controller["actuators"] {
  const after = (settings?.actuators ?? []).flatMap((one): readonly Actuator[] => {
    const held = before.get(one.id);
    if (held === undefined) return [];
    const own = kept(held.settings, one);
    return [own === held.settings ? held : { ...held, settings: own }];
  });
  const all = [...before.values()];
  return keptAll(all, after) === all ? before : new Map(after.map((one) => [one.settings.id, one]));
}

const kept = <Said>(before: Said, after: Said): Said =>
  JSON.stringify(before) === JSON.stringify(after) ? before : after;

const keptAll = <Item>(before: readonly Item[], after: readonly Item[]): readonly Item[] =>
  before.length === after.length && before.every((one, at) => one === after[at]) ? before : after;
