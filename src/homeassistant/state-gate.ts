import type { Controller } from "../greenhouse/model.js";
import { sameActuator, sameParameter, sameSensor, sameStatus } from "./device-documents.js";

/**
 * Which states of a controller may be published: a state never comes before the announcement that knows it, because Home
 * Assistant would read it by the old one, and no topic is emptied before the component that reads it is removed.
 */
export class StateGate {
  /**
   * By code: everything was announced once; the controller as last announced, while a newer announcement waits; or it was removed
   * for good, and its announcement still stands.
   */
  readonly #gates = new Map<string, "open" | Controller | "leaving">();
  readonly #mayEmptyEarlier: () => boolean;

  /** `mayEmptyEarlier`: whether topics of an earlier run may be emptied. */
  constructor(mayEmptyEarlier: () => boolean) {
    this.#mayEmptyEarlier = mayEmptyEarlier;
  }

  /** A controller appeared, changed in a way that has to be announced, or was removed for good (`after` undefined). */
  changed(code: string, before: Controller | undefined, after: Controller | undefined): void {
    const gate = this.#gates.get(code);
    if (gate !== undefined && after === undefined) this.#gates.set(code, "leaving");
    else if (gate === "open" && before) this.#gates.set(code, before);
  }

  /** Home Assistant knows the controller as it is, or never will: everything may be published and emptied. */
  open(code: string): void {
    this.#gates.set(code, "open");
  }

  /** The announcement of a controller that was removed is gone too. */
  left(code: string): void {
    if (this.#gates.get(code) === "leaving") this.#gates.delete(code);
  }

  /** `null` stands for what an earlier run left. */
  mayClear(code: string | null): boolean {
    return code === null ? this.#mayEmptyEarlier() : this.#gates.get(code) !== "leaving";
  }

  /** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what the broker holds. */
  visible(shown: Controller | undefined, after: Controller): Controller | null {
    const known = this.#gates.get(after.info.code);
    if (known === undefined || known === "leaving") return null;
    if (known === "open") return after;
    return {
      ...after,
      sensors: passed(known.sensors, shown?.sensors, after.sensors, sameSensor),
      statuses: passed(known.statuses, shown?.statuses, after.statuses, sameStatus),
      actuators: passed(known.actuators, shown?.actuators, after.actuators, sameActuator),
      parameters: passed(known.parameters, shown?.parameters, after.parameters, sameParameter),
    };
  }
}

/** What was announced as it is goes out; of anything else the broker keeps what it has. */
function passed<Item>(
  known: ReadonlyMap<string, Item>,
  shown: ReadonlyMap<string, Item> | undefined,
  after: ReadonlyMap<string, Item>,
  same: (one: Item, other: Item) => boolean,
): ReadonlyMap<string, Item> {
  const visible = new Map<string, Item>();
  for (const [id, item] of after) {
    const announced = known.get(id);
    const old = shown?.get(id);
    if (announced !== undefined && same(announced, item)) visible.set(id, item);
    else if (old !== undefined) visible.set(id, old);
  }
  for (const [id, item] of shown ?? []) if (!after.has(id)) visible.set(id, item);
  return visible;
}
