import type { BrokerConnection } from "../../mqtt/connection.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";

export interface SelfTestTimes {
  /** A message must have come back within this. */
  readonly withinMs: number;
  /** Between two tests that went well. */
  readonly everyMs: number;
  /** Between tests of a link that stays deaf and may not be cut again yet. */
  readonly againMs: number;
}

export const selfTestTimes: SelfTestTimes = { withinMs: 10_000, everyMs: 180_000, againMs: 30_000 };

export interface SelfTestPorts {
  readonly connection: Pick<BrokerConnection, "publish" | "reconnect" | "state">;
  readonly topic: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newNonce: () => string;
  /** The message that carries a nonce. */
  readonly payload: (nonce: string) => string;
  readonly times: () => SelfTestTimes;
  /** A deaf link hears again. */
  readonly onHearing?: () => void;
}

/** How long a link that stays deaf is left alone before it is cut once more: a reconnect that did not help twice hardly will. */
export function pauseBeforeCutMs(failures: number): number {
  return failures <= 2 ? 0 : Math.min(60_000 * 2 ** (failures - 3), 900_000);
}

type Outcome = "heard" | "deaf" | "gone";

/**
 * Sends itself a message through the broker, after every connect and every few minutes: a link that publishes but
 * receives nothing would look well and take no command.
 */
export class SelfTest {
  readonly #ports: SelfTestPorts;
  readonly #tally = { heard: 0, failed: 0 };
  #nonce: string | null = null;
  #end: (outcome: Outcome) => void = () => undefined;
  #wake: AbortController = new AbortController();
  #links = 0;
  #failures = 0;
  #cutAt: number | null = null;
  #deafSince: number | null = null;
  #heardAt: number | null = null;

  constructor(ports: SelfTestPorts) {
    this.#ports = ports;
  }

  get isDeaf(): boolean {
    return this.#deafSince !== null;
  }

  /** Epoch ms; null while it never happened. */
  get heardAt(): number | null {
    return this.#heardAt;
  }

  get deafSince(): number | null {
    return this.#deafSince;
  }

  counters(): { readonly heard: number; readonly failed: number } {
    return { ...this.#tally };
  }

  /** A link stands and its subscriptions are granted. */
  connected(): void {
    this.#links += 1;
    this.#end("gone");
    this.soon();
  }

  /** Tests at once instead of when the pause is over. */
  soon(): void {
    this.#wake.abort();
  }

  /** A nonce of ours has come back. */
  received(nonce: string): void {
    if (nonce === this.#nonce) this.#end("heard");
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Whoever asks from here on asks for the test after this one.
      this.#wake = new AbortController();
      const pauseMs = await this.#testOnce(signal);
      await this.#ports.clock
        .wait(pauseMs, AbortSignal.any([signal, this.#wake.signal]))
        .catch(() => undefined);
    }
  }

  /** Returns how long to wait for the next. */
  async #testOnce(signal: AbortSignal): Promise<number> {
    const { connection, times } = this.#ports;
    if (connection.state !== "online") return times().everyMs;
    const link = this.#links;
    const outcome = await this.#test(signal);
    if (outcome === "heard") this.#passed();
    else if (outcome === "deaf" && link === this.#links) return this.#failed();
    return times().everyMs;
  }

  async #test(signal: AbortSignal): Promise<Outcome> {
    const { connection, topic, clock, payload, newNonce, times } = this.#ports;
    const nonce = newNonce();
    this.#nonce = nonce;
    const ended = new AbortController();
    const told = new Promise<Outcome>((resolve) => {
      this.#end = resolve;
    });
    const send = () => connection.publish(topic, payload(nonce), { qos: 1, retain: false });
    const wait = (ms: number) => clock.wait(ms, AbortSignal.any([signal, ended.signal]));
    const late = async (): Promise<Outcome> => {
      send().catch(() => undefined);
      // A broker may drop one message for a client it is just flooding; it hardly drops two.
      await wait(times().withinMs / 2);
      send().catch(() => undefined);
      await wait(times().withinMs / 2);
      return connection.state === "online" ? "deaf" : "gone";
    };
    const outcome = await Promise.race([told, late().catch((): Outcome => "gone")]);
    ended.abort();
    this.#nonce = null;
    return outcome;
  }

  #passed(): void {
    const wasDeaf = this.isDeaf;
    this.#tally.heard += 1;
    this.#failures = 0;
    this.#heardAt = this.#ports.clock.now();
    this.#deafSince = null;
    if (!wasDeaf) return;
    this.#ports.log.info("the broker delivers messages to us again");
    this.#ports.onHearing?.();
  }

  #failed(): number {
    const { connection, clock, log, topic, times } = this.#ports;
    this.#tally.failed += 1;
    this.#failures += 1;
    this.#deafSince ??= clock.now();
    const now = clock.monotonic();
    const mayCut = this.#cutAt === null || now - this.#cutAt >= pauseBeforeCutMs(this.#failures);
    log.error(
      { topic, failures: this.#failures },
      `the broker takes our messages but delivers none: commands cannot arrive.${mayCut ? " Reconnecting." : ""} If this stays, let this client read and write the topic in the broker's access list`,
    );
    if (!mayCut) return times().againMs;
    this.#cutAt = now;
    connection.reconnect("the link delivers no messages: a message to ourselves did not come back");
    return times().everyMs;
  }
}
