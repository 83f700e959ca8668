import type { TextFile } from "../runtime/file-system.js";
import { ignored } from "../runtime/failures.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Controller } from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { bookIn, type DayBook, dailyMessage, dayDue, dayGoingOn, moved, newDay, seen } from "./day.js";
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
  readonly controller: (idOrCode: string) => Controller | undefined;
  readonly alarms: () => readonly ShownAlarm[];
  /** Resolves to whether the disk has it: then it is told once, whatever comes. */
  readonly say: (message: Message, day: string) => Promise<boolean>;
  readonly memory: TextFile;
}

const lookMs = 10_000;
const writeEveryLooks = 6;
const longestDiskMs = 5_000;

export class DailyReport {
  readonly #ports: DailyPorts;
  readonly #dayFormat: Intl.DateTimeFormat;
  #book: DayBook;
  #written: DayBook | null = null;
  #looks = 0;
  #isTelling = false;

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
        (await within(clock, longestDiskMs, () => memory.read(), signal)) ?? "null",
      );
      const book = bookIn(kept);
      if (book !== null) this.#book = dayGoingOn(book, clock.now());
    } catch (problem) {
      log.warn({ problem }, "what the day was like before the start is not known");
    }
    await every(lookMs, clock, signal, () => void this.#look());
    await within(clock, longestDiskMs, () => this.#write()).catch(ignored);
  }

  onResult({ outcome, controller, actuator, by, via, sent_at: sentAt }: CommandResult): void {
    if (outcome !== "confirmed" || sentAt === null) return;
    const id = this.#ports.controller(controller)?.info.id ?? controller;
    this.#book = moved(this.#book, { what: `${id}/${actuator}`, by, via });
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
    const { clock, log, at, wording } = this.#ports;
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      this.#see();
      const now = clock.now();
      const dayOf = (instant: number) => this.#dayFormat.format(instant);
      const when = { now, minute: minuteIn(wording.timeZone, now), dayOf };
      const due = at === null ? null : dayDue(this.#book, minutesOf(at), when);
      // Where only people ask for it, it is about the day so far.
      const isNewDay = at === null && dayOf(this.#book.since) !== dayOf(now);
      if (due !== null) await this.#tell(now, due);
      else if (isNewDay) this.#book = newDay(now);
      else if (this.#looks++ % writeEveryLooks === 0) await this.#write();
    } catch (problem) {
      log.error({ problem }, "the daily message could not be made");
    } finally {
      this.#isTelling = false;
    }
  }

  /** The day goes on until the disk has its message: one that a restart could repeat is not told. */
  async #tell(now: number, day: string): Promise<void> {
    if (!(await this.#ports.say(this.message(), day))) return;
    this.#book = newDay(now, day);
    await this.#write();
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
