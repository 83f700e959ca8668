import type { Logger } from "../../runtime/logger.js";
import type { BrokerFacts, LinkEnd } from "./settings.js";

/** Logs the ups and downs of the link: each new reason once as a warning, repetitions only at debug level. */
export class LinkReport {
  readonly #log: Logger;
  readonly #broker: string;
  #reason: string | null = null;
  #failures = 0;

  constructor(log: Logger, broker: string) {
    this.#log = log;
    this.#broker = broker;
  }

  /** Why the newest link ended or did not come about; null before the first. */
  get reason(): string | null {
    return this.#reason;
  }

  connected(facts: BrokerFacts): void {
    const version = facts.protocolVersion === 5 ? "5" : "3.1.1";
    const after = this.#failures > 0 ? { failedAttempts: this.#failures } : {};
    this.#log.info(after, `connected to ${this.#broker} with MQTT ${version}`);
    this.#failures = 0;
    if (!facts.retainAvailable)
      this.#log.error(
        "this broker keeps no retained messages: Home Assistant and others will miss states; allow them there",
      );
  }

  ended(end: LinkEnd): void {
    if (end.kind === "ended") {
      this.#log.info(`disconnected from ${this.#broker}`);
      return;
    }
    const known = !end.connected && this.#reason === end.reason;
    this.#reason = end.reason;
    if (!end.connected) this.#failures += 1;
    const text = end.connected ? "lost the link to the broker" : "no link to the broker";
    if (known) this.#log.debug({ failedAttempts: this.#failures }, `${text}: ${end.reason}`);
    else this.#log.warn(`${text}: ${end.reason}; trying again`);
  }

  fellBack(from: number, to: number): void {
    const name = (version: number) => (version === 5 ? "MQTT 5" : "MQTT 3.1.1");
    this.#log.warn(`${this.#broker} does not take ${name(from)}; trying ${name(to)}`);
  }
}
