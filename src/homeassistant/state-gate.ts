import type { Actuator, Controller, Parameter, RunningStatus, Sensor } from "../greenhouse/model.js";
import type { Wanter } from "./announced.js";
import { shownRange } from "./sensor-components.js";

/*
 * No state is shown before its announcement: Home Assistant would read it by the one before. And no topic is emptied before the
 * component that reads it is removed.
 */

/** Which states of a controller may be published. */
export type Gate =
  /** None, as it was not announced yet; or all of them. */
  | { readonly type: "shut" | "open" }
  /** What is as it was `known` when it changed: the newer announcement waits. */
  | { readonly type: "behind"; readonly known: Controller }
  /** None, and none may be emptied: it was removed for good, and its announcement still stands. */
  | { readonly type: "leaving" };

/** After a change of what is announced; `after` is undefined where the controller was removed for good. */
export function changedGate(gate: Gate, before: Controller | undefined, after: Controller | undefined): Gate {
  if (after === undefined) return gate.type === "shut" ? gate : { type: "leaving" };
  return gate.type === "open" && before !== undefined ? { type: "behind", known: before } : gate;
}

/** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what the broker holds, and keeps of the rest. */
export function visible(gate: Gate, shown: Controller | undefined, after: Controller): Controller | null {
  if (gate.type !== "behind") return gate.type === "open" ? after : null;
  const { known } = gate;
  return {
    ...after,
    sensors: passed(known.sensors, shown?.sensors, after.sensors, sameSensor),
    statuses: passed(known.statuses, shown?.statuses, after.statuses, sameStatus),
    actuators: passed(known.actuators, shown?.actuators, after.actuators, sameActuator),
    parameters: passed(known.parameters, shown?.parameters, after.parameters, sameParameter),
  };
}

/**
 * Whether what is announced cannot differ between two views. Called for every change of every controller, so it compares references
 * and a handful of fields and builds nothing.
 */
export const announcesTheSame = (before: Wanter, after: Wanter): boolean =>
  before === after ||
  (typeof before === "object" &&
    typeof after === "object" &&
    before.info === after.info &&
    same(before.sensors, after.sensors, sameSensor) &&
    same(before.statuses, after.statuses, sameStatus) &&
    // What its actuators are follows from these alone.
    before.settings === after.settings &&
    same(before.parameters, after.parameters, sameParameter));

type Items<Item> = ReadonlyMap<string, Item>;
type Same<Item> = (one: Item, other: Item) => boolean;

function same<Item>(before: Items<Item>, after: Items<Item>, equal: Same<Item>): boolean {
  if (before === after) return true;
  if (before.size !== after.size) return false;
  for (const [id, old] of before) {
    const item = after.get(id);
    if (item === undefined || (item !== old && !equal(old, item))) return false;
  }
  return true;
}

function passed<T>(known: Items<T>, shown: Items<T> | undefined, after: Items<T>, equal: Same<T>): Items<T> {
  const items = new Map(shown);
  for (const [id, item] of after) {
    const announced = known.get(id);
    if (announced !== undefined && equal(announced, item)) items.set(id, item);
  }
  return items;
}

const sameSensor = (one: Sensor, other: Sensor): boolean => one.definition === other.definition;
const sameStatus = (one: RunningStatus, other: RunningStatus): boolean =>
  one.key === other.key && one.id === other.id && one.name === other.name && one.number === other.number;
const sameActuator = (one: Actuator, other: Actuator): boolean => one.settings === other.settings;

export function sameParameter(one: Parameter, other: Parameter): boolean {
  if (one.settings !== other.settings) return false;
  if (one.value === other.value || one.settings.writable === undefined) return true;
  const before = shownRange(one);
  const after = shownRange(other);
  return before?.min === after?.min && before?.max === after?.max;
}
