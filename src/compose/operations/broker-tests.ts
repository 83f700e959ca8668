import { randomUUID } from "node:crypto";
import type { RecordBody } from "../../journal/records.js";
import type { IncomingMessage } from "../../mqtt/connection.js";
import { linkExchange } from "./link-exchange.js";
import type { OperationsParts } from "./operations.js";
import { OtherBridge } from "./other-bridge.js";
import { SelfTest, selfTestTimes } from "./self-test.js";
import { readSelfTest, selfTestPayload } from "./self-test-message.js";

/** While there are two bridges they speak more often, so that each notices soon when the other stops. */
const sharedEveryMs = 20_000;
/** And so often until each has heard the other twice. */
const suspectedEveryMs = 6_000;
const goodbyeMs = 1_000;
const topicEnd = "/bridge/self_test";

type Parts = Pick<
  OperationsParts,
  "around" | "live" | "journal" | "mirror" | "outputs" | "onEvent" | "onNews"
>;

/** What the bridge learns by talking to itself through the broker: whether it is heard, and whether it is alone. */
export class BrokerTests {
  readonly self: SelfTest;
  readonly other: OtherBridge;
  readonly #parts: Parts;
  readonly #newLink: () => void;

  constructor(parts: Parts, note: (record: RecordBody) => void) {
    this.#parts = parts;
    const { around, journal, mirror, outputs, onEvent, onNews } = parts;
    const { clock, log } = around;
    const { connection, topics } = outputs;
    this.other = new OtherBridge({
      ...{ clock, log, note, instance: journal.boot },
      onEvent: (event) => {
        onEvent(event);
        onNews();
      },
      knows: (code) => mirror.store.get(code) !== undefined,
      answer: () => {
        this.self.soon();
      },
    });
    this.self = new SelfTest({
      ...{ connection, topic: topics.bridge.selfTest, clock, log, newNonce: randomUUID },
      payload: (nonce) => this.#payload(nonce, false),
      onHearing: onNews,
      times: () => ({ ...selfTestTimes, everyMs: this.#everyMs() }),
    });
    this.#newLink = linkExchange(connection, topics.bridge.info, journal.boot, (link) => {
      this.other.exchanged(link);
    });
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
    const { outputs, journal } = this.#parts;
    const message = readSelfTest(payload);
    if (message?.instance === journal.boot) this.self.received(message.nonce);
    else if (message) this.other.heard(message, topic === outputs.topics.bridge.selfTest);
    return true;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.self.run(signal), this.other.run(signal)]);
    await this.#goodbye();
  }

  /** The other of two bridges need not wait until it notices our silence. */
  async #goodbye(): Promise<void> {
    const { around, outputs } = this.#parts;
    const { connection, topics } = outputs;
    if (connection.state !== "online") return;
    const said = new AbortController();
    const goodbye = connection.publish(topics.bridge.selfTest, this.#payload(randomUUID(), true));
    const late = around.clock.wait(goodbyeMs, said.signal).catch(() => undefined);
    await Promise.race([goodbye.catch(() => undefined), late]);
    said.abort();
  }

  #payload(nonce: string, leaving: boolean): string {
    const { around, live, journal, mirror } = this.#parts;
    return selfTestPayload({
      instance: journal.boot,
      nonce,
      client: around.configuration.mqtt.client_id,
      commands: !live.current.commands.read_only,
      controllers: [...mirror.store.controllers()].map(({ info }) => info.code),
      leaving,
    });
  }
}
