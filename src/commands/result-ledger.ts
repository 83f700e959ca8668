import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { ResultRecord } from "../journal/records.js";
import { alertFor } from "./alerts.js";
import type { Command } from "./command.js";
import type { CommandPorts, ResultAddressee } from "./command-ports.js";
import { aboutOf } from "./taken-record.js";

/** Of those that were told; of the others there are no more than were open when the journal failed. */
const mostWaiting = 1_000;

export interface Outcome {
  readonly about: ResultAddressee & Pick<Command, "code">;
  readonly result: CommandResult;
  /** A stop is told whatever the disk does. */
  readonly isUrgent: boolean;
  readonly onTold?: () => void;
}

interface Waiting {
  readonly record: ResultRecord;
  /** Null when it has been told. */
  readonly untold: Outcome | null;
}

/**
 * Journals the one outcome of each command, then tells it. What the journal cannot take now is written when it can again.
 * Until then the outcome is held back: the next start might end the command once more, and otherwise.
 */
export class ResultLedger {
  readonly #ports: Pick<CommandPorts, "journal" | "audience" | "clock">;
  #waiting: Waiting[] = [];
  #open = 0;

  constructor(ports: Pick<CommandPorts, "journal" | "audience" | "clock">) {
    this.#ports = ports;
  }

  /** Outcomes that are not told until the journal can write. */
  get heldBack(): number {
    return this.#waiting.filter(({ untold }) => untold !== null).length;
  }

  /** Outcomes that were noted and not yet told, but for those that wait for a journal that cannot write. */
  get open(): number {
    return this.#open;
  }

  note(outcome: Outcome): void {
    const { about, result, isUrgent } = outcome;
    const record: ResultRecord = { type: "result", ...aboutOf(about), result };
    this.#open++;
    void this.#append(record).then((sequence) => {
      this.#open--;
      const isHeld = sequence === null && !isUrgent && this.#wouldEndAgain(record);
      if (sequence === null) this.#keep({ record, untold: isHeld ? outcome : null });
      if (!isHeld) this.#tell(outcome, sequence);
    });
  }

  /** A command that was refused and never came into the journal is not found there by the next start. */
  #wouldEndAgain(record: ResultRecord): boolean {
    return record.result.outcome !== "refused" || this.#ports.journal.isOpen(record, record.result.id);
  }

  /** Tries again what could not be written. */
  async again(): Promise<void> {
    if (this.#waiting.length === 0 || !this.#ports.journal.state().available) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(
      waiting.map(async (one) => {
        const sequence = await this.#append(one.record);
        if (sequence === null) this.#keep(one);
        else if (one.untold) this.#tell(one.untold, sequence);
      }),
    );
  }

  /** `sequence`: its journal number, or null where it could not be written. */
  #tell({ about, result, onTold }: Outcome, sequence: number | null): void {
    const { audience, clock } = this.#ports;
    onTold?.();
    audience.result(result, about, sequence);
    const alert = alertFor(result, clock.now());
    if (alert) audience.event(alert);
    if (result.outcome !== "confirmed") audience.showAgain(about);
  }

  #keep(one: Waiting): void {
    this.#waiting.push(one);
    if (this.#waiting.length <= mostWaiting) return;
    const told = this.#waiting.findIndex(({ untold }) => untold === null);
    if (told !== -1) this.#waiting.splice(told, 1);
  }

  async #append(record: ResultRecord): Promise<number | null> {
    try {
      // Its command is in the journal; a power cut that kept only that would give it a second outcome. A dry run may have one.
      const durable = record.result.outcome !== "dry_run";
      return await this.#ports.journal.append(record, { durable });
    } catch {
      return null;
    }
  }
}
