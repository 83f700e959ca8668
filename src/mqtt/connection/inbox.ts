import type { Logger } from "../../runtime/log.js";
import { filterCovers } from "../../runtime/topic-filter.js";
import type { BrokerLink } from "./link.js";
import { contradicts } from "./session.js";
import type {
  ConnectionLimits,
  ConnectionSettings,
  Contained,
  IncomingMessage,
  ProtocolVersion,
} from "./settings.js";

export interface InboxParts {
  readonly settings: Pick<ConnectionSettings, "guard" | "subscriptions" | "on" | "anySize">;
  readonly limits: Pick<ConnectionLimits, "maxPayloadBytes">;
  readonly log: Logger;
  readonly contained: Contained;
}

/** Sorts what arrives: too large, about our own status, or for the caller. */
export class Inbox {
  readonly #parts: InboxParts;
  readonly #scans = new Set<RetainedScan>();
  #received = 0;
  #oversized = 0;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  get counters(): { readonly received: number; readonly oversized: number } {
    return { received: this.#received, oversized: this.#oversized };
  }

  /** Shows arriving messages to a scan as long as `run` takes. */
  async during<Found>(scan: RetainedScan, run: () => Promise<Found>): Promise<Found> {
    this.#scans.add(scan);
    try {
      return await run();
    } finally {
      this.#scans.delete(scan);
    }
  }

  accept(message: IncomingMessage, version: ProtocolVersion, contradicted: () => void): void {
    const { settings, limits, log, contained } = this.#parts;
    const { guard, subscriptions, on, anySize } = settings;
    this.#received += 1;
    if (message.payload.length > limits.maxPayloadBytes) {
      this.#oversized += 1;
      if (anySize?.(message.topic)) {
        contained.call("message", () => on?.message?.(message));
        return;
      }
      log.warn(
        { topic: message.topic, bytes: message.payload.length },
        "dropped a message that is too large",
      );
      return;
    }
    if (this.#isScanned(message)) return;
    if (guard && message.topic === guard.topic) {
      if (contradicts(message, guard.expected, version)) contradicted();
      if (!subscriptions.includes(guard.topic)) return;
    }
    contained.call("message", () => on?.message?.(message));
  }

  #isScanned(message: IncomingMessage): boolean {
    let taken = false;
    for (const scan of this.#scans)
      this.#parts.contained.call("scan", () => {
        if (scan.takes(message)) taken = true;
      });
    return taken;
  }
}

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
    if (!this.#filters.some((filter) => filterCovers(filter, topic))) return false;
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
