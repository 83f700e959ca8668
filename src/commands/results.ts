import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { About, RecordBody, ResultRecord } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Command, CommandJournal, CommandPorts, ResultAddressee } from "./command.js";
import { MinuteCounter } from "./flood.js";
import { alertFor } from "./problems.js";
import { aboutOf } from "./turn.js";

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

const journaledPerMinute = 60;
const mostKeys = 1_000;
/** Names of targets come from whoever sends, and sentences repeat them; no id of ours is longer. */
const mostOfName = 128;
const mostOfMessage = 500;
/** What stands for targets that do not exist. */
const unknownTargets: About = { controller: "*", actuator: "*" };

interface Uncounted {
  readonly about: About;
  readonly since: string;
  readonly minute: number;
  readonly reasons: Record<string, number>;
  count: number;
}

/**
 * Journals refusals, without fsync. Above 60 a minute for one actuator they are only counted, and the count is journaled as
 * one record when the minute is over. Targets that do not exist share one such limit: a sender could invent any number of
 * them and fill the disk, and with it push old records out.
 */
export class RefusalLedger {
  readonly #journal: CommandJournal;
  readonly #clock: Clock;
  readonly #log: Pick<Logger, "info"> | undefined;
  readonly #perActuator = new MinuteCounter();
  readonly #counted = new Map<string, Uncounted>();

  constructor(journal: CommandJournal, clock: Clock, log?: Pick<Logger, "info">) {
    this.#log = log;
    this.#journal = journal;
    this.#clock = clock;
  }

  /**
   * `sequence` resolves with its journal number once the refusal is journaled, with null when it is only counted; a journal that
   * cannot write does not keep it from being answered.
   */
  note(
    about: About,
    result: CommandResult,
    isKnown: boolean,
  ): { readonly isCounted: boolean; readonly sequence: Promise<number | null> } {
    const counted = isKnown ? about : unknownTargets;
    this.tick();
    if (this.#perActuator.count(keyOf(counted), this.#clock.monotonic()) > journaledPerMinute) {
      this.count(counted, result);
      return { isCounted: true, sequence: Promise.resolve(null) };
    }
    const sequence = this.#journal.append(recordOf(about, result), { durable: false }).catch(() => null);
    return { isCounted: false, sequence };
  }

  /** Journals the counts of minutes that are over; call it now and then. */
  tick(): void {
    this.#flush(this.#minute);
  }

  get #minute(): number {
    return Math.floor(this.#clock.monotonic() / 60_000);
  }

  close(): void {
    this.#flush(Infinity);
  }

  /** Only counts it. */
  count(about: About, result: CommandResult): void {
    const key = this.#counted.size < mostKeys ? keyOf(about) : "";
    const held = this.#counted.get(key) ?? {
      about,
      since: result.received_at,
      minute: this.#minute,
      reasons: {},
      count: 0,
    };
    const reason = result.reason ?? "unknown";
    held.reasons[reason] = (held.reasons[reason] ?? 0) + 1;
    held.count++;
    this.#counted.set(key, held);
  }

  #flush(minute: number): void {
    for (const [key, { about, since, reasons, count, minute: of }] of this.#counted) {
      if (of >= minute) continue;
      this.#counted.delete(key);
      const { controller, actuator } = about;
      this.#log?.info(
        { controller, actuator, count, reasons, since },
        "commands ended that were only counted",
      );
      void this.#journal
        .append({ type: "refusals_counted", controller, actuator, count, reasons, since }, { durable: false })
        .catch(() => undefined);
    }
  }
}

const keyOf = ({ controller, target, actuator }: About) => `${controller} ${target ?? ""} ${actuator}`;

function recordOf(about: About, result: CommandResult): RecordBody {
  const [controller, actuator] = [short(about.controller), short(about.actuator)];
  const message = result.message === null ? null : short(result.message, mostOfMessage);
  return {
    type: "refusal",
    ...{ ...about, controller, actuator },
    result: { ...result, controller: short(result.controller), actuator: short(result.actuator), message },
  };
}

const short = (text: string, most = mostOfName): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;
