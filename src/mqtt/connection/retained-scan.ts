import type { BrokerLink } from "./link.js";
import type { IncomingMessage } from "./settings.js";
import { matchesFilter } from "./topic-filter.js";

export type RetainedFound = (topic: string, payload: Buffer) => void;

/** A broker that serves from several threads may answer a mark while retained messages are still to come; hardly two in a row. */
const quietMarks = 2;

/** Looks once at what a broker holds under some filters. */
export class RetainedScan {
  readonly #filters: readonly string[];
  readonly #found: RetainedFound;
  #count = 0;

  constructor(filters: readonly string[], found: RetainedFound) {
    this.#filters = filters;
    this.#found = found;
  }

  /** Whether a message came because of this scan. Live ones under its filters, our own publishes too, are not shown. */
  takes({ topic, payload, retain }: IncomingMessage): boolean {
    if (!this.#filters.some((filter) => matchesFilter(filter, topic))) return false;
    if (retain) {
      this.#count += 1;
      this.#found(topic, payload);
    }
    return true;
  }

  /**
   * The broker sends what it holds behind its answer to the subscription, and answers in order: what it holds has come when marks
   * sent after that are acknowledged and nothing came before them. `prove` sends one. Resolves with whether it was seen through.
   */
  async run(link: BrokerLink, prove: () => Promise<void>): Promise<boolean> {
    const closed = link.closed.then(() => false);
    const isThrough = await Promise.race([this.#whole(link, prove), closed]).catch(() => false);
    const unsubscribed = link.unsubscribe(this.#filters);
    // A broker that did not answer so far need not answer this.
    if (isThrough) await Promise.race([unsubscribed, closed]);
    return isThrough;
  }

  async #whole(link: BrokerLink, prove: () => Promise<void>): Promise<boolean> {
    const refused = await link.subscribeWithRetained(this.#filters);
    for (let quiet = 0; quiet < quietMarks;) {
      const before = this.#count;
      await prove();
      quiet = this.#count === before ? quiet + 1 : 0;
    }
    return refused.length === 0;
  }
}
