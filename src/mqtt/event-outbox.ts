import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import { eventDocument } from "./bridge-documents.js";
import { PublishError } from "./connection/publish-error.js";

const mostWaiting = 100;

export interface EventPorts {
  /** Publishes one document, not retained; rejects with a PublishError. */
  readonly publish: (document: string) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** The bridge's events. Most are raised only once, so what met no broker follows with the next link: the newest hundred. */
export class EventOutbox {
  readonly #ports: EventPorts;
  #waiting: string[] = [];

  constructor(ports: EventPorts) {
    this.#ports = ports;
  }

  send(event: BridgeEvent): void {
    void this.#publish(eventDocument(event));
  }

  connected(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const document of waiting) void this.#publish(document);
  }

  async #publish(document: string): Promise<void> {
    try {
      await this.#ports.publish(document);
    } catch (error) {
      if (error instanceof PublishError && (error.kind === "offline" || error.kind === "unacknowledged"))
        this.#waiting = [...this.#waiting.slice(1 - mostWaiting), document];
      else this.#ports.failed(error);
    }
  }
}
