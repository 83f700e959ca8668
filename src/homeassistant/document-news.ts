import type { Controller, RunningStatus } from "../greenhouse/model.js";

/**
 * Whether a controller's discovery message can differ between two views of it. Called for every change of every
 * controller, so it compares references and a handful of fields and builds nothing.
 */
export function announcesTheSame(before: Controller, after: Controller): boolean {
  return (
    before.info === after.info &&
    same(before.sensors, after.sensors, (one, other) => one.definition === other.definition) &&
    same(before.statuses, after.statuses, sameStatus) &&
    same(before.actuators, after.actuators, (one, other) => one.settings === other.settings) &&
    same(before.parameters, after.parameters, (one, other) => one.settings === other.settings)
  );
}

const sameStatus = (one: RunningStatus, other: RunningStatus) =>
  one.key === other.key && one.id === other.id && one.name === other.name && one.number === other.number;

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
