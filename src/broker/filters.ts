import type { Client, Subscription } from "aedes";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Arrivals } from "../runtime/arrivals.js";
import type { BrokerLimits, BrokerSettings, BrokerTally } from "./settings.js";

type Limits = Pick<BrokerLimits, "filters" | "filterBytes" | "filterLevels">;

interface Held {
  readonly filters: Set<string>;
  levels: number;
}

/**
 * Counts the topic filters of clients. Each owner holds a limited number, and never takes more of the common room than
 * it leaves to others. Every level of a filter is a node in the broker's tree, so levels are what fills memory.
 */
export class FilterShare<Owner> {
  readonly #limits: Limits;
  readonly #owners = new Map<Owner, Held>();
  #levels = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Whether `owner` may hold this filter too; it is then counted once, however often it is asked for. */
  take(owner: Owner, filter: string): boolean {
    const held = this.#owners.get(owner) ?? { filters: new Set<string>(), levels: 0 };
    if (held.filters.has(filter)) return true;
    const { filters, filterBytes, filterLevels } = this.#limits;
    const levels = levelsOf(filter);
    if (held.filters.size >= filters || Buffer.byteLength(filter) > filterBytes) return false;
    if (held.levels + levels > filterLevels - this.#levels) return false;
    this.#owners.set(owner, held);
    held.filters.add(filter);
    held.levels += levels;
    this.#levels += levels;
    return true;
  }

  release(owner: Owner, filters: Iterable<string>): void {
    const held = this.#owners.get(owner);
    if (held === undefined) return;
    for (const filter of filters) {
      if (!held.filters.delete(filter)) continue;
      held.levels -= levelsOf(filter);
      this.#levels -= levelsOf(filter);
    }
    if (held.filters.size === 0) this.#owners.delete(owner);
  }

  /** Releases all filters of an owner that is gone. */
  forget(owner: Owner): void {
    this.#levels -= this.#owners.get(owner)?.levels ?? 0;
    this.#owners.delete(owner);
  }
}

const levelsOf = (filter: string) => filter.split("/").length;

/** Topic filters of connections and of persistent sessions, which outlive them. */
export class HeldFilters {
  readonly #connections: FilterShare<Client>;
  readonly #sessions: FilterShare<string>;
  readonly #granted = new WeakMap<object, Subscription>();

  constructor(limits: BrokerLimits) {
    this.#connections = new FilterShare(limits);
    this.#sessions = new FilterShare(limits);
  }

  /** Whether the client may hold one more filter; if so, it is counted. */
  take(client: Client, { topic }: Subscription): boolean {
    // A closed connection would never release the filter.
    if (client.conn.destroyed || !this.#connections.take(client, topic)) return false;
    return client.clean || this.#sessions.take(client.id, topic);
  }

  /** Notes a granted subscription, which the store keeps next. */
  grant(client: Client, subscription: Subscription): void {
    this.#granted.set(client, subscription);
  }

  takeGranted(client: object): Subscription | null {
    const granted = this.#granted.get(client) ?? null;
    this.#granted.delete(client);
    return granted;
  }

  /** Releases filters that a connection dropped. */
  drop(client: Client, filters: readonly string[]): void {
    this.#connections.release(client, filters);
  }

  onClose(client: Client): void {
    this.#connections.forget(client);
  }

  sessionDropped(id: string, filters: readonly string[]): void {
    this.#sessions.release(id, filters);
  }

  sessionEnded(id: string): void {
    this.#sessions.forget(id);
  }
}

/** Parts that all modules of one broker share. */
export interface BrokerParts {
  readonly settings: BrokerSettings;
  readonly limits: BrokerLimits;
  readonly filters: HeldFilters;
  readonly tally: BrokerTally;
  readonly clock: Clock;
  readonly log: Logger;
  readonly arrivals: Arrivals;
}
