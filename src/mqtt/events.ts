import type { BridgeEvent } from "../greenhouse/events.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Connection, Part } from "./connection.js";
import { Outbox } from "./outbox.js";
import { eventDocument } from "./projection.js";
import type { Topics } from "./topics.js";

const mostEvents = 100;

/**
 * Publishes `bridge/event`. Most events are raised once, so the newest hundred that met no broker follow with the next
 * link.
 */
export class EventOutput implements Part {
  readonly #topic: string;
  readonly #outbox: Outbox;
  #newest: readonly object[] = [];

  constructor(topics: Topics, connection: Pick<Connection, "publish">, clock: Clock, log: Logger) {
    this.#topic = topics.bridge.event;
    this.#outbox = new Outbox({
      link: connection,
      clock,
      most: mostEvents,
      longestMs: Infinity,
      repeat: (event) => event,
      gaveUp: (_, error) => log.debug({ reason: String(error) }, "an event was not published"),
    });
  }

  /** The newest events as published, oldest first. */
  get newest(): readonly object[] {
    return this.#newest;
  }

  publish(event: BridgeEvent): void {
    const document = eventDocument(event);
    this.#newest = [...this.#newest.slice(1 - mostEvents), document];
    this.#outbox.send({
      controllerId: null,
      destinations: [{ topic: this.#topic, options: {}, isOwn: true }],
      document,
    });
  }

  onConnected(): void {
    this.#outbox.onConnected();
  }
}
