import type { Command, Phase, ResultAddressee } from "../commands/command.js";
import { canonical } from "../greenhouse/command/words.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { forgetOldest } from "../runtime/logins.js";
import type { CommandDocument } from "../page/protocol.js";

/** Commands as they are told; more than anybody asks for later. */
const mostKept = 1_000;

interface Followed {
  readonly document: CommandDocument;
  readonly result: CommandResult | null;
}

const keyOf = (controller: string, target: string, id: string) => `${controller} ${target} ${id}`;

/** What was told of commands: the newest in the order of their taking, and of each target the last result. */
export class CommandBoard {
  /** By target, id and the time of taking, as an id may be used again. */
  readonly #followed = new Map<string, Followed>();
  /** The key of the newest that is not only waiting for its turn, of each target. */
  readonly #newest = new Map<string, string>();
  readonly #results = new Map<string, CommandResult>();
  readonly #listeners = new Set<(refused: CommandResult) => void>();

  phase(command: Command, phase: Phase): void {
    const { id, controllerId: controller, target, targetId: actuator, by, via } = command;
    const received_at = new Date(command.receivedAt).toISOString();
    const place = keyOf(controller, target, actuator);
    const key = `${place} ${received_at} ${id}`;
    // One that was passed over for another may have its turn after all.
    if (phase === "checking" || !this.#followed.has(key)) this.#newest.set(place, key);
    const document = { id, controller, actuator, phase, by, via, command: canonical(command.wanted) };
    const result = this.#followed.get(key)?.result ?? null;
    this.#followed.set(key, { document: { ...document, received_at }, result });
    forgetOldest(this.#followed, mostKept);
  }

  result(result: CommandResult, { controllerId, target, targetId }: ResultAddressee): void {
    // Whoever submitted it learns its id only now, and waits from then on.
    if (result.outcome === "refused") queueMicrotask(() => this.#listeners.forEach((tell) => tell(result)));
    // The answer to a repeated message is news for its sender alone, and names are invented without end.
    if (result.reason === "duplicate" || result.reason === "unknown_actuator") return;
    const place = keyOf(controllerId, target, targetId);
    const key = `${place} ${result.received_at} ${result.id}`;
    const followed = this.#followed.get(key);
    if (followed) this.#followed.set(key, { ...followed, result });
    this.#results.set(place, result);
  }

  /** A result of an earlier run, the newest first. */
  restore(result: CommandResult, target: string): void {
    const place = keyOf(result.controller, target, result.actuator);
    if (!this.#results.has(place)) this.#results.set(place, result);
  }

  /** The refusal of what was submitted just now, once it is told: at once, or when the journal has it. */
  refusalOf(id: string): Promise<CommandResult> {
    return new Promise((resolve) => {
      const tell = (refused: CommandResult) => {
        if (refused.id !== id) return;
        this.#listeners.delete(tell);
        resolve(refused);
      };
      this.#listeners.add(tell);
    });
  }

  find(id: string): Followed | null {
    return [...this.#followed.values()].findLast(({ document }) => document.id === id) ?? null;
  }

  /** The newest command of a target, and the last result, which may be that of a later refusal. */
  shown(controllerId: string, target: string, id: string) {
    const place = keyOf(controllerId, target, id);
    const command = this.#followed.get(this.#newest.get(place) ?? "")?.document ?? null;
    return { command, result: this.#results.get(place) ?? null };
  }

  /** The newest that is under way at each controller. */
  running(): ReadonlyMap<string, CommandDocument> {
    const open = [...this.#followed.values()].filter(({ document }) => document.phase !== "done");
    return new Map(open.map(({ document }) => [document.controller, document]));
  }
}
