import { msg } from "../language/text.js";
import type { Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { flagField, RequestError } from "../mqtt/requests.js";
import { untilAborted } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { keys } from "./section.js";

/* Runs the notifier while a way is configured, and answers the requests for a test and for the daily message. */

type Settings = Configured<typeof keys>;

/** The notifier, once it is made. */
interface People {
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly reload: (next: Settings) => Promise<void>;
  readonly test: (signal: AbortSignal) => unknown;
  readonly daily: (isSent: boolean) => unknown;
}

const hasWays = ({ notify: { ways } }: Settings): boolean => Object.keys(ways).length > 0;

type Make = (configuration: Settings) => Promise<People>;

class NotifyWhileConfigured {
  readonly #make: Make;
  readonly #now: () => Settings;
  readonly #log: Pick<Logger, "error">;
  #people: People | null = null;
  #running: AbortSignal | null = null;
  #taking: Promise<unknown> = Promise.resolve();
  #late: Promise<void> = Promise.resolve();

  constructor(make: Make, now: () => Settings, log: Pick<Logger, "error">) {
    this.#make = make;
    this.#now = now;
    this.#log = log;
  }

  async take(): Promise<void> {
    const now = this.#now();
    if (this.#people !== null) return this.#people.reload(now);
    if (!hasWays(now)) return;
    this.#people = await this.#make(now);
    if (this.#running !== null) this.#late = this.#people.run(this.#running);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal;
    await Promise.all([this.#people?.run(signal), untilAborted(signal)]);
    await this.#taking;
    await this.#late;
  }

  /** Takes over new settings, one change after the other. */
  reload(): void {
    this.#taking = this.#taking
      .then(() => this.take())
      .catch((problem: unknown) => {
        this.#log.error({ problem }, "how people are told could not be taken up; the old settings stay");
      });
  }

  somebody(): People {
    if (this.#people !== null && hasWays(this.#now())) return this.#people;
    throw new RequestError(
      msg`No way is configured under notify.ways, so there is nobody to send a message to.`,
    );
  }
}

/** The running feature. `make` is called once, when a way is first configured. */
export async function notifyRunning(
  ...of: ConstructorParameters<typeof NotifyWhileConfigured>
): Promise<Running> {
  const people = new NotifyWhileConfigured(...of);
  await people.take();
  return {
    part: { run: (signal) => people.run(signal) },
    reload: () => people.reload(),
    requests: [
      ["notify_test", "", (_, signal) => people.somebody().test(signal)],
      ["notify_daily", "print", (fields) => people.somebody().daily(!flagField(fields, "print", false))],
    ],
  };
}
