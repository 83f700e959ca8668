import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Controller } from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { type DayBook, dailyMessage, isDailyDue, moved, newDay, seen } from "./day.js";
import type { Message, Wording } from "./message.js";
import { minuteIn, minutesOf } from "./notify.js";
import type { ShownAlarm } from "./plan.js";

/* The message of every day. It looks at what the bridge holds in a round of its own, so nothing waits for it. */

interface DailyPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Null where only people ask for it. */
  readonly at: string | null;
  readonly wording: Wording;
  readonly kinds: readonly SensorKind[];
  readonly controllers: () => Iterable<Controller>;
  readonly alarms: () => readonly ShownAlarm[];
  readonly say: (message: Message) => void;
  readonly memory: { read(): Promise<string | null>; write(text: string): Promise<void> };
}

const lookMs = 10_000;
const writeEveryLooks = 6;
const longestReadMs = 5_000;

const isBook = (value: unknown): value is DayBook =>
  typeof value === "object" && value !== null && "since" in value && "readings" in value && "toldOn" in value;

export class DailyReport {
  readonly #ports: DailyPorts;
  readonly #dayFormat: Intl.DateTimeFormat;
  #book: DayBook;
  #written: DayBook | null = null;
  #looks = 0;

  constructor(ports: DailyPorts) {
    this.#ports = ports;
    this.#book = newDay(ports.clock.now());
    this.#dayFormat = new Intl.DateTimeFormat("sv-SE", {
      timeZone: ports.wording.timeZone,
      dateStyle: "short",
    });
  }

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, memory } = this.#ports;
    try {
      const kept: unknown = JSON.parse(
        (await within(clock, longestReadMs, () => memory.read(), signal)) ?? "null",
      );
      if (isBook(kept)) this.#book = { ...newDay(kept.since), ...kept };
    } catch (problem) {
      log.warn({ problem }, "what the day was like before the start is not known");
    }
    await every(lookMs, clock, signal, () => void this.#look());
    await this.#write();
  }

  onResult({ outcome, by, sent_at: sentAt }: CommandResult): void {
    if (outcome === "confirmed" && sentAt !== null) this.#book = moved(this.#book, by);
  }

  /** As it is by now. */
  message(): Message {
    const { clock, wording, kinds, controllers, alarms } = this.#ports;
    this.#see();
    const facts = { book: this.#book, houses: [...controllers()], kinds, alarms: alarms() };
    return dailyMessage(facts, clock.now(), wording);
  }

  #see(): void {
    for (const house of this.#ports.controllers()) this.#book = seen(this.#book, house, this.#ports.kinds);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, log, at, wording, say } = this.#ports;
    try {
      this.#see();
      const now = clock.now();
      const day = this.#dayFormat.format(now);
      if (at !== null && isDailyDue(this.#book, minutesOf(at), minuteIn(wording.timeZone, now), day)) {
        const message = this.message();
        // First to the disk: a restart in between must not tell it twice.
        this.#book = newDay(now, day);
        await this.#write();
        say(message);
      } else if (this.#looks++ % writeEveryLooks === 0) await this.#write();
    } catch (problem) {
      log.error({ problem }, "the daily message could not be made");
    }
  }

  async #write(): Promise<void> {
    const book = this.#book;
    if (book === this.#written) return;
    await this.#ports.memory.write(JSON.stringify(book)).then(
      () => (this.#written = book),
      (problem: unknown) => this.#ports.log.debug({ problem }, "what the day was like could not be kept"),
    );
  }
}
