import { randomUUID } from "node:crypto";
import type { RecordBody } from "../journal/records.js";
import type { BrokerConnection } from "../mqtt/connection.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Rest } from "../runtime/schedule.js";
import type { StatusParts } from "./parts.js";
import { instanceIn, OtherBridge, readSelfTest, selfTestPayload } from "./other-bridge.js";

export interface SelfTestTimes {
  /** A message must have come back within this. */
  readonly withinMs: number;
  /** Between two tests that went well. */
  readonly everyMs: number;
  /** Between tests of a link that stays deaf and may not be cut again yet. */
  readonly againMs: number;
}

const selfTestTimes: SelfTestTimes = { withinMs: 10_000, everyMs: 180_000, againMs: 30_000 };

interface SelfTestPorts {
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
  readonly #pause: Rest;
  #nonce: string | null = null;
  #end: (outcome: Outcome) => void = () => undefined;
  #links = 0;
  #failures = 0;
  #cutAt: number | null = null;
  #deafSince: number | null = null;
  #heardAt: number | null = null;

  constructor(ports: SelfTestPorts) {
    this.#ports = ports;
    this.#pause = new Rest(ports.clock);
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
    this.#pause.wake();
  }

  /** A nonce of ours has come back. */
  received(nonce: string): void {
    if (nonce === this.#nonce) this.#end("heard");
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Whoever asks meanwhile asks for the test after this one.
      const pauseMs = await this.#testOnce(signal);
      await this.#pause.for(pauseMs, signal);
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

/**
 * Two bridges with one client id never stand at the broker together, so they cannot hear each other. But each finds that its
 * last link was taken over, or that `bridge/info` has become another's meanwhile. Returns what to call for every new link,
 * before `bridge/info` is published on it; `exchanged` is told the link's number.
 */
function linkExchange(
  connection: Pick<BrokerConnection, "counters" | "scan">,
  infoTopic: string,
  instance: string,
  exchanged: (link: number) => void,
): () => void {
  let link = 0;
  let takenOver = 0;
  return () => {
    link += 1;
    const current = link;
    const before = takenOver;
    takenOver = connection.counters().takenOver;
    if (takenOver > before) exchanged(current);
    // At the first link of this run it is what an earlier run left there.
    if (current === 1) return;
    void connection.scan([infoTopic], (_, payload) => {
      const writer = instanceIn(payload);
      if (writer !== null && writer !== instance) exchanged(current);
    });
  };
}

/** While there are two bridges they speak more often, so that each notices soon when the other stops. */
const sharedEveryMs = 20_000;
/** And so often until each has heard the other twice. */
const suspectedEveryMs = 6_000;
const goodbyeMs = 1_000;
const topicEnd = "/bridge/self_test";

/** What the bridge learns by talking to itself through the broker: whether it is heard, and whether it is alone. */
export class BrokerTests {
  readonly self: SelfTest;
  readonly other: OtherBridge;
  readonly #parts: StatusParts;
  readonly #newLink: () => void;

  constructor(parts: StatusParts, note: (record: RecordBody) => void, onNews: () => void) {
    this.#parts = parts;
    const { clock, log, journal, mirror, connection, topics, onEvent } = parts;
    this.other = new OtherBridge({
      ...{ clock, log, note, instance: journal.boot },
      onEvent: (event) => {
        onEvent(event);
        onNews();
      },
      knows: (code) => mirror.store.get(code) !== undefined,
      answer: () => this.self.soon(),
    });
    this.self = new SelfTest({
      ...{ connection, topic: topics.bridge.selfTest, clock, log, newNonce: randomUUID },
      payload: (nonce) => this.#payload(nonce, false),
      onHearing: onNews,
      times: () => ({ ...selfTestTimes, everyMs: this.#everyMs() }),
    });
    this.#newLink = linkExchange(connection, topics.bridge.info, journal.boot, (link) =>
      this.other.exchanged(link),
    );
  }

  #everyMs(): number {
    if (this.other.isSuspected) return suspectedEveryMs;
    return this.other.isPresent ? sharedEveryMs : selfTestTimes.everyMs;
  }

  connected(): void {
    this.#newLink();
    this.self.connected();
  }

  /** Whether the message was one of these; nobody else has to look at it then. */
  received({ topic, payload }: IncomingMessage): boolean {
    if (!topic.endsWith(topicEnd)) return false;
    const { topics, journal } = this.#parts;
    const message = readSelfTest(payload);
    if (message?.instance === journal.boot) this.self.received(message.nonce);
    else if (message) this.other.heard(message, topic === topics.bridge.selfTest);
    return true;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.self.run(signal);
    await this.#goodbye();
  }

  /** The other of two bridges need not wait until it notices our silence. */
  async #goodbye(): Promise<void> {
    const { clock, connection, topics } = this.#parts;
    if (connection.state !== "online") return;
    const said = new AbortController();
    const goodbye = connection.publish(topics.bridge.selfTest, this.#payload(randomUUID(), true));
    const late = clock.wait(goodbyeMs, said.signal).catch(() => undefined);
    await Promise.race([goodbye.catch(() => undefined), late]);
    said.abort();
  }

  #payload(nonce: string, leaving: boolean): string {
    const { configuration, live, journal, mirror } = this.#parts;
    return selfTestPayload({
      instance: journal.boot,
      nonce,
      client: configuration.mqtt.client_id,
      commands: !live.current.commands.read_only,
      controllers: [...mirror.store.controllers()].map(({ info }) => info.code),
      leaving,
    });
  }
}
