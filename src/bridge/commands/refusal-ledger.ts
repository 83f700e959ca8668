import type { CommandResult } from "../../greenhouse/command/outcomes.js";
import type { About } from "../../journal/records.js";
import type { Clock } from "../../runtime/clock.js";
import type { CommandJournal } from "./command-ports.js";
import { MinuteCounter } from "./flood.js";

const journaledPerMinute = 60;
const mostKeys = 1_000;

interface Uncounted {
  readonly about: About;
  readonly since: string;
  readonly minute: number;
  readonly reasons: Record<string, number>;
  count: number;
}

/**
 * Journals refusals, without fsync. Above 60 a minute for one actuator they are only counted, and the count is journaled as
 * one record when the minute is over.
 */
export class RefusalLedger {
  readonly #journal: CommandJournal;
  readonly #clock: Clock;
  readonly #perActuator = new MinuteCounter();
  readonly #counted = new Map<string, Uncounted>();

  constructor(journal: CommandJournal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** Resolves with its journal number once the refusal is journaled, with null when it is only counted; a journal that cannot write does not keep it from being answered. */
  async note(about: About, result: CommandResult): Promise<number | null> {
    const key = `${about.controller} ${about.target ?? ""} ${about.actuator}`;
    const minute = Math.floor(this.#clock.monotonic() / 60_000);
    this.#flush(minute);
    if (this.#perActuator.count(key, this.#clock.monotonic()) > journaledPerMinute) {
      this.#count(this.#counted.size < mostKeys ? key : "", about, result, minute);
      return null;
    }
    return this.#journal.append({ type: "refusal", ...about, result }, { durable: false }).catch(() => null);
  }

  close(): void {
    this.#flush(Infinity);
  }

  #count(key: string, about: About, result: CommandResult, minute: number): void {
    const held = this.#counted.get(key) ?? {
      about,
      since: result.received_at,
      minute,
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
      void this.#journal
        .append({ type: "refusals_counted", controller, actuator, count, reasons, since }, { durable: false })
        .catch(() => undefined);
    }
  }
}
