import type { Clock } from "../../runtime/clock.js";
import type { BrokerLink } from "./link.js";
import type { IncomingMessage } from "./settings.js";
import { matchesFilter } from "./topic-filter.js";

export type RetainedFound = (topic: string, payload: Buffer) => void;

/** Looks once at what a broker holds under some filters. */
export class RetainedScan {
  readonly #filters: readonly string[];
  readonly #found: RetainedFound;
  readonly #clock: Clock;
  #lastAt: number;

  constructor(filters: readonly string[], found: RetainedFound, clock: Clock) {
    this.#filters = filters;
    this.#found = found;
    this.#clock = clock;
    this.#lastAt = clock.monotonic();
  }

  /** Whether a message came because of this scan. Live ones under its filters, our own publishes too, are not shown. */
  takes({ topic, payload, retain }: IncomingMessage): boolean {
    if (!this.#filters.some((filter) => matchesFilter(filter, topic))) return false;
    if (retain) {
      this.#lastAt = this.#clock.monotonic();
      this.#found(topic, payload);
    }
    return true;
  }

  /** Until nothing has come for `quietMs`, or the link is gone. */
  async run(link: BrokerLink, quietMs: number): Promise<void> {
    const gone = new AbortController();
    const closed = link.closed.then(() => {
      gone.abort();
    });
    await Promise.race([link.subscribeWithRetained(this.#filters).catch(() => undefined), closed]);
    while (!gone.signal.aborted) {
      const quiet = this.#clock.monotonic() - this.#lastAt;
      if (quiet >= quietMs) break;
      await this.#clock.wait(quietMs - quiet, gone.signal).catch(() => undefined);
    }
    if (!gone.signal.aborted) await Promise.race([link.unsubscribe(this.#filters), closed]);
  }
}
