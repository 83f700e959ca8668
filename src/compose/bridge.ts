import { setMaxListeners } from "node:events";
import type { EmbeddedBroker } from "../broker/broker.js";
import { readVia } from "../broker/via.js";
import type { InventoryNews } from "../bridge/inventory.js";
import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { Journal } from "../journal/journal.js";
import type { IncomingMessage } from "../mqtt/connection.js";
import { answerRequest, parseRequest, type RequestHandler } from "../mqtt/requests.js";
import { topicsUnder } from "../mqtt/topics.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { BridgeReport } from "./bridge-report.js";
import { CommandDesk } from "./command-desk.js";
import { startEmbeddedBroker } from "./embedded-broker.js";
import { createMirror, type Mirror } from "./mirror.js";
import { openJournal } from "./open-journal.js";
import { Outputs } from "./outputs.js";
import { requestHandlers } from "./request-handlers.js";
import { restoreCommands } from "./restore.js";

/** The whole bridge: builds every part, joins them, and runs until `stop` aborts or a part fails. */
export async function runBridge(around: BridgeSurroundings, stop: AbortSignal): Promise<void> {
  const opened = await openJournal(around);
  try {
    const broker = await startEmbeddedBroker(around);
    const bridge = new Bridge(around, broker, opened.journal);
    try {
      await bridge.run(stop);
    } finally {
      await broker?.close();
      await bridge.close();
    }
  } finally {
    await opened.close();
  }
}

class Bridge {
  readonly #around: BridgeSurroundings;
  readonly #journal: Journal;
  readonly #mirror: Mirror;
  readonly #outputs: Outputs;
  readonly #desk: CommandDesk;
  readonly #report: BridgeReport;
  readonly #requests: ReadonlyMap<string, RequestHandler>;
  readonly #stampsSenders: boolean;
  #stopping: AbortSignal = new AbortController().signal;

  constructor(around: BridgeSurroundings, broker: EmbeddedBroker | null, journal: Journal) {
    this.#around = around;
    this.#journal = journal;
    this.#stampsSenders = broker !== null;
    const onEvent = (event: BridgeEvent) => {
      this.#outputs.event(event);
    };
    this.#mirror = createMirror(around, {
      onPlatformState: (state) => {
        this.#outputs.platformState(state);
      },
      onEvent,
      onInventory: (news) => {
        this.#follow(news);
      },
    });
    const topics = topicsUnder(around.configuration.mqtt.base_topic);
    this.#outputs = new Outputs(around, this.#mirror, topics, broker, {
      onConnected: () => {
        this.#report.publish();
        this.#desk.connected();
      },
      onMessage: (message) => {
        this.#received(message);
      },
    });
    this.#desk = new CommandDesk({ around, mirror: this.#mirror, outputs: this.#outputs, journal, onEvent });
    this.#report = new BridgeReport({
      around,
      journal,
      mirror: this.#mirror,
      outputs: this.#outputs,
      desk: this.#desk,
    });
    this.#requests = this.#handlers();
  }

  /** Until `stop` aborts: then commands are closed first and the broker's connection last. */
  async run(stop: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const linkEnd = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
    setMaxListeners(0, signal, stop);
    this.#stopping = signal;
    await restoreCommands(this.#desk, this.#journal, this.#mirror, this.#around);
    const { store, poller, watch } = this.#mirror;
    const watched = (part: Promise<void>) =>
      part.catch((error: unknown) => {
        failed.abort();
        throw error;
      });
    const link = watched(this.#outputs.connection.run(linkEnd.signal));
    const http = { run: (until: AbortSignal) => this.#serveHealth(until) };
    const parts = [this.#outputs, this.#desk, store, watch, poller, this.#report, http];
    const results = await Promise.allSettled(parts.map((part) => watched(part.run(signal))));
    linkEnd.abort();
    for (const result of await Promise.allSettled([link, ...results.map(rethrown)])) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  async close(): Promise<void> {
    await this.#mirror.platform.close();
  }

  async #serveHealth(signal: AbortSignal): Promise<void> {
    const { configuration, log } = this.#around;
    if (configuration.http === false) return;
    const { serveHealth } = await import("../http/health-server.js");
    const { host, port, allowed_hosts: allowedHosts } = configuration.http;
    const view = {
      isHealthy: () => this.#outputs.connection.state === "online",
      isReady: () => this.#mirror.watch.state === "online" || this.#mirror.watch.state === "degraded",
    };
    await serveHealth({ host, port, allowedHosts }, view, log, signal);
  }

  #handlers(): ReadonlyMap<string, RequestHandler> {
    return requestHandlers({
      mirror: this.#mirror,
      journal: this.#journal,
      commander: this.#desk.commander,
      now: () => this.#around.clock.now(),
      republish: () => {
        this.#outputs.republish();
      },
      health: () => this.#report.health(),
      setLogLevel: this.#around.setLogLevel,
    });
  }

  #follow(news: InventoryNews): void {
    const { log, clock } = this.#around;
    if (news.type === "account_empty") {
      this.#outputs.event({
        type: "account_empty",
        severity: "warning",
        message: accountEmpty,
        at: clock.now(),
      });
      return;
    }
    log.info({ controller: news.code }, `controller ${news.type}: ${news.name}`);
    if (news.type === "added") this.#desk.commander.problems.show(news.code);
  }

  #received(message: IncomingMessage): void {
    const incoming = this.#outputs.topics.parse(message.topic);
    if (incoming === null) return;
    // Another broker stamps nobody, so there the property would be the sender's own word.
    const via = this.#stampsSenders ? readVia(message.properties.userProperties) : null;
    if (incoming.type === "command")
      this.#desk.received(message, incoming, via && { client: via.client, user: via.user });
    else if (!message.retain) void this.#answer(incoming.name, message.payload);
  }

  async #answer(name: string, payload: Uint8Array): Promise<void> {
    if (!/^[a-z0-9_-]{1,64}$/.test(name)) return;
    const response = await answerRequest(name, parseRequest(payload), this.#requests, this.#stopping);
    this.#outputs.send(this.#outputs.topics.bridge.response(name), response, false);
  }
}

const rethrown = async (result: PromiseSettledResult<void>): Promise<void> => {
  await Promise.resolve();
  if (result.status === "rejected") throw result.reason;
};

const accountEmpty =
  "The platform lists no controllers at all; nothing is removed. Check the account and the rights of its token.";
