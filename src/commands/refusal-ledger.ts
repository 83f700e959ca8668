import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { About, RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { CommandJournal } from "./command-ports.js";
import { MinuteCounter } from "./flood.js";

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
