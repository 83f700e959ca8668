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
  /** The last phase before the end. */
  openPhase: Phase;
  /** Null until there is one. */
  result: CommandResult | null;
}

const placeOf = (controllerId: string, target: string, id: string) => `${controllerId} ${target} ${id}`;

/** The newest commands in the order of their arrival, and the last result of each target. */
export class CommandBoard {
  /** By target, id and time of arrival, since senders may use an id again. */
  readonly #told = new Map<string, Told>();
  /** The command that is shown for each target. */
  readonly #newest = new Map<string, Told>();
  readonly #results = new Map<string, CommandResult>();
  readonly #listeners = new Set<(refused: CommandResult) => void>();
  #changes = 0;

  /** Counts all changes of the board. */
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
    // The sender gets the id of its command only when `submit` returns, and waits for the refusal from then on.
    if (result.outcome === "refused") queueMicrotask(() => this.#listeners.forEach((tell) => tell(result)));
    // A refused duplicate concerns its sender alone, and senders can invent unknown actuators without end.
    if (result.reason === "duplicate" || result.reason === "unknown_actuator") return;
    const place = placeOf(controllerId, target, targetId);
    const told = this.#told.get(`${place} ${result.received_at} ${result.id}`);
    if (told) told.result = result;
    this.#results.set(place, result);
  }

  /** Takes up results of an earlier run, the newest first. */
  restore(result: CommandResult, target: string): void {
    const place = placeOf(result.controller, target, result.actuator);
    if (!this.#results.has(place)) this.#results.set(place, result);
  }

  /** Resolves with the refusal of a command that was just submitted: at once, or when the journal has it. */
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

  /** The newest command with this id: this sender's, else anybody's, as senders choose ids themselves. */
  find(id: string, via: string | null) {
    const named = [...this.#told.values()].filter(({ command }) => command.id === id);
    const found = named.findLast(({ command }) => command.via === via) ?? named.at(-1);
    if (found === undefined) return null;
    const { command, result, openPhase } = found;
    // The result waits for the disk; until then the command has not ended.
    return { command, result, phase: result === null ? openPhase : command.phase };
  }

  /** The newest command of a target, and the target's last result, which may belong to a later refused command. */
  newestOf(controllerId: string, target: string, id: string) {
    const place = placeOf(controllerId, target, id);
    return { command: this.#newest.get(place)?.command ?? null, result: this.#results.get(place) ?? null };
  }

  /** Whether some command is on its way to its first POST. */
  isSending(): boolean {
    return [...this.#told.values()].some(({ command }) => beforePost.has(command.phase));
  }

  /** The newest command under way, by controller. */
  running(): ReadonlyMap<string, CommandDocument> {
    const open = [...this.#told.values()].filter(({ command }) => command.phase !== "done");
    return new Map(open.map(({ command }) => [command.controller, command]));
  }
}
