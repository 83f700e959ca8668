import type { Logger } from "../../runtime/logger.js";
import { versionName } from "./protocol-version.js";
import type { BrokerFacts, LinkEnd } from "./settings.js";

const suspiciousCloses = 3;
const shortLifeMs = 60_000;

/** Logs the ups and downs of the link: each new reason once as a warning, repetitions only at debug level. */
export class LinkReport {
  readonly #log: Logger;
  readonly #broker: string;
  #reason: string | null = null;
  #failures = 0;
  #hasFallenBack = false;
  #closes = 0;

  constructor(log: Logger, broker: string) {
    this.#log = log;
    this.#broker = broker;
  }

  /** Why the newest link ended or did not come about; null before the first. */
  get reason(): string | null {
    return this.#reason;
  }

  connected(facts: BrokerFacts): void {
    const after = this.#failures > 0 ? { failedAttempts: this.#failures } : {};
    this.#log.info(after, `connected to ${this.#broker} with ${versionName(facts.protocolVersion)}`);
    this.#failures = 0;
    if (!facts.retainAvailable)
      this.#log.error(
        "this broker keeps no retained messages: Home Assistant and others will miss states; allow them there",
      );
  }

  /** `lost`: publishes that were on their way. `lifeMs`: from the attempt to the end. */
  ended(end: LinkEnd, { lost = 0, lifeMs = 0 } = {}): void {
    if (end.kind === "ended") {
      this.#log.info(`disconnected from ${this.#broker}`);
      return;
    }
    const known = !end.connected && this.#reason === end.reason;
    this.#reason = end.reason;
    if (!end.connected) this.#failures += 1;
    const text = end.connected ? "lost the link to the broker" : "no link to the broker";
    if (known) this.#log.debug({ failedAttempts: this.#failures }, `${text}: ${end.reason}`);
    else this.#log.warn(lost > 0 ? { lostPublishes: lost } : {}, `${text}: ${end.reason}; trying again`);
    this.#suspect(end.wordless === true && lifeMs < shortLifeMs);
  }

  /** MQTT 5 has a word for a client id that another took over, which Mosquitto 2.0 does not say: it only closes. */
  #suspect(isSuspicious: boolean): void {
    this.#closes = isSuspicious ? this.#closes + 1 : 0;
    if (this.#closes !== suspiciousCloses) return;
    this.#log.warn(
      `${this.#broker} has closed ${suspiciousCloses} links in a row without a word, as Mosquitto 2.0 does when another client connected with the same client id: give each bridge its own mqtt.client_id (and base_topic); the broker's log names the client`,
    );
  }

  /** The broker refuses MQTT 5. Every new link asks for it again, so this is said once. */
  fellBack(): void {
    if (this.#hasFallenBack) this.#log.debug(`${this.#broker} refuses MQTT 5 still`);
    else
      this.#log.warn(
        `${this.#broker} refuses MQTT 5; trying MQTT 3.1.1, with which a live command sent with the retain flag cannot be told from another and is carried out`,
      );
    this.#hasFallenBack = true;
  }
}
