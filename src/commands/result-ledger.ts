import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { ResultRecord } from "../journal/records.js";
import type { Command } from "./command.js";
import type { CommandJournal } from "./command-ports.js";

const mostWaiting = 1_000;

export interface Outcome {
  readonly about: Pick<Command, "code" | "targetId" | "target">;
  readonly result: CommandResult;
  /**
   * It was found out for a command of an earlier run. A later run would find it out again, perhaps otherwise, so it is not
   * told before the journal has it; the command of this run is told at once, because somebody is waiting.
   */
  readonly isOfEarlierRun: boolean;
  /** Is given its journal number, or null while the journal cannot write. */
  readonly tell: (sequence: number | null) => void;
}

interface Waiting {
  readonly record: ResultRecord;
  /** Null when it has been told. */
  readonly tell: Outcome["tell"] | null;
}

/**
 * Journals the one outcome of each command. What the journal cannot take now is written when it can again, or the next start
 * would find the command open and give it a second outcome.
 */
export class ResultLedger {
  readonly #journal: CommandJournal;
  #waiting: Waiting[] = [];
  #open = 0;

  constructor(journal: CommandJournal) {
    this.#journal = journal;
  }

  /** Outcomes that were noted and not yet told, but for those that wait for a journal that cannot write. */
  get open(): number {
    return this.#open;
  }

  note({ about: { code, targetId, target }, result, isOfEarlierRun, tell }: Outcome): void {
    const record: ResultRecord = { type: "result", controller: code, actuator: targetId, target, result };
    this.#open++;
    void this.#append({ record, tell: isOfEarlierRun ? tell : null }).then((sequence) => {
      this.#open--;
      if (sequence !== null || !isOfEarlierRun) tell(sequence);
    });
  }

  /** Tries again what could not be written. */
  async again(): Promise<void> {
    if (this.#waiting.length === 0 || !this.#journal.state().available) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(
      waiting.map(async (one) => {
        const sequence = await this.#append(one);
        if (sequence !== null) one.tell?.(sequence);
      }),
    );
  }

  async #append(one: Waiting): Promise<number | null> {
    try {
      // Its command is on disk already; a power cut that kept only that would give it a second outcome. A dry run is not.
      const durable = one.record.result.outcome !== "dry_run";
      return await this.#journal.append(one.record, { durable });
    } catch {
      this.#waiting.push(one);
      if (this.#waiting.length > mostWaiting) this.#waiting.shift();
      return null;
    }
  }
}
