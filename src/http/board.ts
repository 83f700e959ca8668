import { forgetOldest } from "../runtime/table.js";
import type { Command, Phase, ResultAddressee } from "../commands/command.js";
import { canonical } from "../greenhouse/command/words.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { CommandDocument } from "../page/protocol.js";

/** Commands kept for `api/commands/<id>`; older ones are found in the journal. */
const mostKept = 1_000;

const beforePost: ReadonlySet<Phase> = new Set(["waiting", "checking", "sending"]);

interface Told {
  command: CommandDocument;
  /** The last one before its end. */
  openPhase: Phase;
  /** Null until there is one. */
  result: CommandResult | null;
}

const placeOf = (controllerId: string, target: string, id: string) => `${controllerId} ${target} ${id}`;

/** What was told of commands: the newest in the order of their taking, and of each target the last result. */
export class CommandBoard {
  /** By target, id and the time of taking, as an id may be used again. */
  readonly #told = new Map<string, Told>();
  /** The one that is shown for each target. */
  readonly #newest = new Map<string, Told>();
  readonly #results = new Map<string, CommandResult>();
  readonly #listeners = new Set<(refused: CommandResult) => void>();
  #changes = 0;

  /** Grows with everything that is told. */
  get changes(): number {
    return this.#changes;
  }

  phase(taken: Command, phase: Phase, isNewest: boolean): void {
    this.#changes += 1;
    const { id, controllerId: controller, target, targetId: actuator, by, via } = taken;
    const received_at = new Date(taken.receivedAt).toISOString();
    const about = { id, controller, actuator, phase, by, via };
    const command = { ...about, command: canonical(taken.wanted), received_at };
    const place = placeOf(controller, target, actuator);
    const key = `${place} ${received_at} ${id}`;
    const known = this.#told.get(key);
    const told = known ?? { command, openPhase: phase, result: null };
    told.command = command;
    if (phase !== "done") told.openPhase = phase;
    this.#told.set(key, told);
    if (isNewest || !this.#newest.has(place)) this.#newest.set(place, told);
    forgetOldest(this.#told, mostKept);
  }

  result(result: CommandResult, { controllerId, target, targetId }: ResultAddressee): void {
    this.#changes += 1;
    // The sender learns its id only now, and waits from then on.
    if (result.outcome === "refused") queueMicrotask(() => this.#listeners.forEach((tell) => tell(result)));
    // The answer to a repeated message is news for its sender alone, and names are invented without end.
    if (result.reason === "duplicate" || result.reason === "unknown_actuator") return;
    const place = placeOf(controllerId, target, targetId);
    const told = this.#told.get(`${place} ${result.received_at} ${result.id}`);
    if (told) told.result = result;
    this.#results.set(place, result);
  }

  /** A result of an earlier run, the newest first. */
  restore(result: CommandResult, target: string): void {
    const place = placeOf(result.controller, target, result.actuator);
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

  /** The newest under an id: that of this sender, else of any, as senders choose ids by themselves. */
  find(id: string, via: string | null) {
    const named = [...this.#told.values()].filter(({ command }) => command.id === id);
    const found = named.findLast(({ command }) => command.via === via) ?? named.at(-1);
    if (found === undefined) return null;
    const { command, result, openPhase } = found;
    // Its end waits for the disk, and is no end before that.
    return { command, result, phase: result === null ? openPhase : command.phase };
  }

  /** The newest command of a target, and the last result, which may be that of a later refusal. */
  newestOf(controllerId: string, target: string, id: string) {
    const place = placeOf(controllerId, target, id);
    return { command: this.#newest.get(place)?.command ?? null, result: this.#results.get(place) ?? null };
  }

  /** Whether one is on its way to its first POST. */
  isSending(): boolean {
    return [...this.#told.values()].some(({ command }) => beforePost.has(command.phase));
  }

  /** The newest that is under way at each controller. */
  running(): ReadonlyMap<string, CommandDocument> {
    const open = [...this.#told.values()].filter(({ command }) => command.phase !== "done");
    return new Map(open.map(({ command }) => [command.controller, command]));
  }
}
