import type { Actuator, Controller, Parameter, RunningStatus, Sensor } from "../greenhouse/model.js";
import { shownRange } from "./parameter-components.js";

/**
 * Whether a controller's discovery message can differ between two views of it. Called for every change of every
 * controller, so it compares references and a handful of fields and builds nothing.
 */
export function announcesTheSame(before: Controller, after: Controller): boolean {
  return (
    before.info === after.info &&
    same(before.sensors, after.sensors, sameSensor) &&
    same(before.statuses, after.statuses, sameStatus) &&
    same(before.actuators, after.actuators, sameActuator) &&
    same(before.parameters, after.parameters, sameParameter)
  );
}

export const sameSensor = (one: Sensor, other: Sensor): boolean => one.definition === other.definition;

export const sameActuator = (one: Actuator, other: Actuator): boolean => one.settings === other.settings;

export function sameParameter(one: Parameter, other: Parameter): boolean {
  if (one.settings !== other.settings) return false;
  if (one.value === other.value || one.settings.writable === undefined) return true;
  const [before, after] = [shownRange(one), shownRange(other)];
  return before?.min === after?.min && before?.max === after?.max;
}

export const sameStatus = (one: RunningStatus, other: RunningStatus): boolean =>
  one.key === other.key && one.id === other.id && one.name === other.name && one.number === other.number;

/** Whether anything that both views announce is announced differently. */
export const contradicts = (before: Controller, after: Controller): boolean =>
  differs(before.sensors, after.sensors, sameSensor) ||
  differs(before.statuses, after.statuses, sameStatus) ||
  differs(before.actuators, after.actuators, sameActuator) ||
  differs(before.parameters, after.parameters, sameParameter);

function differs<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
  equal: (one: Item, other: Item) => boolean,
): boolean {
  return [...before].some(([key, old]) => {
    const item = after.get(key);
    return item !== undefined && !equal(old, item);
  });
}

function same<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
  equal: (one: Item, other: Item) => boolean,
): boolean {
  if (before === after) return true;
  if (before.size !== after.size) return false;
  for (const [key, item] of after) {
    const old = before.get(key);
    if (old === undefined || !(old === item || equal(old, item))) return false;
  }
  return true;
}
