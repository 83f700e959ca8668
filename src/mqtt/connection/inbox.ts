import type { Logger } from "../../runtime/logger.js";
import type { Contained } from "./contained.js";
import type { RetainedScan } from "./retained-scan.js";
import type { ConnectionLimits, ConnectionSettings, IncomingMessage, ProtocolVersion } from "./settings.js";
import { contradicts } from "./status-guard.js";

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
