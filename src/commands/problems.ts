import type { CommandResult, Outcome } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { GreenhouseStore } from "../sync/store.js";
import { type Command, laneKey } from "./command.js";

const eventTypes = {
  confirmed: null,
  already: null,
  dry_run: null,
  refused: null,
  superseded: null,
  rejected: "command_rejected",
  unconfirmed: "command_unconfirmed",
  failed: "command_failed",
  unknown: "command_unconfirmed",
} as const satisfies Record<Outcome, BridgeEvent["type"] | null>;

/** What a person should be told of a command's end, with what to check; null when it went as it should. */
export function alertFor(result: CommandResult, at: number): BridgeEvent | null {
  const type = eventTypes[result.outcome];
  if (type === null) return null;
  const { controller, actuator, command, id, reason, request_id, read_back } = result;
  const message = `${controller}/${actuator} ${command ?? ""}: ${result.message ?? result.outcome}`;
  return {
    type,
    severity: "error",
    message,
    at,
    facts: { controller, actuator, command, id, reason, request_id, read_back },
  };
}

/** Whether the end turns the controller's problem flag on or off for this actuator; null leaves it as it is. */
export function problemAfter({ outcome, steps }: Pick<CommandResult, "outcome" | "steps">): boolean | null {
  switch (outcome) {
    case "rejected":
    case "unconfirmed":
    case "unknown":
      return true;
    case "failed":
      // The problem is that of the newest command sent; of this one nothing was.
      return steps.length > 0 ? true : null;
    case "confirmed":
    case "already":
      return false;
    case "dry_run":
    case "refused":
    case "superseded":
      return null;
  }
}

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
