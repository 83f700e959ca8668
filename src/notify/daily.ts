import type { Core } from "../feature/core.js";
import type { TextFile } from "../runtime/file-system.js";
import { ignored } from "../runtime/failures.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { diskPatienceMs, every, within } from "../runtime/clock.js";
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

/* The daily message. It reads the bridge's state in a loop of its own, so nothing waits for it. */

/** Sends a message to people. Resolves to whether it is on disk; from then on it is sent once, whatever happens. */
type Say = (message: Message, day: string) => Promise<boolean>;

const lookMs = 10_000;
const writeEveryLooks = 6;

/** The parts of the core that a daily message needs. */
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

  /** `at`: minute of the day, as `hh:mm`; null where the message is sent only on request. */
  constructor(core: DayCore, at: string | null, wording: Wording, say: Say) {
    this.#core = core;
    this.#at = at;
    this.#wording = wording;
    this.#say = say;
    this.#memory = core.file("daily.json");
    this.#book = newDay(core.clock.now());
    this.#dayFormat = dayFormatOf(wording);
  }

  /** Continues the same day with another time or wording. */
  reload(at: string | null, wording: Wording): void {
    this.#at = at;
    this.#wording = wording;
    this.#dayFormat = dayFormatOf(wording);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#core;
    try {
      const kept: unknown = JSON.parse(
        (await within(clock, diskPatienceMs, () => this.#memory.read(), signal)) ?? "null",
      );
      const book = bookIn(kept);
      if (book !== null) this.#book = dayGoingOn(book, clock.now());
    } catch (problem) {
      log.warn({ problem }, "what the day was like before the start is not known");
    }
    await every(lookMs, clock, signal, () => void this.#look());
    await within(clock, diskPatienceMs, () => this.#write()).catch(ignored);
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

  /** The message about the day so far. */
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

  /** Counts readings and sends the message when due. Never rejects. */
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
      // With messages only on request, each day's count begins at midnight.
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

  /** The day ends only when its message is on disk; otherwise a restart could send it twice. */
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
