import { join } from "node:path";
import type { EmbeddedBroker } from "../broker/broker.js";
import { type Configuration, controllerTopicId } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller, PlatformState } from "../greenhouse/model.js";
import { DiscoveryOutput, type DiscoveryPorts } from "../homeassistant/discovery-output.js";
import { discoveryFilter, foundDocument } from "../homeassistant/announced.js";
import { BrokerConnection } from "../mqtt/connection.js";
import { PublishError } from "../mqtt/connection/publish.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { controllersDocument, eventDocument } from "../mqtt/projection.js";
import { Outbox } from "../mqtt/outbox.js";
import { RetainedStates } from "../mqtt/retained-states.js";
import type { Topics } from "../mqtt/topics.js";
import { nodeFiles } from "../platform/files.js";
import type { Logger } from "../runtime/log.js";
import type { BridgeSurroundings } from "./surroundings.js";
import type { Mirror } from "./mirror.js";
import { connectionSettings } from "../mqtt/connection/settings.js";

export interface BirthPorts {
  /** Publishes `online`, retained; rejects with a PublishError. */
  readonly publish: () => Promise<void>;
  /** The last words were said, or are about to be; nothing may follow them. */
  readonly isEnding: () => boolean;
  /** Resolves when a publish would go out at once. */
  readonly ready: () => Promise<void>;
  readonly log: Logger;
}

/**
 * Says `online` until the broker has it. Whatever follows on this link waits for it: a broker that takes it late would
 * otherwise show a bridge that is online beside the readings of before. Resolves with false when the link went meanwhile, or
 * is ending.
 */
export async function announceOnline({ publish, ready, isEnding, log }: BirthPorts): Promise<boolean> {
  while (!isEnding()) {
    try {
      await publish();
      return true;
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      switch (error.kind) {
        case "offline":
          return false;
        case "busy":
          await ready();
          break;
        case "unacknowledged":
          // The connection has told that this broker acknowledges nothing.
          log.debug("the broker did not acknowledge that the bridge is online; saying it again");
          break;
        case "refused":
        case "invalid":
          // Its readings are as useful without; whoever waits for `online` is told the reason here.
          log.error(
            { reason: error.message },
            "the broker refuses the bridge's own state; allow it in the access list",
          );
          return true;
      }
    }
  }
  return false;
}

/** What an earlier run showed and this one does not waits this long, counted from the first good list. */
const patienceMs = 24 * 3_600_000;
/** In the data directory. */
const withdrawnFile = "homeassistant-withdrawn.json";

/** Most events are raised only once, so what met no broker follows with the next link: the newest hundred. */
const createEvents = ({ clock, log }: BridgeSurroundings, link: BrokerConnection): Outbox =>
  new Outbox({
    link,
    monotonic: () => clock.monotonic(),
    most: 100,
    longestMs: Infinity,
    gaveUp: (_, error) => {
      log.debug({ reason: String(error) }, "an event was not published");
    },
  });

export function createStates(
  { configuration, clock, log }: BridgeSurroundings,
  mirror: Mirror,
  topics: Topics,
  connection: BrokerConnection,
  discovery: DiscoveryOutput | null,
): RetainedStates {
  const ignored = ignoredIds(configuration);
  return new RetainedStates({
    topics,
    qos: configuration.mqtt.state_qos,
    publish: (topic, payload, options) => connection.publish(topic, payload, options),
    view: mirror.store,
    gate: discovery?.gate,
    isIgnored: (id) => ignored.has(id),
    isAccountKnown: () => mirror.inventory.isKnown,
    platformHadTime: () => platformHadTime(mirror, clock),
    log,
  });
}

/** Null where nothing is announced. */
export function createDiscovery(
  { configuration, clock, random, log, version }: BridgeSurroundings,
  mirror: Mirror,
  topics: Topics,
  connection: BrokerConnection,
  states: Pick<DiscoveryPorts, "republishStates" | "publishStates">,
): DiscoveryOutput | null {
  const { homeassistant, mqtt, data_dir: dataDir } = configuration;
  if (!homeassistant.enabled) return null;
  return new DiscoveryOutput(
    {
      publish: (topic, payload, options) => connection.publish(topic, payload, { ...options, qos: 1 }),
      isRefusal: (error) =>
        error instanceof PublishError && (error.kind === "refused" || error.kind === "invalid"),
      ...states,
      memory: {
        read: () => nodeFiles.read(join(dataDir, withdrawnFile)),
        write: (text) => nodeFiles.writePrivate(join(dataDir, withdrawnFile), text),
      },
      view: {
        controllers: () => mirror.store.controllers(),
        get: (code) => mirror.store.get(code),
        platformHadTime: () => platformHadTime(mirror, clock),
        mayForget: (code) => code === null || mirror.inventory.mayForget(code, clock.monotonic()),
      },
      clock,
      random,
      log,
    },
    {
      topics,
      prefix: homeassistant.discovery_prefix,
      language: homeassistant.language,
      sensorNames: homeassistant.sensor_names,
      hasBudget: configuration.platform.requests_per_minute > 0,
      version,
      clientId: mqtt.client_id,
    },
  );
}

const platformHadTime = ({ inventory }: Mirror, clock: BridgeSurroundings["clock"]): boolean =>
  inventory.knownForMs(clock.monotonic()) >= patienceMs;

/** Topic ids of ignored controllers, but for those that a controller in their place was given. */
function ignoredIds({ controllers }: Configuration): ReadonlySet<string> {
  const ids = (ignored: boolean) =>
    Object.entries(controllers).flatMap(([code, { ignore, id }]) =>
      ignore === ignored ? [id ?? controllerTopicId(code)] : [],
    );
  const inUse = new Set(ids(false));
  return new Set(ids(true).filter((id) => !inUse.has(id)));
}

export interface OutputListeners {
  /** Every subscription stands; publish what belongs to the bridge itself. */
  readonly onConnected: () => void;
  readonly onDisconnected: () => void;
  /** Home Assistant has started, and taken in what was announced. */
  readonly onBirth: () => void;
  readonly onMessage: (message: IncomingMessage) => void;
}

const retained = { retain: true, qos: 1 } as const;

/** The publishing half: one connection, the retained state of every controller, and Home Assistant's announcements. */
export class Outputs {
  readonly connection: BrokerConnection;
  readonly topics: Topics;
  readonly #events: Outbox;
  readonly #state: RetainedStates;
  readonly #discovery: DiscoveryOutput | null;
  readonly #around: BridgeSurroundings;
  readonly #mirror: Mirror;
  readonly #listeners: OutputListeners;
  #platformState: PlatformState | null = null;
  #workedAt: number | null = null;
  #scanned = false;
  #controllersDue = true;

  constructor(
    around: BridgeSurroundings,
    mirror: Mirror,
    topics: Topics,
    embedded: EmbeddedBroker | null,
    listeners: OutputListeners,
  ) {
    const { configuration, clock, random, log } = around;
    this.topics = topics;
    this.#around = around;
    this.#mirror = mirror;
    this.#listeners = listeners;
    const on = {
      connected: () => this.#connected(),
      disconnected: () => {
        this.#disconnected();
      },
      message: (message: IncomingMessage) => {
        this.#received(message);
      },
      beforeEnd: () => this.connection.publish(topics.bridge.state, "offline", retained),
    };
    const { enabled, status_topic: status, discovery_prefix: prefix } = configuration.homeassistant;
    const others = enabled ? [status, discoveryFilter(prefix)] : [];
    this.connection = new BrokerConnection(
      connectionSettings(configuration.mqtt, topics, embedded, others, on),
      {
        clock,
        random,
        log,
      },
    );
    this.#events = createEvents(around, this.connection);
    const discovery = createDiscovery(around, mirror, topics, this.connection, this.#announcedStates());
    this.#discovery = discovery;
    this.#state = createStates(around, mirror, topics, this.connection, discovery);
    mirror.store.onChange((before, after) => {
      this.#changed(before, after);
    });
  }

  get pendingControllers(): number {
    return this.#state.pending;
  }

  /** When the chores were last done, monotonic ms; every second while all is well. */
  get workedAt(): number | null {
    return this.#workedAt;
  }

  /** Runs everything but the connection, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#state.run(signal), this.#discovery?.run(signal), this.#chores(signal)]);
  }

  /** What Home Assistant is shown once it knows what it is about. */
  #announcedStates(): Pick<DiscoveryPorts, "republishStates" | "publishStates"> {
    return {
      republishStates: () => {
        this.republish();
        this.#listeners.onBirth();
      },
      publishStates: (code, which) => {
        if (code !== null) this.#state.release(code, which === "all");
        else if (which === "all") this.#publishPlatformState();
      },
    };
  }

  /** Publishes every retained state again. */
  republish(): void {
    this.#state.connected();
    this.#controllersDue = true;
    this.#publishPlatformState();
  }

  showAgain(about: Parameters<RetainedStates["showAgain"]>[0]): void {
    this.#state.showAgain(about);
  }

  /** What a result tells is shown before it. */
  hasten(controllerId: string): void {
    const controller = this.#mirror.store.byId(controllerId);
    if (controller) this.#state.hasten(controller.info.code);
  }

  platformState(state: PlatformState): void {
    this.#platformState = state;
    this.#publishPlatformState();
  }

  event(event: BridgeEvent): void {
    const document = eventDocument(event);
    this.#events.send({
      controllerId: null,
      destinations: [{ topic: this.topics.bridge.event, options: { qos: 1 }, isOwn: true }],
      payload: () => document,
    });
  }

  /** Publishes a retained state without waiting; what cannot be published now is dropped and counted by the connection. */
  send(topic: string, payload: string, qos = this.#around.configuration.mqtt.state_qos): void {
    this.connection.publish(topic, payload, { retain: true, qos }).catch((error: unknown) => {
      this.#around.log.debug({ topic, reason: String(error) }, "not published");
    });
  }

  async #connected(): Promise<void> {
    const isSaid = await announceOnline({
      publish: () => this.connection.publish(this.topics.bridge.state, "online", retained),
      ready: () => this.connection.ready(),
      isEnding: () => this.connection.state === "ending",
      log: this.#around.log,
    });
    // A link that came up meanwhile announces itself.
    if (!isSaid) return;
    this.republish();
    this.#discovery?.connected();
    this.#events.connected();
    this.#listeners.onConnected();
    if (!this.#scanned) void this.#scanRetained();
  }

  #changed(before: Controller | undefined, after: Controller | undefined): void {
    if (before?.availability === "online" && after?.availability === "offline")
      this.event(wentOffline(after, this.#around.clock.now()));
    // First, as it decides what of the change may be published before it is announced.
    this.#discovery?.controllerChanged(before, after);
    this.#state.changed(before, after);
    if (before?.info !== after?.info) this.#controllersDue = true;
  }

  #disconnected(): void {
    this.#state.disconnected();
    this.#discovery?.disconnected();
    this.#listeners.onDisconnected();
  }

  /** Looks once at what an earlier run left on the broker. */
  async #scanRetained(): Promise<void> {
    const isSeen = await this.connection.scan(this.topics.retained, (topic, payload) => {
      this.#state.found(topic, payload.toString());
    });
    const isWithdrawn = this.#discovery !== null || (await this.#withdrawAnnouncements());
    // What was not seen through is looked at again with the next link.
    this.#scanned = isSeen && isWithdrawn;
  }

  /** Announcing was turned off: what an earlier run announced would stay in Home Assistant for ever, buttons and all. */
  async #withdrawAnnouncements(): Promise<boolean> {
    const { discovery_prefix: prefix } = this.#around.configuration.homeassistant;
    return await this.connection.scan([discoveryFilter(prefix)], (topic, payload) => {
      if (foundDocument(payload.toString(), this.topics.base) === null) return;
      this.send(topic, "", 1);
      this.#around.log.info({ topic }, "cleared an announcement, as homeassistant.enabled is false");
    });
  }

  #received(message: IncomingMessage): void {
    const { homeassistant } = this.#around.configuration;
    if (message.topic === homeassistant.status_topic) {
      this.#discovery?.statusMessage(message.payload.toString(), message.retain);
    } else if (
      homeassistant.enabled &&
      message.topic.startsWith(`${homeassistant.discovery_prefix}/device/`)
    ) {
      this.#discovery?.foreignDocument(message.topic, message.payload.toString());
    } else this.#listeners.onMessage(message);
  }

  async #chores(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#around.clock.wait(1_000, signal).catch(() => undefined);
      this.#workedAt = this.#around.clock.monotonic();
      if (this.connection.state !== "online") continue;
      if (this.#controllersDue) this.#publishControllers();
      const cleared = this.#state.sweep();
      if (cleared > 0)
        this.#around.log.info({ topics: cleared }, "cleared topics that nothing stands for any more");
    }
  }

  #publishControllers(): void {
    this.#controllersDue = false;
    this.send(this.topics.bridge.controllers, controllersDocument(this.#mirror.store.controllers()));
  }

  #publishPlatformState(): void {
    if (this.#platformState !== null) this.send(this.topics.bridge.platform, this.#platformState);
  }
}

const wentOffline = ({ info: { id, name } }: Controller, at: number): BridgeEvent => ({
  type: "controller_offline",
  severity: "warning",
  message: `The platform says ${name} is offline: its readings are stale and its commands are refused. Check its power and network.`,
  at,
  facts: { controller: id },
});
