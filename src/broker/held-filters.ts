import type { Aedes, Client, Subscription } from "aedes";
import { FilterShare } from "./filter-share.js";
import type { BrokerLimits } from "./settings.js";

/** The topic filters of connections, and those of persistent sessions, which outlive them. */
export class HeldFilters {
  readonly #connections: FilterShare<Client>;
  readonly #sessions: FilterShare<string>;
  readonly #granted = new WeakMap<object, Subscription>();

  constructor(limits: BrokerLimits) {
    this.#connections = new FilterShare(limits);
    this.#sessions = new FilterShare(limits);
  }

  /** Whether the client may hold one more filter; from then on it does. */
  take(client: Client, { topic }: Subscription): boolean {
    // A closed connection gives nothing back any more.
    if (client.conn.destroyed || !this.#connections.take(client, topic)) return false;
    return client.clean || this.#sessions.take(client.id, topic);
  }

  /** The subscription that the store is to keep next, because it was just granted. */
  grant(client: Client, subscription: Subscription): void {
    this.#granted.set(client, subscription);
  }

  takeGranted(client: object): Subscription | null {
    const granted = this.#granted.get(client) ?? null;
    this.#granted.delete(client);
    return granted;
  }

  /** Gives filters back as connections drop them or end. */
  follow(aedes: Aedes): void {
    aedes.on("unsubscribe", (filters, client) => {
      this.#connections.release(client, filters);
    });
  }

  closed(client: Client): void {
    this.#connections.forget(client);
  }

  sessionDropped(id: string, filters: readonly string[]): void {
    this.#sessions.release(id, filters);
  }

  sessionEnded(id: string): void {
    this.#sessions.forget(id);
  }
}
