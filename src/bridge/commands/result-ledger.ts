import type { CommandResult } from "../../greenhouse/command/outcomes.js";
import type { ResultRecord } from "../../journal/records.js";
import type { Command } from "./command.js";
import type { CommandJournal } from "./command-ports.js";

const mostWaiting = 1_000;

/**
 * Journals the one outcome of each command. What the journal cannot take now is written when it can again, or the next start
 * would find the command open and give it a second outcome.
 */
export class ResultLedger {
  readonly #journal: CommandJournal;
  #waiting: ResultRecord[] = [];
  #open = 0;

  constructor(journal: CommandJournal) {
    this.#journal = journal;
  }

  /** Outcomes that were noted and not yet told. */
  get open(): number {
    return this.#open;
  }

  /** Then tells its journal number, or null while the journal cannot write. */
  note(
    { code, targetId, target }: Pick<Command, "code" | "targetId" | "target">,
    result: CommandResult,
    tell: (sequence: number | null) => void,
  ): void {
    const record: ResultRecord = { type: "result", controller: code, actuator: targetId, target, result };
    this.#open++;
    void this.#append(record).then((sequence) => {
      this.#open--;
      tell(sequence);
    });
  }

  /** Tries again what could not be written. */
  async again(): Promise<void> {
    if (this.#waiting.length === 0 || !this.#journal.state().available) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(waiting.map((record) => this.#append(record)));
  }

  async #append(record: ResultRecord): Promise<number | null> {
    try {
      // Its command is on disk already; a power cut that kept only that would give it a second outcome.
      return await this.#journal.append(record, { durable: true });
    } catch {
      this.#waiting.push(record);
      if (this.#waiting.length > mostWaiting) this.#waiting.shift();
      return null;
    }
  }
}
