import { type HostSettings, Lane, type Outgoing } from "../../../src/platform/http/connections.js";
import type { HttpAnswer } from "../../../src/platform/http/exchange.js";
import type { Clock } from "../../../src/runtime/clock.js";
import { BootClock } from "../time.js";

/** Stands where the product opens connections; all above it is the product's own. */
export class HostConnections {
  readonly url: URL;
  readonly lane: Lane;
  readonly #settings: HostSettings;
  readonly #clock: BootClock;

  constructor(settings: HostSettings, clock: Clock) {
    if (!(clock instanceof BootClock)) throw new Error("only for the simulated world");
    this.url = new URL(settings.url);
    this.lane = new Lane(settings.concurrency);
    this.#settings = settings;
    this.#clock = clock;
  }

  exchange(outgoing: Outgoing, headers: string[]): Promise<HttpAnswer> {
    const host = this.url.hostname.startsWith("business") ? "business" : "realtime";
    return this.#clock.wire.exchange(host, outgoing, headers, this.#clock, this.deadlineMs(outgoing.patient));
  }

  deadlineMs = (patient: boolean): number =>
    patient ? this.#settings.timeouts.controlMs : this.#settings.timeouts.readMs;

  close(): Promise<void> {
    return Promise.resolve();
  }
}
