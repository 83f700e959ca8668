import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { problemAfter } from "./alerts.js";
import { type Command, laneKey } from "./command.js";

const targets = ["actuator", "parameter", "address"] as const;

/** Which actuators' newest sent command ended badly; a controller's flag is on while any of its actuators is here. */
export class Problems {
  readonly #store: GreenhouseStore;
  readonly #open = new Map<string, Set<string>>();

  constructor(store: GreenhouseStore) {
    this.#store = store;
  }

  ended(command: Pick<Command, "code" | "target" | "targetId">, result: CommandResult): void {
    const problem = problemAfter(result);
    if (problem === true) this.raise(command);
    else if (problem === false) this.clear(command);
  }

  raise(about: Pick<Command, "code" | "target" | "targetId">): void {
    const keys = this.#open.get(about.code) ?? new Set();
    this.#open.set(about.code, keys.add(laneKey(about)));
    this.show(about.code);
  }

  clear(about: Pick<Command, "code" | "target" | "targetId">): void {
    this.#open.get(about.code)?.delete(laneKey(about));
    this.show(about.code);
  }

  /** A person has seen it: one target's problem, or all of the controller's. */
  acknowledge(code: string, targetId: string | null): void {
    if (targetId === null) this.#open.delete(code);
    else for (const target of targets) this.#open.get(code)?.delete(laneKey({ code, target, targetId }));
    this.show(code);
  }

  /** Brings the controller's flag up to date, also when it was only just admitted. */
  show(code: string): void {
    this.#store.dispatch(code, { type: "problem", on: (this.#open.get(code)?.size ?? 0) > 0 });
  }
}
