import type { Command, Phase } from "../bridge/commands/command.js";
import { askedBy } from "../bridge/commands/report.js";

export interface CommandPhasesPorts {
  /** The base topic. */
  readonly base: string;
  readonly send: (topic: string, payload: string) => void;
  /** Calls back when the requests under way have left; at once when absent. */
  readonly later?: ((tell: () => void) => void) | undefined;
}

interface Shown {
  readonly command: Command;
  readonly phase: Phase;
}

/** Shows on `.../command` the newest command of each target and its phase, and nothing more of older ones. */
export class CommandPhases {
  readonly #ports: CommandPhasesPorts;
  readonly #newest = new Map<string, Command>();
  readonly #overtaken = new WeakSet<Command>();
  /** Not yet published, oldest first. */
  #waiting: Shown[] = [];
  /** Per topic, what nobody could be told while there was no link. */
  readonly #missed = new Map<string, string>();
  #isLinked = false;

  constructor(ports: CommandPhasesPorts) {
    this.#ports = ports;
  }

  /** Published a moment later: telling of a command must not hold up its next request. */
  show(command: Command, phase: Phase): void {
    // It had been passed over for a newer one that was refused, and now has its turn after all.
    if (phase === "checking") this.#overtaken.delete(command);
    if (this.#overtaken.has(command)) return;
    const topic = this.#topicOf(command);
    const before = this.#newest.get(topic);
    if (before !== undefined && before !== command) this.#overtaken.add(before);
    this.#newest.set(topic, command);
    this.#waiting.push({ command, phase });
    if (this.#waiting.length > 1) return;
    const tell = () => {
      this.publish();
    };
    if (this.#ports.later) this.#ports.later(tell);
    else tell();
  }

  /** A command of an earlier run after which a newer one had been shown already. */
  overtaken(command: Command): void {
    this.#overtaken.add(command);
  }

  publish(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) this.#send(this.#topicOf(one.command), phaseDocument(one));
  }

  connected(): void {
    this.#isLinked = true;
    for (const [topic, payload] of this.#missed) this.#ports.send(topic, payload);
    this.#missed.clear();
  }

  disconnected(): void {
    this.#isLinked = false;
  }

  #send(topic: string, payload: string): void {
    if (this.#isLinked) this.#ports.send(topic, payload);
    else this.#missed.set(topic, payload);
  }

  #topicOf({ controllerId, target, targetId }: Command): string {
    return `${this.#ports.base}/${controllerId}/${target}/${targetId}/command`;
  }
}

function phaseDocument({ command, phase }: Shown): string {
  const { id, by, via, receivedAt } = command;
  const { command: word, value } = askedBy(command);
  const received_at = new Date(receivedAt).toISOString();
  return JSON.stringify({ id, command: word, value, phase, by, via, received_at });
}
