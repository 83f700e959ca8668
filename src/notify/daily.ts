import type { Core } from "../feature/core.js";
import type { TextFile } from "../runtime/file-system.js";
import { ignored } from "../runtime/failures.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { every, within } from "../runtime/clock.js";
import {
  bookIn,
  type DayBook,
  dailyMessage,
  dayDue,
  dayGoingOn,
  withMove,
  newDay,
  withReadings,
} from "./day.js";
import type { Message, Wording } from "./message.js";
import { minuteIn, minutesOf } from "./notify.js";

/* The message of every day. It looks at what the bridge holds in a round of its own, so nothing waits for it. */

/** Gives a message to people; resolves to whether the disk has it: then it is told once, whatever comes. */
type Say = (message: Message, day: string) => Promise<boolean>;

const lookMs = 10_000;
const writeEveryLooks = 6;
const longestDiskMs = 5_000;

/** The parts of the core that a day is about. */
type DayCore = Pick<Core, "clock" | "log" | "file"> & {
  readonly mirror: { readonly store: Pick<Core["mirror"]["store"], "controllers" | "find"> };
  readonly commands: {
    readonly limits: { readonly alarms: Pick<Core["commands"]["limits"]["alarms"], "list"> };
  };
  readonly page: Pick<Core["page"], "kinds">;
};

const dayFormatOf = ({ timeZone }: Wording) =>
  new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });

export class DailyReport {
  readonly #core: DayCore;
  #at: string | null;
  #wording: Wording;
  readonly #say: Say;
  readonly #memory: TextFile;
  #dayFormat: Intl.DateTimeFormat;
  #book: DayBook;
  #written: DayBook | null = null;
  #looks = 0;
  #isTelling = false;

  /** `at` is null where only people ask for it. */
  constructor(core: DayCore, at: string | null, wording: Wording, say: Say) {
    this.#core = core;
    this.#at = at;
    this.#wording = wording;
    this.#say = say;
    this.#memory = core.file("daily.json");
    this.#book = newDay(core.clock.now());
    this.#dayFormat = dayFormatOf(wording);
  }

  /** Goes on with its day at another time, or in other words. */
  reload(at: string | null, wording: Wording): void {
    this.#at = at;
    this.#wording = wording;
    this.#dayFormat = dayFormatOf(wording);
  }

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#core;
    try {
      const kept: unknown = JSON.parse(
        (await within(clock, longestDiskMs, () => this.#memory.read(), signal)) ?? "null",
      );
      const book = bookIn(kept);
      if (book !== null) this.#book = dayGoingOn(book, clock.now());
    } catch (problem) {
      log.warn({ problem }, "what the day was like before the start is not known");
    }
    await every(lookMs, clock, signal, () => void this.#look());
    await within(clock, longestDiskMs, () => this.#write()).catch(ignored);
  }

  onResult({
    outcome,
    controller,
    actuator,
    by,
    via,
    sent_at: sentAt,
  }: Pick<CommandResult, "outcome" | "controller" | "actuator" | "by" | "via" | "sent_at">): void {
    if (outcome !== "confirmed" || sentAt === null) return;
    const id = this.#core.mirror.store.find(controller)?.info.id ?? controller;
    this.#book = withMove(this.#book, { what: `${id}/${actuator}`, by, via });
  }

  /** About the day so far. */
  message(): Message {
    const { clock, mirror, commands, page } = this.#core;
    this.#see();
    const houses = [...mirror.store.controllers()];
    const facts = { book: this.#book, houses, kinds: page.kinds, alarms: commands.limits.alarms.list };
    return dailyMessage(facts, clock.now(), this.#wording);
  }

  #see(): void {
    const { mirror, page } = this.#core;
    for (const house of mirror.store.controllers()) this.#book = withReadings(this.#book, house, page.kinds);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, log } = this.#core;
    const at = this.#at;
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      this.#see();
      const now = clock.now();
      const dayOf = (instant: number) => this.#dayFormat.format(instant);
      const when = { now, minute: minuteIn(this.#wording.timeZone, now), dayOf };
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
    if (!(await this.#say(this.message(), day))) return;
    this.#book = newDay(now, day);
    await this.#write();
  }

  async #write(): Promise<void> {
    const book = this.#book;
    if (book === this.#written) return;
    await this.#memory.write(JSON.stringify(book)).then(
      () => (this.#written = book),
      (problem: unknown) => this.#core.log.debug({ problem }, "what the day was like could not be kept"),
    );
  }
}
