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
import type { Bridge } from "./bridge.js";
import type { World } from "./world.js";

const mqtt5: BrokerFacts = {
  protocolVersion: 5,
  maximumPacketSize: null,
  receiveMaximum: null,
  maximumQos: 2,
  retainAvailable: true,
};

/** One run's link to the simulated broker, in place of the program's own: what it publishes is noted, and kept if it is retained. */
export class BrokerLink implements Connection {
  state: ConnectionState = "idle";
  broker: BrokerFacts | null = null;
  readonly versionReason = "configured";
  readonly lastFailure = null;
  readonly isMute = false;
  readonly #world: World;
  readonly #bridge: Bridge;
  readonly #settings: ConnectionSettings;
  readonly #gaps: Gaps;
  #age: ArrivalAge | null = null;
  #connects = 0;

  constructor(world: World, bridge: Bridge, settings: ConnectionSettings, gaps: Gaps = noGaps) {
    this.#world = world;
    this.#bridge = bridge;
    this.#settings = settings;
    this.#gaps = gaps;
  }

  get isLinked(): boolean {
    return this.state === "online" || this.state === "ending";
  }

  async run(signal: AbortSignal): Promise<void> {
    this.state = "waiting";
    this.#bridge.clock.in(1, () => this.connect());
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
    const { clock } = this.#bridge;
    // What is asked now is answered behind all that lies in the socket.
    this.#age = new ArrivalAge(clock, this.#gaps, (proven) => void clock.in(1, proven));
    const links = this.#connects;
    void Promise.resolve(this.#settings.on?.onConnected?.(mqtt5)).catch((error: unknown) =>
      this.#world.fail(error),
    );
    this.#world.linked(this.#bridge);
    this.#bridge.clock.in(30_000, () => {
      if (this.isLinked && this.#connects === links) this.#world.checks.topicsLookedAt(this.#bridge);
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

  /** Something that others have published; what the bridge cannot hear is lost, as its sessions are always clean. */
  receive(message: IncomingMessage, protocolVersion: 4 | 5 = 5): void {
    if (!this.isLinked || !this.#bridge.clock.isAlive) return;
    this.broker = { ...mqtt5, protocolVersion };
    const ageMs = this.#age?.ms() ?? 0;
    this.#settings.on?.message?.(ageMs === 0 ? message : { ...message, ageMs });
  }

  publish(topic: string, payload: string | Buffer, { retain = false } = {}): Promise<void> {
    const { clock } = this.#bridge;
    if (!clock.isAlive) return new Promise(() => undefined);
    const text = payload.toString();
    if (/\/actuator\/[^/]+\/result$/.test(topic))
      return this.#publishResult(JSON.parse(text) as CommandResult);
    if (!this.isLinked) return offline("the broker is away");
    const { retained } = this.#world;
    if (retain && text === "") retained.delete(topic);
    else if (retain) retained.set(topic, text);
    if (topic.endsWith("/bridge/self_test"))
      clock.in(1, () => {
        this.receive({ topic, payload: Buffer.from(text), retain: false, properties: {} });
      });
    return Promise.resolve();
  }

  #publishResult(result: CommandResult): Promise<void> {
    const { clock } = this.#bridge;
    const { checks, journalist, linkChance } = this.#world;
    checks.result(this.#bridge, result);
    if (!this.isLinked) return offline("the broker is away");
    const ask = journalist.asks.get(result.by ?? "");
    return new Promise((resolve, reject) => {
      clock.in(linkChance.between(0, 20), () => {
        const arrives = this.isLinked || linkChance.hits(0.5);
        if (arrives && ask) ask.delivered = true;
        if (this.isLinked) resolve();
        else reject(new PublishError("offline", "the link broke before the acknowledgement"));
      });
    });
  }

  scan(filters: readonly string[], found: (topic: string, payload: Buffer) => void): Promise<boolean> {
    const expressions = filters.map(expressionOf);
    for (const [topic, text] of this.#world.retained)
      if (expressions.some((one) => one.test(topic))) found(topic, Buffer.from(text));
    return Promise.resolve(true);
  }

  listen(topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      const text = this.#world.retained.get(topic);
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
    this.#world.fail(new Error(`the bridge cuts its link: ${because}`));
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
