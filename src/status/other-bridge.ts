import { randomUUID } from "node:crypto";
import type { RecordBody } from "../journal/records.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import type { StatusParts } from "./health.js";
import {
  atTime,
  clientOf,
  instanceIn,
  isAlone,
  isRival,
  isShared,
  isSuspected,
  nobody,
  type Presence,
  readSelfTest,
  selfTestPayload,
  withExchange,
  withHeard,
  withLeft,
  withLink,
} from "./presence.js";
import { SelfTest, selfTestTimes } from "./self-test.js";

/** While there are two bridges they speak more often, so that each notices soon when the other stops. */
const sharedEveryMs = 20_000;
/** And so often until each has heard the other twice. */
const suspectedEveryMs = 6_000;
const goodbyeMs = 1_000;
const topicEnd = "/bridge/self_test";

/** What the bridge learns by talking to itself through the broker: whether it is heard, and whether it is alone. */
export class BrokerTests {
  readonly self: SelfTest;
  readonly #parts: StatusParts;
  readonly #note: (record: RecordBody) => void;
  readonly #onNews: () => void;
  #presence: Presence = nobody;
  /** Since when another bridge is there, epoch ms; null while none is. */
  #since: number | null = null;
  #link = 0;
  #takenOver = 0;

  constructor(parts: StatusParts, note: (record: RecordBody) => void, onNews: () => void) {
    this.#parts = parts;
    this.#note = note;
    this.#onNews = onNews;
    const { clock, log, connection, topics } = parts;
    this.self = new SelfTest({
      ...{ connection, topic: topics.bridge.selfTest, clock, log, onHearing: onNews },
      newMessage: () => {
        const nonce = randomUUID();
        return { nonce, payload: this.#payload(nonce, false) };
      },
      times: () => ({ ...selfTestTimes, everyMs: this.#everyMs() }),
    });
  }

  /** What is known of another bridge; null where there is none. */
  other(): { readonly client: string | null; readonly since: number } | null {
    return this.#since === null ? null : { client: clientOf(this.#presence), since: this.#since };
  }

  /** Another one would have been heard by now. */
  isAlone(): boolean {
    return isAlone(this.#presence, this.#parts.clock.monotonic());
  }

  /** A link stands, and `bridge/info` has not been published on it yet. */
  connected(): void {
    this.#presence = withLink(this.#presence, this.#parts.clock.monotonic());
    this.#compareLinks();
    this.self.connected();
  }

  /** Whether the message was one of these; nobody else has to look at it then. */
  received({ topic, payload }: IncomingMessage): boolean {
    if (!topic.endsWith(topicEnd)) return false;
    const { topics, journal, mirror, clock } = this.#parts;
    const message = readSelfTest(payload);
    if (message === null) return true;
    const { instance, client, leaving } = message;
    if (instance === journal.boot) this.self.received(message.nonce);
    else if (isRival(message, topic === topics.bridge.selfTest, (code) => !!mirror.store.get(code))) {
      const isNew = !this.#presence.heard.has(instance);
      const heard = withHeard(this.#presence, instance, client, clock.monotonic());
      this.#change(leaving ? withLeft(this.#presence, instance) : heard);
      // The other need not wait for our next test.
      if (isNew && !leaving) this.self.soon();
    }
    return true;
  }

  /** When to look next unless something comes, ms. */
  restMs(): number {
    const { heard, exchanging } = this.#presence;
    return heard.size > 0 || exchanging ? 1_000 : this.self.restMs();
  }

  /** Does what is due; who was silent for too long is gone. */
  look(): void {
    this.self.look();
    this.#change(atTime(this.#presence, this.#parts.clock.monotonic()));
  }

  /** The other of two bridges need not wait until it notices our silence. */
  async goodbye(): Promise<void> {
    const { clock, connection, topics } = this.#parts;
    if (connection.state !== "online") return;
    const said = new AbortController();
    const goodbye = connection.publish(topics.bridge.selfTest, this.#payload(randomUUID(), true));
    const late = clock.wait(goodbyeMs, said.signal).catch(() => undefined);
    await Promise.race([goodbye.catch(() => undefined), late]);
    said.abort();
  }

  #everyMs(): number {
    if (isSuspected(this.#presence)) return suspectedEveryMs;
    return this.#since === null ? selfTestTimes.everyMs : sharedEveryMs;
  }

  /**
   * Two bridges with one client id never stand at the broker together, so they cannot hear each other. But each finds that
   * its last link was taken over, or that `bridge/info` has become another's meanwhile. A link counts once.
   */
  #compareLinks(): void {
    const { connection, topics, journal, clock } = this.#parts;
    this.#link += 1;
    let isCounted = false;
    const exchanged = () => {
      if (!isCounted) this.#change(withExchange(this.#presence, clock.monotonic()));
      isCounted = true;
    };
    const { takenOver } = connection.counters();
    if (takenOver > this.#takenOver) exchanged();
    this.#takenOver = takenOver;
    // At the first link of this run it is what an earlier run left there.
    if (this.#link === 1) return;
    void connection.scan([topics.bridge.info], (_, payload) => {
      const writer = instanceIn(payload);
      if (writer !== null && writer !== journal.boot) exchanged();
    });
  }

  #change(presence: Presence): void {
    this.#presence = presence;
    const present = isShared(presence);
    if (present === (this.#since !== null)) return;
    const { clock, log, onEvent } = this.#parts;
    const at = clock.now();
    const client = clientOf(presence);
    const message = present ? found : gone;
    this.#since = present ? at : null;
    if (present) log.error({ client }, message);
    else log.info(message);
    this.#note({ type: "other_bridge", present, client });
    const severity = present ? "error" : "info";
    onEvent({ type: "other_bridge", severity, message, at, facts: { present, client } });
    this.#onNews();
  }

  #payload(nonce: string, leaving: boolean): string {
    const { configuration, live, journal, mirror } = this.#parts;
    return selfTestPayload({
      ...{ instance: journal.boot, nonce, leaving },
      client: configuration.mqtt.client_id,
      commands: !live.current.commands.read_only,
      controllers: [...mirror.store.controllers()].map(({ info }) => info.code),
    });
  }
}

const found =
  "Another bridge works for the same account at this broker; commands but stops are refused until one of the two is stopped. Give every bridge its own account, mqtt.client_id and mqtt.base_topic";
const gone = "The other bridge is gone; commands are taken again";
