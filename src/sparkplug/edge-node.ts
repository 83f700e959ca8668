import type { Core } from "../feature/core.js";
import { type TextFile, withDeadline } from "../runtime/file-system.js";
import { ignored } from "../runtime/failures.js";
import { forAnyActuator, type ResultAddressee } from "../commands/command.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Controller } from "../greenhouse/model.js";
import { BrokerConnection } from "../mqtt/connection.js";
import { PublishError } from "../mqtt/connection/publish.js";
import {
  brokerAccess,
  type ConnectionSettings,
  type IncomingMessage,
  type LinkEnd,
  type Will,
} from "../mqtt/connection/settings.js";
import { nextTurn, Rest } from "../runtime/clock.js";
import { NodeAlarms } from "./alarms.js";
import { commandFloods, deviceCommands, nodeCommands, type OnSurplus } from "./commands.js";
import { Devices } from "./devices.js";
import {
  aliasesOf,
  bdSeqOf,
  birthPayload,
  dataPayload,
  deviceDeathPayload,
  largestCommandBytes,
  nodeBirthPayload,
  nodeDeathPayload,
  readPayload,
} from "./messages.js";
import { difference, isRead, type Metric, nodeMetrics } from "./metrics.js";
import {
  bdSeqAfter,
  onDeviceChange,
  deviceGone,
  hostSpoke,
  leftUnborn,
  onLinked,
  type Message,
  newSession,
  nextMessage,
  onRebirthRequest,
  onSent,
  type Session,
  sessionWakesAt,
  onUnlinked,
} from "./session.js";
import type { SparkplugSettings } from "./section.js";
import { hostWord, sparkplugTopics } from "./topics.js";

/** How to reach the broker. */
type Access = Pick<
  ConnectionSettings,
  "url" | "username" | "password" | "clientId" | "protocolVersion" | "tls"
>;

/** Kinds of messages that cannot be used. */
const badKinds = {
  foreign_topic: "a message on a topic that is none of the edge node's",
  oversized: "a payload that is larger than any command",
  no_payload: "a payload that is no Sparkplug B",
  no_state: "a STATE of the primary host that is neither its JSON nor a word of version 2",
  unknown_metric: "a command to a metric that takes none",
  retained: "a retained command, whose age nobody knows",
  foreign_birth: "a birth of another edge node under the same name",
  forged_death: "a death of this edge node that it did not send",
} as const;
type BadKind = keyof typeof badKinds;

/** Changes within this time share one message. */
const batchMs = 50;
/** The longest time that births wait until everything was read once. */
const settleMs = 5_000;
/**
 * How long a death with our number may be a real will: a broker that shuts down publishes all wills before it closes
 * its links.
 */
const forgedAfterMs = 1_000;

/** The parts of the core that it needs. */
type NodeCore = Pick<Core, "version" | "clock" | "gaps" | "random" | "log" | "file"> & {
  readonly mirror: {
    readonly store: Core["mirror"]["store"];
    readonly inventory: Pick<Core["mirror"]["inventory"], "isKnown">;
    readonly watch: Pick<Core["mirror"]["watch"], "state">;
  };
  readonly commands: Pick<Core["commands"], "onSurplus"> & {
    readonly commander: Pick<Core["commands"]["commander"], "submit">;
    readonly limits: { readonly alarms: Pick<Core["commands"]["limits"]["alarms"], "list" | "set"> };
  };
};

/**
 * The bridge as a Sparkplug edge node, with a connection that lives as long as `run`. The session decides which message
 * is due, the metrics what it contains.
 */
export class EdgeNode {
  readonly #core: NodeCore;
  readonly #settings: SparkplugSettings;
  /** Keeps the number of the newest CONNECT. */
  readonly #memory: TextFile;
  readonly #topics;
  readonly #session: Session;
  readonly #devices: Devices;
  readonly #connection: BrokerConnection;
  readonly #rest: Rest;
  readonly #tally = { node_births: 0, device_births: 0, data: 0, deaths: 0, rebirths_asked: 0, commands: 0 };
  readonly #bad = new Map<BadKind, number>();
  readonly #retainedAnswered = new Set<string>();
  readonly #alarms: NodeAlarms;
  #bdSeq: number | null = null;
  #nodeShown: readonly Metric[] = [];
  #settlesAt: number | null = null;
  #deathSeenAt: number | null = null;
  /** The number under which hosts know the node: that of the newest birth that the broker passed on. */
  #knownAs: number | null = null;

  constructor(core: NodeCore, settings: SparkplugSettings, broker: Access) {
    const { clock, mirror, commands } = core;
    const { alarms } = commands.limits;
    this.#core = core;
    this.#settings = settings;
    // A disk that does not answer must not delay the link.
    this.#memory = withDeadline(core.file("sparkplug.json"), clock);
    this.#topics = sparkplugTopics(settings, settings.primary_host);
    this.#session = newSession(settings.primary_host !== undefined);
    this.#devices = new Devices();
    this.#alarms = new NodeAlarms(
      clock,
      () => alarms.list,
      (type, about, message) => alarms.set(type, about, message),
    );
    this.#devices.onAlarms(alarms.list);
    this.#rest = new Rest(clock);
    this.#connection = this.#createConnection(broker);
    for (const controller of mirror.store.controllers()) this.#onChange(undefined, controller);
    mirror.store.onChange((before, after) => this.#onChange(before, after));
  }

  #createConnection(broker: Access): BrokerConnection {
    const { mirror, commands, clock, gaps, random, log } = this.#core;
    const onSurplus: OnSurplus = (device, count, isUrgent) => {
      const about = device === null ? null : forAnyActuator(device.code, device.id);
      commands.onSurplus(about, { count, isUrgent, ids: [] });
    };
    const settings: ConnectionSettings = {
      ...broker,
      purpose: "for Sparkplug",
      will: (before) => this.#will(before),
      endsWithWill: true,
      markTopic: null,
      subscriptions: this.#topics.subscriptions,
      kept: this.#topics.states,
      heard: this.#topics.own,
      flood: commandFloods(this.#topics, mirror.store, (device) => this.#devices.names(device), onSurplus),
      limits: { maxPayloadBytes: 16 * 1024 * 1024 },
      on: {
        onConnected: () => this.#onConnected(),
        onDisconnected: () => this.#onDisconnected(),
        message: (message) => this.#onMessage(message),
        beforeEnd: () => this.#leave(),
      },
    };
    return new BrokerConnection(settings, { clock, gaps, random, log });
  }

  /** Runs until the signal aborts; then the node's death is published and the link ends. */
  async run(signal: AbortSignal): Promise<void> {
    this.#alarms.restore();
    await this.#remember();
    await Promise.all([this.#connection.run(signal), this.#keepUp(signal)]);
  }

  onAlarms(): void {
    for (const device of this.#devices.onAlarms(this.#core.commands.limits.alarms.list)) this.#due(device);
    this.#nodeChanged();
  }

  /** Whether the platform is reachable changed. */
  platformState(): void {
    this.#nodeChanged();
  }

  /** Phases are not published, as Sparkplug shows only what the platform showed. */
  phase(): void {}

  /** Sends each result once, to the hosts that listen now. */
  result(result: CommandResult, about: ResultAddressee): void {
    const controller = this.#core.mirror.store.byId(about.controllerId);
    if (controller === undefined) return;
    const isHeard = this.#session.devices.get(about.controllerId)?.isBorn ?? false;
    this.#devices.onResult(controller, result, about, isHeard);
    if (isHeard) this.#due(about.controllerId);
  }

  /** The facts for `bridge/health`. */
  facts() {
    const { isLinked, isBorn, bdSeq, host, devices } = this.#session;
    return {
      connected: isLinked,
      born: isBorn,
      bd_seq: bdSeq,
      primary_host: host.isAwaited ? host.isOnline : null,
      devices: [...devices.values()].filter((device) => device.isBorn).length,
      ...this.#tally,
      bad_input: Object.fromEntries(this.#bad),
    };
  }

  async #remember(): Promise<void> {
    const { log } = this.#core;
    try {
      const kept: unknown = JSON.parse((await this.#memory.read()) ?? "{}");
      const bdSeq = typeof kept === "object" && kept !== null && "bdSeq" in kept ? kept.bdSeq : null;
      this.#bdSeq = typeof bdSeq === "number" && bdSeq >= 0 && bdSeq < 256 ? Math.floor(bdSeq) : null;
    } catch (error) {
      log.warn({ err: error }, "sparkplug.json in the data directory cannot be read; bdSeq begins at 0");
    }
  }

  /** A new number for each CONNECT that leaves, written to disk before it does. */
  async #will(before: LinkEnd | null): Promise<Will> {
    const { clock, log } = this.#core;
    if (this.#bdSeq === null || before?.kind !== "unreachable") {
      this.#bdSeq = bdSeqAfter(this.#bdSeq);
      await this.#memory.write(JSON.stringify({ bdSeq: this.#bdSeq })).catch((error: unknown) => {
        log.warn({ err: error }, "the bdSeq of Sparkplug could not be kept; after a restart it may repeat");
      });
    }
    const payload = nodeDeathPayload(this.#bdSeq, clock.now());
    return { topic: this.#topics.nodeDeath, payload, retain: false };
  }

  #onConnected(): void {
    this.#settlesAt ??= this.#core.clock.monotonic() + settleMs;
    this.#retainedAnswered.clear();
    this.#alarms.onLinked();
    onLinked(this.#session, this.#bdSeq ?? 0);
    this.#rest.wake();
  }

  #onDisconnected(): void {
    onUnlinked(this.#session);
    this.#devices.onUnlinked();
    this.#deathSeenAt = null;
    this.#knownAs = null;
  }

  /** Publishes the node's death; if the link breaks first, the broker publishes the will. */
  async #leave(): Promise<void> {
    const { bdSeq, isBorn } = this.#session;
    onUnlinked(this.#session);
    if (!isBorn) return;
    this.#tally.deaths += 1;
    const payload = nodeDeathPayload(bdSeq, this.#core.clock.now());
    await this.#connection.publish(this.#topics.nodeDeath, payload);
  }

  #onChange(before: Controller | undefined, after: Controller | undefined): void {
    const id = (after ?? before)?.info.id;
    if (id === undefined) return;
    if (after === undefined) {
      this.#devices.remove(id);
      deviceGone(this.#session, id);
      this.#alarms.deviceGone(id);
    } else {
      const isAlive = this.#devices.update(id, after);
      onDeviceChange(this.#session, id, isAlive, false);
    }
    this.#rest.wake();
  }

  #due(id: string): void {
    const device = this.#session.devices.get(id);
    if (device !== undefined) onDeviceChange(this.#session, id, device.isAlive, false);
    this.#rest.wake();
  }

  #nodeChanged(): void {
    this.#session.isNodeDue = true;
    this.#rest.wake();
  }

  async #keepUp(signal: AbortSignal): Promise<void> {
    const { clock } = this.#core;
    for (;;) {
      await this.#rest.for(this.#wakesInMs(), signal);
      await clock.wait(batchMs, signal).catch(ignored);
      if (signal.aborted) return;
      this.#settle();
      this.#alarms.passTime();
      this.#judgeDeath();
      await this.#sendDue(signal);
    }
  }

  #wakesInMs(): number {
    const { isSettled } = this.#session;
    const due = [
      sessionWakesAt(this.#session),
      isSettled ? null : this.#settlesAt,
      this.#alarms.duplicateEndsAt,
      this.#deathSeenAt === null ? null : this.#deathSeenAt + forgedAfterMs,
    ].map((at) => at ?? Infinity);
    return Math.max(0, Math.min(...due) - this.#core.clock.monotonic());
  }

  /** Delays births until readings are complete, so that they are not repeated with each first reading. */
  #settle(): void {
    if (this.#session.isSettled) return;
    const { clock, mirror } = this.#core;
    const isLate = this.#settlesAt !== null && clock.monotonic() >= this.#settlesAt;
    this.#session.isSettled =
      isLate || (mirror.inventory.isKnown && [...mirror.store.controllers()].every(isRead));
  }

  async #sendDue(signal: AbortSignal): Promise<void> {
    for (;;) {
      const message = nextMessage(this.#session, this.#core.clock.monotonic());
      if (message === null || signal.aborted) return;
      await this.#send(message);
      // A slow broker delays only these messages; commands and readings go on meanwhile.
      await Promise.all([this.#connection.drain(), nextTurn()]);
    }
  }

  #send(message: Message): Promise<void> {
    switch (message.type) {
      case "node_birth":
        return this.#sendNodeBirth();
      case "node_data":
        return this.#sendNodeData();
      case "device_birth":
        return this.#sendDeviceBirth(message.device);
      case "device_data":
        return this.#sendDeviceData(message.device);
      case "device_death":
        return this.#sendDeviceDeath(message.device);
    }
  }

  get #stamp() {
    return { seq: this.#session.nextSeq, now: this.#core.clock.now() };
  }

  get #nodeMetrics(): readonly Metric[] {
    const { version, commands, mirror } = this.#core;
    return nodeMetrics({ version, platform: mirror.watch.state, alarms: commands.limits.alarms.list });
  }

  async #sendNodeBirth(): Promise<void> {
    const metrics = this.#nodeMetrics;
    const payload = nodeBirthPayload(this.#session.bdSeq, metrics, this.#stamp);
    this.#nodeShown = metrics;
    this.#alarms.birthSent(payload);
    this.#tally.node_births += 1;
    await this.#publish(this.#topics.nodeBirth, payload, null);
  }

  async #sendNodeData(): Promise<void> {
    const metrics = this.#nodeMetrics;
    const changed = difference(this.#nodeShown, metrics) ?? [];
    this.#nodeShown = metrics;
    if (changed.length === 0) return;
    this.#tally.data += 1;
    await this.#publish(
      this.#topics.nodeData,
      dataPayload(changed, aliasesOf("", changed), this.#stamp),
      null,
    );
  }

  async #sendDeviceBirth(id: string): Promise<void> {
    const wasBorn = this.#devices.isShown(id);
    const born = this.#devices.birth(id);
    if (born === null) return;
    const payload = birthPayload(born.metrics, born.aliases, this.#stamp);
    this.#tally.device_births += 1;
    if (await this.#publish(this.#topics.deviceBirth(id), payload, id)) {
      if (this.#devices.hasResults(id)) this.#due(id);
      return;
    }
    this.#devices.forgetShown(id);
    leftUnborn(this.#session, id, this.#core.clock.monotonic());
    if (wasBorn) await this.#sendDeviceDeath(id);
  }

  async #sendDeviceData(id: string): Promise<void> {
    const told = this.#devices.data(id);
    if (told.type === "birth") {
      onDeviceChange(this.#session, id, true, true);
      return;
    }
    if (told.metrics.length === 0) return;
    this.#tally.data += 1;
    await this.#publish(
      this.#topics.deviceData(id),
      dataPayload(told.metrics, told.aliases, this.#stamp),
      null,
    );
  }

  async #sendDeviceDeath(id: string): Promise<void> {
    this.#devices.forgetShown(id);
    this.#tally.deaths += 1;
    await this.#publish(this.#topics.deviceDeath(id), deviceDeathPayload(this.#stamp), null);
  }

  /**
   * Publishes a message; resolves to whether it left. One too large for the broker raises an alarm, as a birth cannot
   * be split.
   */
  async #publish(topic: string, payload: Buffer, device: string | null): Promise<boolean> {
    try {
      await this.#connection.publish(topic, payload, { qos: 0 });
      onSent(this.#session);
      this.#alarms.tellSize(device, null);
      return true;
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      // Without a link there is no alarm, as the next link begins with births.
      if (error.kind === "invalid") this.#alarms.tellSize(device, error.message);
      return false;
    }
  }

  #onMessage(message: IncomingMessage): void {
    const { topic, payload, retain } = message;
    const heard = this.#topics.parse(topic);
    if (heard === null) this.#badInput("foreign_topic", { topic });
    else if (payload.length > largestCommandBytes)
      this.#badInput("oversized", { topic, bytes: payload.length });
    else if (heard.type === "state") this.#hostSpoke(payload, heard.isOld);
    else if (heard.type === "birth") this.#birthSeen(payload);
    else if (heard.type === "death") this.#deathSeen(payload);
    else if (heard.type === "device_command") this.#deviceCommanded(message, heard.device);
    else if (retain) this.#badInput("retained", { topic });
    else this.#nodeCommanded(payload);
  }

  /** Counts each message that cannot be used, and logs the first of each kind. */
  #badInput(kind: BadKind, facts: Readonly<Record<string, unknown>>): void {
    const count = this.#bad.get(kind) ?? 0;
    this.#bad.set(kind, count + 1);
    if (count > 0) return;
    this.#core.log.warn(
      facts,
      `Sparkplug: ${badKinds[kind]}; it moves nothing and is only counted from now on`,
    );
  }

  #hostSpoke(payload: Buffer, isOld: boolean): void {
    const word = hostWord(payload, isOld);
    if (word === null) {
      // An empty message only clears a retained one.
      if (payload.length > 0) this.#badInput("no_state", {});
      return;
    }
    const wasOnline = this.#session.host.isOnline;
    const endsLink = hostSpoke(this.#session, word);
    const { isOnline } = this.#session.host;
    if (isOnline !== wasOnline)
      this.#core.log.info(
        `the primary host ${this.#settings.primary_host ?? ""} is ${isOnline ? "online" : "offline"}`,
      );
    if (endsLink) this.#connection.restart();
    this.#rest.wake();
  }

  #birthSeen(payload: Buffer): void {
    const birth = readPayload(payload);
    this.#knownAs = birth === null ? this.#knownAs : bdSeqOf(birth);
    if (this.#alarms.isOwnBirth(payload)) return;
    const { group, node } = this.#settings;
    this.#badInput("foreign_birth", { group, node });
    this.#alarms.duplicateSeen(group, node);
    this.#rest.wake();
  }

  /**
   * An earlier link's will may come late. If it has the present number, hosts believe that the node is dead, as they do
   * if another node of the name was born last and dies.
   */
  #deathSeen(payload: Buffer): void {
    const { isBorn, bdSeq } = this.#session;
    const death = readPayload(payload);
    const died = death && bdSeqOf(death);
    if (!isBorn || died === null || (died !== bdSeq && died !== this.#knownAs)) return;
    this.#deathSeenAt ??= this.#core.clock.monotonic();
    this.#rest.wake();
  }

  #judgeDeath(): void {
    if (this.#deathSeenAt === null || this.#core.clock.monotonic() - this.#deathSeenAt < forgedAfterMs)
      return;
    this.#deathSeenAt = null;
    this.#badInput("forged_death", {});
    this.#askRebirth();
  }

  #askRebirth(): void {
    onRebirthRequest(this.#session);
    this.#rest.wake();
  }

  #nodeCommanded(bytes: Buffer): void {
    const payload = readPayload(bytes);
    if (payload === null) {
      this.#badInput("no_payload", { topic: this.#topics.nodeCommand });
      return;
    }
    const { isRebirth, unknown } = nodeCommands(payload);
    for (const metric of unknown) this.#badInput("unknown_metric", { metric });
    if (!isRebirth) return;
    this.#tally.rebirths_asked += 1;
    this.#askRebirth();
  }

  #deviceCommanded(message: IncomingMessage, device: string): void {
    const { topic, retain, properties } = message;
    if (retain) {
      this.#badInput("retained", { topic });
      if (this.#retainedAnswered.has(topic)) return;
      this.#retainedAnswered.add(topic);
    }
    const payload = readPayload(message.payload);
    if (payload === null) {
      this.#badInput("no_payload", { topic });
      return;
    }
    const reads = deviceCommands(payload, this.#devices.names(device), properties.by ?? null);
    const expiryS = properties.messageExpiryIntervalS;
    const user = properties.via?.user ?? null;
    for (const read of reads) {
      if (read.type === "unknown") {
        this.#badInput("unknown_metric", { metric: read.name });
        continue;
      }
      this.#tally.commands += 1;
      this.#core.commands.commander.submit({
        ...read.asked,
        controllerId: device,
        retained: retain,
        expiryMs: expiryS === undefined ? null : expiryS * 1_000,
        ageMs: message.ageMs,
        via: user === null ? "sparkplug" : `sparkplug:${user}`,
        response: null,
      });
    }
  }
}

/** The same broker, with a client id of its own, since the connection has another will. */
export function edgeNodeBroker(
  mqtt: Parameters<typeof brokerAccess>[0],
  embedded: Parameters<typeof brokerAccess>[1],
): Access {
  const access = brokerAccess(mqtt, embedded);
  return { ...access, clientId: `${access.clientId}-sparkplug` };
}
