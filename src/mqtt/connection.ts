import { fullJitter } from "../runtime/backoff.js";
import { Contained } from "./connection/contained.js";
import { Inbox } from "./connection/inbox.js";
import { BrokerLink, openLink } from "./connection/link.js";
import { LinkReport } from "./connection/link-report.js";
import { Outbox } from "./connection/outbox.js";
import { afterAttempt, startWith, versionReason, type VersionMemory } from "./connection/protocol-version.js";
import { publishProblem, sizeOf, supportedOptions } from "./connection/publish-check.js";
import { RetainedScan, type RetainedFound } from "./connection/retained-scan.js";
import { Session } from "./connection/session.js";
import {
  defaultLimits,
  type BrokerFacts,
  type ConnectionCounters,
  type ConnectionLimits,
  type ConnectionPorts,
  type ConnectionSettings,
  type ConnectionState,
  type IncomingMessage,
  type LinkEnd,
  type PublishOptions,
} from "./connection/settings.js";
import { brokerName, streamFrom } from "./connection/stream.js";

export type { RetainedFound } from "./connection/retained-scan.js";
export { PublishError, type PublishErrorKind } from "./connection/publish-error.js";
export type * from "./connection/settings.js";

/** At a broker that acknowledges nothing (MQTT 5, maximum QoS 0) a scan can only wait until nothing comes any more. */
const quietMs = 1_000;

/**
 * The bridge's connection to its broker, kept up for as long as `run` runs. A lost or refused link is never an error of
 * `run`; it is tried again with full jitter, the first time at once.
 */
export class BrokerConnection {
  readonly #settings: ConnectionSettings;
  readonly #limits: ConnectionLimits;
  readonly #ports: ConnectionPorts;
  readonly #contained: Contained;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  #versions: VersionMemory;
  #state: ConnectionState = "idle";
  #link: BrokerLink | null = null;
  #session: Session | null = null;
  #facts: BrokerFacts | null = null;
  readonly #report: LinkReport;
  readonly #tally = {
    connects: 0,
    disconnects: 0,
    refused: 0,
    takenOver: 0,
    repairs: 0,
  };
  #lastConnectedAt: number | null = null;
  /** Publishes that the newest link's end cut off. */
  #lost = 0;

  constructor(settings: ConnectionSettings, ports: ConnectionPorts) {
    this.#settings = settings;
    this.#limits = { ...defaultLimits, ...settings.limits };
    this.#ports = ports;
    this.#contained = new Contained(ports.log);
    this.#report = new LinkReport(ports.log, brokerName(settings.url));
    this.#inbox = new Inbox({ settings, limits: this.#limits, log: ports.log, contained: this.#contained });
    this.#outbox = new Outbox(this.#limits, ports.clock, settings.markTopic);
    this.#versions = startWith(settings.protocolVersion);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** What the broker said at the current link's CONNACK; null while there is none. */
  get broker(): BrokerFacts | null {
    return this.#facts;
  }

  /** Why the current link speaks its version of MQTT; null while there is none. */
  get versionReason(): string | null {
    return this.#facts && versionReason(this.#versions.preferred, this.#facts.protocolVersion);
  }

  /** Why the newest link ended or did not come about; null before the first and while connected. */
  get lastFailure(): string | null {
    return this.#facts === null ? this.#report.reason : null;
  }

  counters(): ConnectionCounters {
    return {
      ...this.#tally,
      ...this.#outbox.counters,
      ...this.#inbox.counters,
      repairs: this.#tally.repairs + (this.#session?.repairs ?? 0),
      listenerErrors: this.#contained.errors,
      lastConnectedAt: this.#lastConnectedAt,
      protocolVersion: this.#facts?.protocolVersion ?? null,
    };
  }

  /** Keeps the link until `signal` aborts; then lets `beforeEnd` publish, disconnects and resolves. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    let attempt = 0;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const end = await this.#attempt(signal);
      if (isAborted(signal)) {
        if (end.kind === "ended") this.#report.ended(end);
        break;
      }
      const lifeMs = clock.monotonic() - startedAt;
      if (this.#learn(end, lifeMs)) continue;
      const settled = end.connected && lifeMs >= this.#limits.settledMs;
      const delayMs = fullJitter(settled ? 0 : attempt, this.#limits.backoff, random());
      attempt = settled ? 1 : attempt + 1;
      this.#state = "waiting";
      await clock.wait(delayMs, signal).catch(() => undefined);
    }
    this.#state = "ended";
  }

  /**
   * QoS 1 unless told otherwise. Resolves once the broker has acknowledged it, or with QoS 0 something behind it; rejects with a
   * PublishError. Nothing is kept for later: without a link it rejects at once. Await `ready()` between publishes of a large batch.
   */
  publish(topic: string, payload: string | Buffer, options: PublishOptions = {}): Promise<void> {
    const size = sizeOf(topic, payload, options);
    const problem = publishProblem(size, {
      maxPayloadBytes: this.#limits.maxPayloadBytes,
      maximumPacketSize: this.#facts?.maximumPacketSize ?? null,
    });
    if (problem !== null) return this.#outbox.refuse("invalid", `not published: ${problem}`);
    return this.#outbox.publish({
      topic,
      payload,
      options: supportedOptions(options, this.#facts),
      bytes: size.packetBytes,
    });
  }

  /** The link stands, but the broker acknowledges nothing of what is published. */
  get isMute(): boolean {
    return this.#outbox.isMute;
  }

  /** Resolves when the next publish need not wait in line; at once while there is no link. */
  ready(): Promise<void> {
    return this.#outbox.ready();
  }

  /**
   * Shows every retained message under `filters` once. Resolves with whether that was all of them: not when the link is lost, a
   * filter is refused or the broker acknowledges nothing. `filters` must not overlap the subscriptions, or commands would come
   * twice.
   */
  async scan(filters: readonly string[], found: RetainedFound): Promise<boolean> {
    const link = this.#link;
    if (link === null) return false;
    const scan = new RetainedScan(filters, found);
    const prove = () =>
      this.#facts?.maximumQos === 0 ? this.#ports.clock.wait(quietMs) : this.#outbox.prove();
    return await this.#inbox.during(scan, () => scan.run(link, prove));
  }

  /** Cuts the link as if it were lost, so that a new one is made; for a link found deaf by other means. */
  reconnect(because: string): void {
    this.#link?.destroy(because);
  }

  async #attempt(signal: AbortSignal): Promise<LinkEnd> {
    this.#state = "connecting";
    const settings = this.#settings;
    const version = this.#versions.current;
    const openStream = settings.openStream ?? streamFrom(settings, this.#limits.connectTimeoutMs);
    const message = (incoming: IncomingMessage) => {
      this.#inbox.accept(incoming, version, () => this.#session?.contradicted());
    };
    const link = await openLink({ settings, limits: this.#limits, version, message, openStream });
    if (!(link instanceof BrokerLink)) return link;
    this.#link = link;
    const abandon = () => {
      link.destroy(null);
    };
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    const facts = await link.accepted;
    signal.removeEventListener("abort", abandon);
    const end = facts === null ? await link.closed : await this.#serve(link, facts, signal);
    this.#link = null;
    return end;
  }

  async #serve(link: BrokerLink, facts: BrokerFacts, signal: AbortSignal): Promise<LinkEnd> {
    const ports = this.#ports;
    this.#facts = facts;
    this.#state = "subscribing";
    this.#tally.connects += 1;
    this.#lastConnectedAt = ports.clock.now();
    this.#report.connected(facts);
    this.#session = new Session({
      link,
      facts,
      outbox: this.#outbox,
      settings: this.#settings,
      limits: this.#limits,
      ports,
      contained: this.#contained,
      enter: (state) => {
        this.#state = state;
      },
    });
    const end = await this.#session.run(signal);
    this.#tally.disconnects += 1;
    this.#tally.repairs += this.#session.repairs;
    this.#lost = this.#session.lost;
    this.#session = null;
    this.#facts = null;
    this.#contained.call("disconnected", () => this.#settings.on?.disconnected?.(end));
    return end;
  }

  /** Draws the conclusions from an ended link. True when the next attempt should not wait. */
  #learn(end: LinkEnd, lifeMs: number): boolean {
    if (end.kind === "refused") this.#tally.refused += 1;
    if (end.kind === "taken_over") this.#tally.takenOver += 1;
    const before = this.#versions.current;
    this.#versions = afterAttempt(this.#versions, end);
    const fallsBack = this.#versions.current < before;
    if (fallsBack) this.#report.fellBack();
    else this.#report.ended(end, { lost: this.#lost, lifeMs });
    this.#lost = 0;
    return fallsBack;
  }
}

// The signal changes during the awaits, which the compiler's narrowing of `aborted` does not know.
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
