import { setMaxListeners } from "node:events";
import anyAscii from "any-ascii";
import type { EmbeddedBroker } from "./broker/broker.js";
import type { RefusedLogin } from "./broker/authenticator.js";
import { readVia } from "./runtime/mqtt.js";
import { CommandService } from "./commands/service.js";
import { restoreCommands } from "./commands/restore.js";
import { LiveSettings, mayDo } from "./config/live-settings.js";
import type { Configuration } from "./config/schema.js";
import type { BridgeEvent } from "./greenhouse/events.js";
import { DiscoveryOutput } from "./homeassistant/discovery-output.js";
import { discoveryFilter } from "./homeassistant/announced.js";
import { withdrawEarlier } from "./homeassistant/withdrawals.js";
import type { PageService, PageSources } from "./http/service.js";
import type { Journal } from "./journal/journal.js";
import { journalReader } from "./journal/reader.js";
import { openJournal } from "./journal/open.js";
import { BrokerConnection } from "./mqtt/connection.js";
import { connectionSettings, type IncomingMessage } from "./mqtt/connection/settings.js";
import { Outputs } from "./mqtt/outputs.js";
import { RequestServer } from "./mqtt/requests.js";
import { topicsUnder } from "./mqtt/topics.js";
import { createPlatform, type PlatformClient } from "./platform/client.js";
import { textFile } from "./runtime/file-system.js";
import { weatherTopics } from "./limits/limits.js";
import { afterRequests, type Clock, clockAgrees, type Random } from "./runtime/clock.js";
import type { Logger, RecentLog } from "./runtime/log.js";
import type { ServiceManager } from "./runtime/systemd.js";
import { beginLife, endLife, refuseUnread } from "./status/crash-loop.js";
import type { Metrics } from "./status/metrics.js";
import { requestHandlers } from "./status/requests.js";
import { Status } from "./status/status.js";
import { createMirror, type Mirror } from "./sync/mirror.js";
import { leavesOut } from "./sync/settings.js";

/** What the outside gives a bridge to run with. */
export interface BridgeOptions {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Takes a line of each command taken and of each result; without it none is written. */
  readonly commandLog?: Logger | undefined;
  /** The newest lines of the log; without it there are none to show. */
  readonly recentLog?: RecentLog;
  readonly setLogLevel: (level: string) => void;
  readonly version: string;
  /** Where the configuration can be reloaded; without it the one of the start stays in force. */
  readonly live?: LiveSettings;
  /** Told that the bridge is ready, works, and stops. */
  readonly manager?: ServiceManager | null;
  /** Given what lists the tokens learned while running, which must never be shown. */
  readonly onSecrets?: (list: () => readonly string[]) => void;
  /** What the page can do beyond the bridge. */
  readonly page?: Pick<PageSources, "doctor" | "demo" | "onListening">;
  /** Called once, when the embedded broker, if there is one, lets clients in. */
  readonly onListening?: () => void;
}

/** `crashLoop`: what is to be told of one; null for none. */
type Given = BridgeOptions & { readonly live: LiveSettings; readonly crashLoop: () => string | null };

/** The whole bridge: makes every part, joins them, and runs until `stop` aborts or a part fails. */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  const { configuration, clock, log } = options;
  const opened = await openJournal({ dataDir: configuration.data_dir, clock, log });
  const { journal } = opened;
  try {
    const live = options.live ?? new LiveSettings(configuration);
    const given = { ...options, live };
    const broker = await startEmbeddedBroker(given, journal);
    options.onListening?.();
    const crashLoop = await beginLife(journal, options, live);
    const serving = configuration.http === false ? null : await loadServing();
    const bridge = new Bridge({ ...given, crashLoop }, broker, journal, serving);
    opened.compareClock(() => clockAgrees(bridge.platform.clockSkewMs()));
    try {
      await bridge.run(stop);
      await endLife(journal);
    } finally {
      await broker?.close();
      await bridge.platform.close();
    }
  } finally {
    await opened.close();
  }
}

/** What only a bridge with a port for HTTP needs. */
const loadServing = async () => ({
  ...(await import("./status/metrics.js")),
  ...(await import("./http/service.js")),
  ...(await import("./http/access.js")),
});
type Serving = Awaited<ReturnType<typeof loadServing>>;

/** Starts the embedded broker where no other is configured; null where one is. Its code is loaded only then. */
export async function startEmbeddedBroker(
  { configuration, clock, log, live }: Pick<BridgeOptions, "configuration" | "clock" | "log" | "live">,
  journal: Pick<Journal, "append">,
): Promise<EmbeddedBroker | null> {
  if (configuration.mqtt.url !== undefined) return null;
  const { startBroker } = await import("./broker/broker.js");
  const { brokerSettings } = await import("./broker/settings.js");
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
  readonly platform: PlatformClient;
  readonly #given: Given;
  readonly #journal: Journal;
  readonly #mirror: Mirror;
  readonly #topics;
  readonly #connection: BrokerConnection;
  readonly #outputs: Outputs;
  readonly #discovery: DiscoveryOutput | null;
  readonly #commands: CommandService;
  readonly #status: Status;
  readonly #metrics: Metrics | null;
  readonly #requests: RequestServer;
  readonly #page: PageService | null;
  readonly #stampsSenders: boolean;
  #stopping: AbortSignal = new AbortController().signal;

  constructor(given: Given, broker: EmbeddedBroker | null, journal: Journal, serving: Serving | null) {
    const { configuration, clock, random, log, live } = given;
    this.#given = given;
    this.#journal = journal;
    this.#stampsSenders = broker !== null;
    this.platform = createPlatform(configuration.platform, {
      ...{ clock, random, log, dataDir: configuration.data_dir },
      onLink: (link) => this.#mirror.watch.onFacts(link.host, link),
    });
    given.onSecrets?.(() => this.platform.secrets());
    this.#mirror = this.#createMirror();
    this.#topics = topicsUnder(configuration.mqtt.base_topic);
    this.#connection = this.#createConnection(broker);
    this.#discovery = this.#createDiscovery(serving?.reachableAt(configuration.http));
    this.#outputs = this.#createOutputs();
    this.#commands = this.#createCommands();
    this.#status = this.#createStatus();
    this.#metrics = serving && new serving.Metrics(() => this.#status.figures());
    this.#requests = this.#createRequests();
    this.#page = this.#createPage(serving);
    this.#shareFound();
    live.onReload(({ applied }) => this.#reloaded(applied));
  }

  #createMirror(): Mirror {
    const { configuration, clock, random, log } = this.#given;
    return createMirror({
      ...{ configuration, platform: this.platform, clock, random, log, transliterate: anyAscii },
      onPlatformState: (state) => {
        const { alarms } = this.#commands.limits;
        for (const part of [this.#outputs, alarms]) part.platformState(state);
      },
      onEvent: this.#event,
      absences: textFile(configuration.data_dir, "absent-controllers.json"),
      seenAddresses: textFile(configuration.data_dir, "addresses-seen.json"),
      onAdded: (code) => this.#commands.commander.feed({ type: "admitted", code }),
      onTried: (code) => this.#discovery?.tried(code),
    });
  }

  #createConnection(broker: EmbeddedBroker | null): BrokerConnection {
    const { configuration, clock, random, log } = this.#given;
    const { enabled, status_topic: status, discovery_prefix: prefix } = configuration.homeassistant;
    const others = enabled ? [status, discoveryFilter(prefix)] : [];
    const settings = connectionSettings(configuration.mqtt, this.#topics, broker, others, {
      connected: () => this.#connected(),
      disconnected: () => {
        this.#outputs.disconnected();
        this.#commands.disconnected();
      },
      message: (message) => this.#received(message),
      beforeEnd: () => this.#outputs.leave(),
    });
    const heard = weatherTopics(configuration.weather);
    return new BrokerConnection({ ...settings, heard }, { clock, random, log });
  }

  /** Null where nothing is announced. */
  #createDiscovery(pageUrl: string | undefined): DiscoveryOutput | null {
    const { configuration, clock, random, log, version } = this.#given;
    const { homeassistant, mqtt } = configuration;
    if (!homeassistant.enabled) return null;
    const { store, inventory } = this.#mirror;
    return new DiscoveryOutput(
      {
        announce: (topic, text) => this.#outputs.retained.announce(topic, text),
        // It is shown states once it knows what they are about.
        republishStates: () => {
          this.#outputs.retained.republish();
          this.#commands.outbox.repeatLate();
        },
        publishStates: (code, which) => this.#outputs.release(code, which === "all"),
        memory: textFile(configuration.data_dir, "homeassistant-withdrawn.json"),
        view: {
          controllers: () => store.controllers(),
          get: (code) => store.get(code),
          platformHadTime: this.#platformHadTime,
          mayForget: (code) => code === null || inventory.mayForget(code, clock.monotonic()),
        },
        ...{ clock, random, log },
      },
      {
        ...{ topics: this.#topics, version, clientId: mqtt.client_id, pageUrl },
        prefix: homeassistant.discovery_prefix,
        language: homeassistant.language,
        sensorNames: homeassistant.sensor_names,
        hasBudget: configuration.platform.requests_per_minute > 0,
      },
    );
  }

  #createOutputs(): Outputs {
    const { store, inventory } = this.#mirror;
    return new Outputs({
      ...this.#given,
      topics: this.#topics,
      qos: this.#given.configuration.mqtt.state_qos,
      connection: this.#connection,
      store,
      announcer: this.#discovery,
      isLeftOut: leavesOut(this.#given.configuration, anyAscii),
      isAccountKnown: () => inventory.isKnown,
      platformHadTime: this.#platformHadTime,
    });
  }

  /** What the broker holds when a link begins is looked at once, for all. */
  #shareFound(): void {
    const { enabled, discovery_prefix: prefix } = this.#given.configuration.homeassistant;
    const { retained } = this.#outputs;
    retained.onFound([this.#topics.bridge.info], this.#status);
    retained.onFound([], this.#commands.earlier);
    retained.onFound([this.#topics.alarms], this.#commands.limits);
    if (!enabled) withdrawEarlier(retained, prefix, this.#topics.base, this.#given.log);
  }

  #createCommands(): CommandService {
    const { clock, log, commandLog, live } = this.#given;
    const { store, inventory } = this.#mirror;
    return new CommandService({
      ...{ platform: this.platform, store, journal: this.#journal, topics: this.#topics },
      ...{ clock, log, commandLog, onEvent: this.#event, later: afterRequests },
      ...{ link: this.#connection, retained: this.#outputs.retained },
      rules: () => live.commandRules,
      crashLoop: this.#given.crashLoop,
      clockTrusted: () => clockAgrees(this.platform.clockSkewMs()) === true,
      clockSkewMs: () => this.platform.clockSkewMs(),
      onPhase: (command, phase) => this.#page?.phase(command, phase),
      onResult: (result, about) => this.#page?.result(result, about),
      ...{ otherBridge: () => this.#status.otherBridge, isAccountKnown: () => inventory.isKnown },
      ...{ configuration: this.#given.configuration, overdue: () => this.#status.overdue() },
    });
  }

  #createStatus(): Status {
    return new Status({
      ...{ ...this.#given, manager: this.#given.manager ?? null, platform: this.platform },
      ...{ journal: this.#journal, mirror: this.#mirror, commands: this.#commands },
      ...{ connection: this.#connection, outputs: this.#outputs, topics: this.#topics, onEvent: this.#event },
    });
  }

  #createRequests(): RequestServer {
    const { clock, log, setLogLevel, configuration } = this.#given;
    const handlers = requestHandlers({
      ...{ mirror: this.#mirror, platform: this.platform, journal: this.#journal, setLogLevel },
      ...{ commander: this.#commands.commander, limits: this.#commands.limits, clock, onEvent: this.#event },
      republish: () => this.#outputs.retained.republish(),
      ...{ health: () => this.#status.health(), bundle: (redact) => this.#status.bundle(redact) },
    });
    const { concurrency } = configuration.platform;
    const { response: responseTopic } = this.#topics.bridge;
    const publisher = this.#connection;
    return new RequestServer({ handlers, responseTopic, publisher, concurrency, clock, log });
  }

  #createPage(serving: Serving | null): PageService | null {
    const { configuration, live, clock, log, recentLog, page } = this.#given;
    const [{ http }, metrics] = [configuration, this.#metrics];
    if (serving === null || http === false || metrics === null) return null;
    return new serving.PageService({
      ...{ ...page, clock, log, recentLog, store: this.#mirror.store, status: this.#status, metrics },
      listener: () => ({ ...(live.current.http || http), host: http.host }),
      submit: (request) => this.#commands.commander.submit(request),
      ask: (name, payload, via) => this.#requests.ask(name, payload, this.#stopping, via),
      alarms: () => this.#commands.limits.alarms.list,
      seenAddresses: () => this.#mirror.seen.list(),
      weather: () => this.#commands.limits.weather(),
      dataDir: configuration.data_dir,
      journal: this.#journal,
      sessions: textFile(configuration.data_dir, "sessions.json"),
      ...journalReader(this.#journal.directory),
    });
  }

  /** Until `stop` aborts: then commands are closed first and the broker's connection last. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, log, live, configuration } = this.#given;
    const failed = new AbortController();
    const linkEnd = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    // Every part and every request listens to it; their number is bounded by the concurrency, not by ten.
    setMaxListeners(0, signal, stop);
    this.#stopping = signal;
    if (this.#journal.state().available) log.info(mayDo(live.current.commands));
    const { store, poller, watch } = this.#mirror;
    const onUnreadable = (problem: Error) => refuseUnread(this.#journal, log, live, problem);
    await restoreCommands(this.#commands, { journal: this.#journal, store, clock, log, onUnreadable });
    const watched = (part: Promise<void>) =>
      part.catch((error: unknown) => {
        failed.abort();
        throw error;
      });
    const link = watched(this.#connection.run(linkEnd.signal));
    const readBacks = this.#commands.commander;
    const pushParts = { platform: this.platform, mirror: this.#mirror, readBacks, clock, log };
    const pushing = async () =>
      new (await import("./sync/push-channels.js")).PushChannels(pushParts).run(signal);
    const parts = [this.#outputs, this.#commands, this.#commands.limits, store, watch, poller, this.#status];
    const results = await Promise.allSettled(
      [
        ...parts.map((part) => part.run(signal)),
        configuration.platform.push.enabled ? pushing() : undefined,
        this.#discovery?.run(signal),
        this.#serveHttp(signal),
      ].map((part) => watched(Promise.resolve(part))),
    );
    linkEnd.abort();
    for (const result of await Promise.allSettled([link, ...results.map(rethrown)]))
      if (result.status === "rejected") throw result.reason;
  }

  readonly #event = (event: BridgeEvent): void => {
    this.#outputs.event(event);
  };

  readonly #platformHadTime = () => this.#mirror.inventory.hadTime(this.#given.clock.monotonic());

  async #connected(): Promise<void> {
    if (!(await this.#outputs.connected())) return;
    this.#status.connected();
    this.#commands.connected();
  }

  #received(message: IncomingMessage): void {
    const { homeassistant } = this.#given.configuration;
    const { topic, payload, retain } = message;
    if (topic === homeassistant.status_topic) this.#discovery?.statusMessage(payload.toString(), retain);
    else if (homeassistant.enabled && topic.startsWith(`${homeassistant.discovery_prefix}/device/`))
      this.#discovery?.foreignDocument(topic, payload.toString());
    else if (this.#commands.limits.hears(topic))
      this.#commands.limits.measured(message, this.#connection.broker?.protocolVersion);
    else if (!this.#status.received(message)) this.#asked(message);
  }

  #asked(message: IncomingMessage): void {
    const { topic, payload, retain } = message;
    const incoming = this.#topics.parse(topic);
    if (incoming === null) return;
    // Another broker stamps no sender, so there the property would be the sender's own word.
    const stamped = this.#stampsSenders ? readVia(message.properties.userProperties) : null;
    const via = stamped && { client: stamped.client, user: stamped.user };
    if (incoming.type === "command") this.#commands.received(message, incoming, via);
    else if (!retain) this.#requests.received(incoming.name, payload, via, this.#stopping);
  }

  async #serveHttp(signal: AbortSignal): Promise<void> {
    if (this.#page === null) return;
    try {
      const { serveHttp } = await import("./http/server.js");
      await serveHttp(this.#page, signal);
    } catch (error) {
      // Whoever looks at a greenhouse over MQTT must not lose it for the page.
      this.#page.faults.note(error);
    }
  }

  #reloaded(changes: readonly string[]): void {
    if (changes.length === 0) return;
    const record = { type: "configuration_changed", changes } as const;
    this.#journal.append(record, { durable: false }).catch(() => undefined);
    this.#status.publish();
    this.#commands.limits.engine.readOnlyChanged();
  }
}

const rethrown = async (result: PromiseSettledResult<void>): Promise<void> => {
  await Promise.resolve();
  if (result.status === "rejected") throw result.reason;
};
