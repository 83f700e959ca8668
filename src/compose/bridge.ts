import { setMaxListeners } from "node:events";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { IncomingMessage } from "../mqtt/connection.js";
import { answerRequest, parseRequest, type RequestHandler } from "../mqtt/requests.js";
import { topicsUnder } from "../mqtt/topics.js";
import { bridgeInfo } from "./bridge-info.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { EmbeddedBroker } from "../broker/broker.js";
import { startEmbeddedBroker } from "./embedded-broker.js";
import { countsOf, healthDocument, oldestReading } from "./health.js";
import { createMirror, type Mirror } from "./mirror.js";
import { Outputs } from "./outputs.js";
import { requestHandlers } from "./request-handlers.js";

const healthEveryMs = 60_000;

/** The whole bridge: builds every part, joins them, and runs until `stop` aborts or a part fails. */
export async function runBridge(around: BridgeSurroundings, stop: AbortSignal): Promise<void> {
  const broker = await startEmbeddedBroker(around);
  const bridge = new Bridge(around, broker);
  try {
    await bridge.run(stop);
  } finally {
    await broker?.close();
    await bridge.close();
  }
}

class Bridge {
  readonly #around: BridgeSurroundings;
  readonly #mirror: Mirror;
  readonly #outputs: Outputs;
  readonly #requests: ReadonlyMap<string, RequestHandler>;
  readonly #startedAt: number;
  readonly #startedMono: number;
  readonly #lag: IntervalHistogram;
  #stopping: AbortSignal = new AbortController().signal;

  constructor(around: BridgeSurroundings, broker: EmbeddedBroker | null) {
    this.#around = around;
    this.#startedAt = around.clock.now();
    this.#startedMono = around.clock.monotonic();
    this.#lag = monitorEventLoopDelay({ resolution: 100 });
    this.#mirror = createMirror(around, {
      onPlatformState: (state) => {
        this.#outputs.platformState(state);
      },
      onEvent: (event) => {
        this.#event(event);
      },
      onInventory: (news) => {
        if (news.type === "account_empty") this.#event(accountEmpty(around.clock.now()));
        else around.log.info({ controller: news.code }, `controller ${news.type}: ${news.name}`);
      },
    });
    this.#outputs = new Outputs(
      around,
      this.#mirror,
      topicsUnder(around.configuration.mqtt.base_topic),
      broker,
      {
        onConnected: () => {
          this.#publishInfo();
          this.#publishHealth();
        },
        onMessage: (message) => {
          this.#received(message);
        },
      },
    );
    this.#requests = requestHandlers({
      mirror: this.#mirror,
      republish: () => {
        this.#outputs.republish();
      },
      health: () => this.#health(),
      setLogLevel: around.setLogLevel,
    });
  }

  async run(stop: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
    setMaxListeners(0, signal, stop);
    this.#stopping = signal;
    this.#lag.enable();
    const { store, poller, watch } = this.#mirror;
    const parts = [
      this.#outputs.connection.run(signal),
      this.#outputs.run(signal),
      store.run(signal),
      watch.run(signal),
      poller.run(signal),
      this.#reportHealth(signal),
    ];
    const ends = parts.map((part) =>
      part.catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    );
    const results = await Promise.allSettled(ends);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async close(): Promise<void> {
    this.#lag.disable();
    await this.#mirror.platform.close();
  }

  #event(event: BridgeEvent): void {
    this.#outputs.event(event);
  }

  #received(message: IncomingMessage): void {
    const incoming = this.#outputs.topics.parse(message.topic);
    if (incoming?.type !== "request" || message.retain) return;
    const { name } = incoming;
    if (!/^[a-z0-9_-]{1,64}$/.test(name)) return;
    void answerRequest(name, parseRequest(message.payload), this.#requests, this.#stopping).then(
      (response) => {
        this.#outputs.send(this.#outputs.topics.bridge.response(name), response, false);
      },
    );
  }

  #publishInfo(): void {
    const { configuration, version } = this.#around;
    const facts = { version, startedAt: this.#startedAt, counts: countsOf(this.#mirror.store) };
    this.#outputs.send(this.#outputs.topics.bridge.info, bridgeInfo(configuration, facts), true);
  }

  #publishHealth(): void {
    this.#outputs.send(this.#outputs.topics.bridge.health, JSON.stringify(this.#health()), true);
  }

  async #reportHealth(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#around.clock.wait(healthEveryMs, signal).catch(() => undefined);
      if (this.#outputs.connection.state !== "online") continue;
      this.#publishHealth();
      this.#publishInfo();
      this.#lag.reset();
    }
  }

  #health(): Readonly<Record<string, unknown>> {
    const { clock } = this.#around;
    const { store, poller, watch, budget, platform, intervals } = this.#mirror;
    const now = clock.monotonic();
    const wall = (mono: number | null) => (mono === null ? null : clock.now() - (now - mono));
    return healthDocument({
      uptimeMs: now - this.#startedMono,
      rssBytes: process.memoryUsage.rss(),
      eventLoopLagMs: Math.max(0, this.#lag.percentile(99) / 1e6 - 100),
      broker: { state: this.#outputs.connection.state, ...this.#outputs.connection.counters() },
      platform: { state: watch.state, controllers: store.size, ...platform.counters() },
      requestsLeft: budget.left(now),
      effectiveIntervalsMs: Object.fromEntries(
        Object.entries(intervals).map(([name, ms]: [string, number]) => [
          name.replace(/Ms$/, ""),
          ms * poller.stretch,
        ]),
      ),
      lastContactBusinessAt: wall(platform.lastContact("business")),
      lastContactRealtimeAt: wall(platform.lastContact("realtime")),
      oldest: oldestReading(store.controllers()),
      journal: null,
      unreadable: platform.shapeReports(),
      overdue: [],
    });
  }
}

const accountEmpty = (at: number): BridgeEvent => ({
  type: "account_empty",
  severity: "warning",
  message:
    "The platform lists no controllers at all; nothing is removed. Check the account and the token's rights.",
  at,
});
