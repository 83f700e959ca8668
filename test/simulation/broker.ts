import type { GroupResult } from "../../src/greenhouse/groups.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { PublishError } from "../../src/mqtt/connection/publish.js";
import type {
  BrokerFacts,
  ConnectionSettings,
  ConnectionState,
  IncomingMessage,
} from "../../src/mqtt/connection/settings.js";
import type { Connection } from "../../src/mqtt/connection.js";
import { untilAborted } from "../../src/runtime/clock.js";
import { ArrivalAge, type Gaps, noGaps } from "../../src/runtime/gaps.js";
import type { Chance } from "./scenario.js";
import type { BootClock } from "./time.js";

const mqtt5: BrokerFacts = {
  protocolVersion: 5,
  maximumPacketSize: null,
  receiveMaximum: null,
  maximumQos: 2,
  retainAvailable: true,
};

/** The surroundings of a link: the broker, and observers. */
export interface AroundLink {
  readonly clock: BootClock;
  readonly chance: Chance;
  /** The broker's retained messages. */
  readonly retained: Map<string, string>;
  readonly fail: (error: unknown) => void;
  /** The bridge has subscribed. */
  readonly onLinked: () => void;
  /** The link has lasted half a minute. */
  readonly onStood: () => void;
  /** A result of a command to several actuators is published. */
  readonly onGroupResult: (result: GroupResult) => void;
  /** A result is published. The returned function is called when the broker has it. */
  readonly onResult: (result: CommandResult) => () => void;
}

/** One run's link to the simulated broker, instead of the program's own: publishes are noted, and kept if retained. */
export class BrokerLink implements Connection {
  state: ConnectionState = "idle";
  broker: BrokerFacts | null = null;
  readonly versionReason = "configured";
  readonly lastFailure = null;
  readonly isMute = false;
  readonly #around: AroundLink;
  readonly #settings: ConnectionSettings;
  readonly #gaps: Gaps;
  #age: ArrivalAge | null = null;
  #connects = 0;

  constructor(around: AroundLink, settings: ConnectionSettings, gaps: Gaps = noGaps) {
    this.#around = around;
    this.#settings = settings;
    this.#gaps = gaps;
  }

  get isLinked(): boolean {
    return this.state === "online" || this.state === "ending";
  }

  async run(signal: AbortSignal): Promise<void> {
    this.state = "waiting";
    this.#around.clock.in(1, () => this.connect());
    await untilAborted(signal);
    if (this.isLinked) {
      this.state = "ending";
      await this.#settings.on?.beforeEnd?.();
      this.disconnect();
    }
    this.state = "ended";
  }

  /** The broker's side of the link comes up, and the bridge has subscribed. */
  connect(): void {
    if (this.state !== "waiting") return;
    this.state = "online";
    this.broker = mqtt5;
    this.#connects += 1;
    const { clock } = this.#around;
    // A question asked now is answered behind everything in the socket.
    this.#age = new ArrivalAge(clock, this.#gaps, (proven) => void clock.in(1, proven));
    const links = this.#connects;
    void Promise.resolve(this.#settings.on?.onConnected?.(mqtt5)).catch((error: unknown) =>
      this.#around.fail(error),
    );
    this.#around.onLinked();
    clock.in(30_000, () => {
      if (this.isLinked && this.#connects === links) this.#around.onStood();
    });
  }

  disconnect(): void {
    if (!this.isLinked) return;
    this.state = "waiting";
    this.#age?.close();
    this.#age = null;
    this.broker = null;
    this.#settings.on?.onDisconnected?.({ kind: "lost", code: null, connected: true, reason: "it was cut" });
  }

  /** Delivers a message of others; what the bridge cannot hear is lost, as its sessions are always clean. */
  receive(message: IncomingMessage, protocolVersion: 4 | 5 = 5): void {
    if (!this.isLinked || !this.#around.clock.isAlive) return;
    this.broker = { ...mqtt5, protocolVersion };
    const ageMs = this.#age?.ms() ?? 0;
    this.#settings.on?.message?.(ageMs === 0 ? message : { ...message, ageMs });
  }

  publish(topic: string, payload: string | Buffer, { retain = false } = {}): Promise<void> {
    const { clock } = this.#around;
    if (!clock.isAlive) return new Promise(() => undefined);
    const text = payload.toString();
    if (/\/actuator\/[^/]+\/result$/.test(topic))
      return this.#publishResult(JSON.parse(text) as CommandResult);
    if (/\/(?:group|scene)\/[^/]+\/result$/.test(topic)) {
      const result = JSON.parse(text) as GroupResult;
      this.#around.onGroupResult(result);
      return this.#arriving(() => undefined);
    }
    if (!this.isLinked) return offline("the broker is away");
    const { retained } = this.#around;
    if (retain && text === "") retained.delete(topic);
    else if (retain) retained.set(topic, text);
    if (topic.endsWith("/bridge/self_test"))
      clock.in(1, () => {
        this.receive({ topic, payload: Buffer.from(text), retain: false, properties: {} });
      });
    return Promise.resolve();
  }

  #publishResult(result: CommandResult): Promise<void> {
    return this.#arriving(this.#around.onResult(result));
  }

  #arriving(delivered: () => void): Promise<void> {
    const { clock, chance } = this.#around;
    if (!this.isLinked) return offline("the broker is away");
    return new Promise((resolve, reject) => {
      clock.in(chance.between(0, 20), () => {
        const arrives = this.isLinked || chance.hits(0.5);
        if (arrives) delivered();
        if (this.isLinked) resolve();
        else reject(new PublishError("offline", "the link broke before the acknowledgement"));
      });
    });
  }

  scan(filters: readonly string[], found: (topic: string, payload: Buffer) => void): Promise<boolean> {
    const expressions = filters.map(expressionOf);
    for (const [topic, text] of this.#around.retained)
      if (expressions.some((one) => one.test(topic))) found(topic, Buffer.from(text));
    return Promise.resolve(true);
  }

  listen(topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      const text = this.#around.retained.get(topic);
      if (text !== undefined)
        this.receive({ topic, payload: Buffer.from(text), retain: true, properties: {} });
    }
    return Promise.resolve();
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  restart(): void {
    throw new Error("nobody renews the link of a simulated bridge");
  }

  reconnect(because: string): void {
    this.#around.fail(new Error(`the bridge cuts its link: ${because}`));
  }

  counters(): ReturnType<Connection["counters"]> {
    return {
      connects: this.#connects,
      disconnects: 0,
      refused: 0,
      takenOver: 0,
      repairs: 0,
      received: 0,
      oversized: 0,
      listenerErrors: 0,
      published: 0,
      unacknowledged: 0,
      publishRefused: 0,
      dropped: 0,
      inFlight: 0,
      waiting: 0,
      lastConnectedAt: null,
      protocolVersion: 5,
    };
  }
}

const offline = (why: string): Promise<never> => Promise.reject(new PublishError("offline", why));

const expressionOf = (filter: string): RegExp =>
  new RegExp(
    `^${filter
      .replace(/[.$^(){}|[\]\\*?]/g, "\\$&")
      .replaceAll("+", "[^/]+")
      .replace(/\/#$/, "(/.*)?")}$`,
  );
