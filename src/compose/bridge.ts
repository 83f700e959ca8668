import { setMaxListeners } from "node:events";
import type { EmbeddedBroker } from "../broker/broker.js";
import type { RefusedLogin } from "../broker/authenticator.js";
import { brokerSettings } from "../broker/settings.js";
import { readVia } from "../runtime/user-properties.js";
import { CommandDesk } from "../commands/desk.js";
import { restoreCommands } from "../commands/restore.js";
import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller } from "../greenhouse/model.js";
import type { Journal } from "../journal/journal.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { topicsUnder } from "../mqtt/topics.js";
import { afterRequests, clockAgrees } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { isLoopback } from "../runtime/sockets.js";
import type { AccountNews } from "../sync/inventory.js";
import type { BridgeSurroundings } from "./surroundings.js";
import { LiveSettings } from "../config/live-settings.js";
import { createMirror, createPush, type Mirror } from "./mirror.js";
import { openJournal } from "../journal/open.js";
import { Outputs } from "./outputs.js";
import { RequestDesk, requestHandlers } from "./requests.js";
import { beginLife, refuseForUnread } from "./status/crash-loop.js";
import { BridgeReport } from "./status/health.js";
import { Operations } from "./status/operations.js";
import { ReadBook } from "./status/overdue.js";

/** What the bridge may do, for the log of a start. */
export function mayDo({ read_only: readOnly, dry_run: dryRun }: Configuration["commands"]): string {
  if (readOnly) return "read-only: every command is refused";
  if (dryRun) return "dry run: commands are checked, and nothing is sent";
  return "commands are taken and sent to the platform";
}

/** One line for each actuator of a controller that was found. */
export function logActuators(log: Logger, { info, actuators }: Controller): void {
  for (const { settings } of actuators.values()) {
    const { id, kind, address, readOnly } = settings;
    const about = { controller: info.id, actuator: id, kind, address };
    log.info(about, `actuator found${readOnly ? ", read-only" : ""}: ${info.id}/${id}`);
  }
}

/** The whole bridge: builds every part, joins them, and runs until `stop` aborts or a part fails. */
export async function runBridge(around: BridgeSurroundings, stop: AbortSignal): Promise<void> {
  const { configuration, clock, log } = around;
  const opened = await openJournal({ dataDir: configuration.data_dir, clock, log });
  try {
    const broker = await startEmbeddedBroker(around, opened.journal);
    around.onListening?.();
    const live = around.live ?? new LiveSettings(around.configuration);
    const life = await beginLife(opened.journal, around, live);
    const bridge = new Bridge({ ...around, live }, broker, opened.journal, live);
    opened.compareClock(() => clockAgrees(bridge.clockSkewMs()));
    try {
      await bridge.run(stop);
      await life.stopped();
    } finally {
      await broker?.close();
      await bridge.close();
    }
  } finally {
    await opened.close();
  }
}

/** Starts the embedded broker where no other is configured; null where one is. Its code is loaded only then. */
export async function startEmbeddedBroker(
  { configuration, clock, log, live }: Pick<BridgeSurroundings, "configuration" | "clock" | "log" | "live">,
  journal: Pick<Journal, "append">,
): Promise<EmbeddedBroker | null> {
  if (configuration.mqtt.url !== undefined) return null;
  const { startBroker } = await import("../broker/broker.js");
  // People type passwords into the wrong field, so the name is left out.
  const onRefusedLogin = (refused: RefusedLogin) => {
    const record = { type: "login_failed", listener: "broker", user: null, ...refused } as const;
    journal.append(record, { durable: false }).catch(() => undefined);
  };
  const broker = await startBroker(brokerSettings(configuration), { clock, log, onRefusedLogin });
  live?.onReload(() => void broker.renewCertificate());
  return broker;
}

class Bridge {
  readonly #around: BridgeSurroundings;
  readonly #journal: Journal;
  readonly #mirror: Mirror;
  readonly #outputs: Outputs;
  readonly #desk: CommandDesk;
  readonly #report: BridgeReport;
  readonly #operations: Operations;
  readonly #live: LiveSettings;
  readonly #requests: RequestDesk;
  readonly #stampsSenders: boolean;
  #stopping: AbortSignal = new AbortController().signal;

  constructor(
    around: BridgeSurroundings,
    broker: EmbeddedBroker | null,
    journal: Journal,
    live: LiveSettings,
  ) {
    this.#around = around;
    this.#live = live;
    this.#journal = journal;
    this.#stampsSenders = broker !== null;
    const onEvent = (event: BridgeEvent) => {
      this.#outputs.event(event);
    };
    const reads = new ReadBook(around.clock);
    this.#mirror = this.#createMirror(reads, onEvent);
    around.onSecrets?.(() => this.#mirror.platform.secrets());
    this.#outputs = this.#createOutputs(broker);
    const parts = { around, journal, live, onEvent, mirror: this.#mirror, outputs: this.#outputs };
    const { store, platform } = this.#mirror;
    const { topics, connection } = this.#outputs;
    const { clock, log, commandLog } = around;
    this.#desk = new CommandDesk({
      ...{ platform, store, journal, topics, link: connection, outputs: this.#outputs },
      ...{ clock, log, commandLog, onEvent, later: afterRequests },
      rules: () => live.current.commands,
      clockTrusted: () => clockAgrees(platform.clockSkewMs()) === true,
      onResult: (result) => {
        this.#operations.resulted(result);
      },
      otherBridge: () => this.#operations.hasOtherBridge,
    });
    const lagMs = () => this.#report.lagMs();
    const onNews = () => {
      this.#report.publish();
    };
    this.#operations = new Operations({ ...parts, desk: this.#desk, reads, lagMs, onNews });
    this.#report = new BridgeReport({ ...parts, desk: this.#desk, operations: this.#operations });
    live.onReload(({ applied }) => {
      this.#reloaded(applied);
    });
    this.#requests = this.#createRequests();
  }

  #createMirror(reads: ReadBook, onEvent: (event: BridgeEvent) => void): Mirror {
    return createMirror(this.#around, {
      watchReads: (reader) => reads.watching(reader),
      onPlatformState: (state) => {
        this.#outputs.platformState(state);
        this.#operations.platformState(state);
      },
      onEvent,
      onInventory: (news) => {
        this.#follow(news);
      },
    });
  }

  #createOutputs(broker: EmbeddedBroker | null): Outputs {
    const topics = topicsUnder(this.#around.configuration.mqtt.base_topic);
    return new Outputs(this.#around, this.#mirror, topics, broker, {
      onConnected: () => {
        this.#operations.connected();
        this.#report.publish();
        this.#desk.connected();
      },
      onDisconnected: () => {
        this.#desk.disconnected();
      },
      onBirth: () => {
        this.#desk.outbox.repeatLate();
      },
      onMessage: this.#received.bind(this),
    });
  }

  /** Until `stop` aborts: then commands are closed first and the broker's connection last. */
  async run(stop: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const linkEnd = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
    setMaxListeners(0, signal, stop);
    this.#stopping = signal;
    this.#around.log.info(mayDo(this.#live.current.commands));
    const { store, poller, watch } = this.#mirror;
    const { clock, log } = this.#around;
    const journal = this.#journal;
    const onUnreadable = (problem: Error) => {
      refuseForUnread(problem, journal, log, this.#live);
    };
    await restoreCommands(this.#desk, { journal, store, clock, log, onUnreadable });
    const watched = (part: Promise<void>) =>
      part.catch((error: unknown) => {
        failed.abort();
        throw error;
      });
    const link = watched(this.#outputs.connection.run(linkEnd.signal));
    const http = { run: (until: AbortSignal) => this.#serveHttp(until) };
    const push = createPush(this.#around, this.#mirror, this.#desk.commander);
    const reading = [store, watch, poller, push];
    const parts = [this.#outputs, this.#desk, ...reading, this.#report, this.#operations, http];
    const results = await Promise.allSettled(parts.map((part) => watched(part.run(signal))));
    linkEnd.abort();
    for (const result of await Promise.allSettled([link, ...results.map(rethrown)])) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  /** Distance of our wall clock from the platform's; null while nothing was heard from it. */
  clockSkewMs(): number | null {
    return this.#mirror.platform.clockSkewMs();
  }

  async close(): Promise<void> {
    await this.#mirror.platform.close();
  }

  async #serveHttp(signal: AbortSignal): Promise<void> {
    const { http } = this.#around.configuration;
    if (http === false) return;
    const { serveHttp } = await import("../http/server.js");
    const { host, port } = http;
    const view = {
      isHealthy: () => this.#operations.brokerState === "online",
      isReady: () => this.#mirror.watch.state === "online" || this.#mirror.watch.state === "degraded",
      metrics: () => this.#operations.metrics(),
      wrongToken: (address: string | null) => {
        this.#operations.wrongToken(address);
      },
    };
    const access = () => {
      const inForce = this.#live.current.http || http;
      const { allowed_hosts: allowedHosts, token = null } = inForce;
      return { allowedHosts, token, isExposed: !isLoopback(host) };
    };
    await serveHttp({ host, port, access }, view, this.#around.log, signal);
  }

  #reloaded(changes: readonly string[]): void {
    if (changes.length === 0) return;
    this.#journal
      .append({ type: "configuration_changed", changes }, { durable: false })
      .catch(() => undefined);
    if (this.#outputs.connection.state === "online") this.#report.publish();
  }

  #createRequests(): RequestDesk {
    const { clock, log, setLogLevel, configuration } = this.#around;
    const { connection, topics } = this.#outputs;
    const handlers = requestHandlers({
      mirror: this.#mirror,
      journal: this.#journal,
      commander: this.#desk.commander,
      now: () => clock.now(),
      republish: () => {
        this.#outputs.republish();
        this.#desk.republish();
      },
      health: () => this.#report.health(),
      setLogLevel,
    });
    const { concurrency } = configuration.platform;
    const { response: responseTopic } = topics.bridge;
    return new RequestDesk({ handlers, responseTopic, publisher: connection, concurrency, clock, log });
  }

  #follow(news: AccountNews): void {
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
    if (news.type !== "added") return;
    const controller = this.#mirror.store.get(news.code);
    if (controller) logActuators(log, controller);
    this.#desk.commander.feed({ type: "admitted", code: news.code });
  }

  #received(message: IncomingMessage): void {
    if (this.#operations.received(message)) return;
    const incoming = this.#outputs.topics.parse(message.topic);
    if (incoming === null) return;
    // Another broker stamps nobody, so there the property would be the sender's own word.
    const via = this.#stampsSenders ? readVia(message.properties.userProperties) : null;
    if (incoming.type === "command")
      this.#desk.received(message, incoming, via && { client: via.client, user: via.user });
    else if (!message.retain)
      this.#requests.received(incoming.name, message.payload, via?.client ?? null, this.#stopping);
  }
}

const rethrown = async (result: PromiseSettledResult<void>): Promise<void> => {
  await Promise.resolve();
  if (result.status === "rejected") throw result.reason;
};

const accountEmpty =
  "The platform lists no controllers at all; nothing is removed. Check the account and the rights of its token.";
