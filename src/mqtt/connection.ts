import { joinSignals } from "../runtime/signals.js";
import { type Text } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import type { Logger } from "../runtime/log.js";
import { fullJitter } from "../runtime/clock.js";
import { Names } from "../runtime/host-names.js";
import {
  BrokerLink,
  brokerName,
  openLink,
  streamFrom,
  versionAfter,
  versionName,
  versionReason,
} from "./connection/link.js";
import type { TooLarge } from "./connection/surplus.js";
import { PublishError, PublishQueue, sendable } from "./connection/publish.js";
import { type RetainedFound, Session } from "./connection/session.js";
import {
  type BrokerFacts,
  type ConnectionLimits,
  type ConnectionListeners,
  type ConnectionPorts,
  type ConnectionSettings,
  type ConnectionState,
  defaultLimits,
  type FloodListener,
  type IncomingMessage,
  type LinkEnd,
  type ProtocolVersion,
  type PublishOptions,
} from "./connection/settings.js";

const suspiciousCloses = 3;
const shortLifeMs = 60_000;
const longestGreetingMs = 5_000;
/** The most topics that one connection reports for messages that are too large. */
const mostTold = 100;

/** Logs the ups and downs of the link: each new reason once as a warning, repetitions only at debug level. */
class LinkReport {
  readonly #log: Logger;
  readonly #broker: string;
  #reason: Text | null = null;
  #failures = 0;
  #hasFallenBack = false;
  #closes = 0;

  constructor(log: Logger, broker: string) {
    this.#log = log;
    this.#broker = broker;
  }

  /** Why the newest link ended or failed; null before the first. */
  get reason(): Text | null {
    return this.#reason;
  }

  onConnected(facts: BrokerFacts): void {
    const after = this.#failures > 0 ? { failedAttempts: this.#failures } : {};
    this.#log.info(after, `connected to ${this.#broker} with ${versionName(facts.protocolVersion)}`);
    this.#failures = 0;
    if (!facts.retainAvailable)
      this.#log.error(
        "this broker keeps no retained messages: Home Assistant and others will miss states; allow them there",
      );
  }

  /** `lost`: number of publishes on their way. `lifeMs`: time from the attempt to the end. */
  onEnd(end: LinkEnd, { lost = 0, lifeMs = 0 } = {}): void {
    if (end.kind === "ended") {
      this.#log.info(`disconnected from ${this.#broker}`);
      return;
    }
    const known = !end.connected && String(this.#reason) === String(end.reason);
    this.#reason = end.reason;
    if (!end.connected) this.#failures += 1;
    const text = end.connected ? "lost the link to the broker" : "no link to the broker";
    if (known) this.#log.debug({ failedAttempts: this.#failures }, `${text}: ${String(end.reason)}`);
    else
      this.#log.warn(lost > 0 ? { lostPublishes: lost } : {}, `${text}: ${String(end.reason)}; trying again`);
    this.#suspect(end.wordless === true && lifeMs < shortLifeMs);
  }

  /**
   * Warns of a client id used twice. Mosquitto 2.0 only closes such a link, without the reason that MQTT 5 has for it.
   */
  #suspect(isSuspicious: boolean): void {
    this.#closes = isSuspicious ? this.#closes + 1 : 0;
    if (this.#closes !== suspiciousCloses) return;
    this.#log.warn(
      `${this.#broker} has closed ${suspiciousCloses} links in a row without a word, as Mosquitto 2.0 does when another client connected with the same client id: give each bridge its own mqtt.client_id (and base_topic); the broker's log names the client`,
    );
  }

  /** The broker refuses MQTT 5. Every new link tries it again, so the warning comes once. */
  fellBack(): void {
    if (this.#hasFallenBack) this.#log.debug(`${this.#broker} refuses MQTT 5 still`);
    else
      this.#log.warn(
        `${this.#broker} refuses MQTT 5; trying MQTT 3.1.1, with which a live command sent with the retain flag cannot be told from another and is carried out`,
      );
    this.#hasFallenBack = true;
  }
}

/** The link to the broker as the other parts use it. */
export type Connection = Pick<BrokerConnection, keyof BrokerConnection>;

/**
 * The bridge's connection to its broker, kept up for as long as `run` runs. A lost or refused link is never an error of
 * `run`; it is tried again with full jitter, the first time within a second.
 */
export class BrokerConnection {
  readonly #settings: ConnectionSettings;
  readonly #limits: ConnectionLimits;
  readonly #ports: ConnectionPorts;
  readonly #queue: PublishQueue;
  readonly #names = new Names();
  readonly #report: LinkReport;
  readonly #tally = {
    connects: 0,
    disconnects: 0,
    refused: 0,
    /** Links lost because another client took the client id. */
    takenOver: 0,
    repairs: 0,
    received: 0,
    /** Incoming messages above the size limit; only topics of `anySize` are still handed on. */
    oversized: 0,
    listenerErrors: 0,
  };
  #version: ProtocolVersion;
  #state: ConnectionState = "idle";
  #link: BrokerLink | null = null;
  #session: Session | null = null;
  #facts: BrokerFacts | null = null;
  #lastConnectedAt: number | null = null;
  #lastEnd: LinkEnd | null = null;
  #restart = new AbortController();
  /** Releases the place of a link that reads what the broker holds. */
  #leaveGreeting: () => void = () => undefined;

  constructor(settings: ConnectionSettings, ports: ConnectionPorts) {
    this.#settings = settings;
    this.#limits = { ...defaultLimits, ...settings.limits };
    this.#ports = ports;
    const { url, purpose } = settings;
    this.#report = new LinkReport(ports.log, [brokerName(url), purpose ?? []].flat().join(" "));
    this.#queue = new PublishQueue(this.#limits, ports.clock, settings.markTopic);
    this.#version = settings.protocolVersion;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** What the broker announced in the current link's CONNACK; null without a link. */
  get broker(): BrokerFacts | null {
    return this.#facts;
  }

  /** Why the current link speaks its version of MQTT; null without a link. */
  get versionReason(): Text | null {
    return this.#facts && versionReason(this.#settings.protocolVersion, this.#facts.protocolVersion);
  }

  /** Why the newest link ended or failed; null before the first and while connected. */
  get lastFailure(): Text | null {
    return this.#facts === null ? this.#report.reason : null;
  }

  counters() {
    return {
      ...this.#tally,
      ...this.#queue.counters,
      lastConnectedAt: this.#lastConnectedAt,
      protocolVersion: this.#facts?.protocolVersion ?? null,
    };
  }

  /** Keeps the link until `signal` aborts, then calls `beforeEnd`, disconnects and resolves. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    let attempt = 0;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const { end, lost } = await this.#attempt(signal);
      this.#lastEnd = end;
      if (isAborted(signal)) {
        if (end.kind === "ended") this.#report.onEnd(end);
        break;
      }
      const lifeMs = clock.monotonic() - startedAt;
      if (this.#fallsBack(end)) {
        this.#report.fellBack();
        continue;
      }
      this.#report.onEnd(end, { lost, lifeMs });
      const settled = end.connected && lifeMs >= this.#limits.settledMs;
      const delayMs = fullJitter(settled ? 0 : attempt, this.#limits.backoff, random());
      attempt = settled ? 1 : attempt + 1;
      this.#state = "waiting";
      await clock.wait(delayMs, signal).catch(ignored);
    }
    this.#state = "ended";
  }

  /**
   * Publishes with QoS 1 by default. Resolves when the broker has acknowledged it, or for QoS 0 something sent behind
   * it; rejects with a PublishError. Nothing is kept for later: without a link it rejects at once. Await `ready()`
   * between publishes of a large batch.
   */
  publish(topic: string, payload: string | Buffer, options: PublishOptions = {}): Promise<void> {
    const { maxPayloadBytes } = this.#limits;
    const publish = sendable(topic, payload, options, { facts: this.#facts, maxPayloadBytes });
    if (typeof publish === "string") return this.#queue.refuse("invalid", `not published: ${publish}`);
    return this.#queue.publish(publish);
  }

  /** Whether the link is established but the broker acknowledges no publish. */
  get isMute(): boolean {
    return this.#queue.isMute;
  }

  /** Resolves when the next publish would be sent at once; immediately without a link. */
  ready(): Promise<void> {
    return this.#queue.ready();
  }

  /**
   * Shows every retained message under `filters` once. Resolves to whether these were all: false if the link is lost, a
   * filter is refused or the broker acknowledges nothing. `filters` must not overlap the subscriptions, or commands
   * would come twice.
   */
  async scan(filters: readonly string[], found: RetainedFound): Promise<boolean> {
    const isWhole = (await this.#session?.scan(filters, found)) ?? false;
    this.#leaveGreeting();
    return isWhole;
  }

  /**
   * Subscribes to other clients' topics, including their retained messages, until the link ends. Resolves when those
   * have come, as far as the broker grants it, or the link is gone.
   */
  async listen(topics: readonly string[]): Promise<void> {
    await this.#session?.listen(topics);
  }

  /** Resolves when the socket accepts more; immediately without a link. */
  async drain(): Promise<void> {
    await this.#link?.drain();
  }

  /** Ends the link cleanly, with its last messages, and makes a new one. */
  restart(): void {
    this.#restart.abort();
  }

  /** Cuts the link as if it were lost, so that a new one is made; for a caller that found it deaf. */
  reconnect(because: string): void {
    this.#link?.destroy(because);
  }

  async #attempt(signal: AbortSignal): Promise<{ readonly end: LinkEnd; readonly lost: number }> {
    this.#state = "connecting";
    // Messages that the broker kept arrive before the session exists, which alone knows how old they may be.
    const early: IncomingMessage[] = [];
    const settings = this.#settings;
    const { will } = settings;
    const { clock, log } = this.#ports;
    const tooLarge = new Set<string>();
    // Once for each topic: a client that sends one such message may send many.
    const onTooLarge = (message: TooLarge) => {
      if (tooLarge.has(message.topic) || tooLarge.size >= mostTold) return;
      tooLarge.add(message.topic);
      log.warn(message, "a message was left out that is larger than any of greenhouses is");
    };
    const link = await openLink({
      settings,
      will: typeof will === "function" ? await will(this.#lastEnd) : will,
      limits: this.#limits,
      version: this.#version,
      clock,
      onTooLarge,
      message: (message) => {
        if (this.#session === null) early.push(message);
        else this.#receive(message);
      },
      openStream: streamFrom(settings, this.#limits.connectTimeoutMs, { names: this.#names, signal, clock }),
    });
    if (!(link instanceof BrokerLink)) return { end: link, lost: 0 };
    this.#link = link;
    const abandon = () => link.destroy(null);
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    const facts = await link.accepted;
    signal.removeEventListener("abort", abandon);
    const ended =
      facts === null ? { end: await link.closed, lost: 0 } : await this.#serve(link, facts, signal, early);
    this.#link = null;
    return ended;
  }

  async #serve(link: BrokerLink, facts: BrokerFacts, signal: AbortSignal, early: IncomingMessage[]) {
    this.#facts = facts;
    this.#state = "subscribing";
    this.#tally.connects += 1;
    this.#lastConnectedAt = this.#ports.clock.now();
    this.#report.onConnected(facts);
    this.#restart = new AbortController();
    await this.#enterGreeting(link, signal);
    this.#session = new Session(link, facts, {
      queue: this.#queue,
      settings: this.#settings,
      limits: this.#limits,
      ports: this.#ports,
      tally: this.#tally,
      contain: this.#contain,
      enter: (state) => {
        this.#state = state;
      },
    });
    const end = joinSignals(signal, this.#restart.signal);
    const running = this.#session.run(end.signal);
    for (const message of early.splice(0)) this.#receive(message);
    const ended = await running.finally(end.release);
    this.#leaveGreeting();
    this.#tally.disconnects += 1;
    this.#session = null;
    this.#facts = null;
    void this.#contain("disconnected", () => this.#settings.on?.onDisconnected?.(ended.end));
    return ended;
  }

  /**
   * Waits for a place among the links that are starting. All at once would each miss their deadlines, be cut and begin
   * anew. A link that takes long gives up its place.
   */
  async #enterGreeting(link: BrokerLink, signal: AbortSignal): Promise<void> {
    const { greetings, clock } = this.#ports;
    if (greetings === undefined) return;
    const over = new AbortController();
    void link.closed.then(() => over.abort());
    const end = joinSignals(signal, over.signal);
    try {
      if (!greetings.take()) await greetings.wait(end.signal);
    } catch {
      return;
    } finally {
      end.release();
    }
    let isLeft = false;
    const leave = () => {
      takeBack();
      if (!isLeft) greetings.leave();
      isLeft = true;
    };
    const takeBack = clock.after(longestGreetingMs, leave);
    this.#leaveGreeting = leave;
  }

  /**
   * Handles an incoming message: those of a scan and of our own status topic end here, all others go to the listener.
   */
  readonly #receive = (message: IncomingMessage): void => {
    const session = this.#session;
    if (session === null) return;
    // No answer could be sent any more, so the message is left for whichever member connects next.
    if (message.acknowledge !== undefined && this.#state === "ending") return;
    const { anySize, guard, subscriptions, on } = this.#settings;
    const { topic, payload } = message;
    this.#tally.received += 1;
    const aged = session.aged(message);
    if (aged === null) return;
    if (payload.length > this.#limits.maxPayloadBytes) {
      this.#tally.oversized += 1;
      if (!anySize?.(topic)) {
        this.#ports.log.warn({ topic, bytes: payload.length }, "dropped a message that is too large");
        return;
      }
    } else {
      let isTaken = false;
      for (const takes of session.scans) if (takes(message)) isTaken = true;
      if (isTaken) return;
      if (topic === guard?.topic) {
        session.ownStatus(message, guard);
        if (!subscriptions.includes(topic)) return;
      }
    }
    try {
      on?.message?.(aged);
    } catch (error) {
      this.#listenerFailed("message", error);
    }
  };

  readonly #contain = async (what: string, listener: () => unknown): Promise<boolean> => {
    try {
      await listener();
      return true;
    } catch (error) {
      this.#listenerFailed(what, error);
      return false;
    }
  };

  /** A listener's error must not reach the MQTT library, which would stop reading until the keepalive notices. */
  readonly #listenerFailed = (what: string, error: unknown): void => {
    // The listener was publishing when the link went; the lost link is reported anyway.
    if (error instanceof PublishError && error.kind === "offline") return;
    this.#tally.listenerErrors += 1;
    this.#ports.log.error(
      { err: error },
      `the ${what} listener of the broker connection failed; please report this`,
    );
  };

  /** Learns from an ended link. Returns true if the next attempt uses an older version and should not wait. */
  #fallsBack(end: LinkEnd): boolean {
    if (end.kind === "refused") this.#tally.refused += 1;
    if (end.kind === "taken_over") this.#tally.takenOver += 1;
    const before = this.#version;
    this.#version = versionAfter(before, end, this.#settings.protocolVersion);
    return this.#version < before;
  }
}

// `aborted` changes during awaits, which the compiler's narrowing ignores; the call avoids that.
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** A part of the bridge: it may run beside the others, follow the broker's link, and take messages. */
export interface Part {
  /** Works until `signal` aborts; one that rejects ends the bridge. */
  run?(signal: AbortSignal): Promise<void>;
  /**
   * A link is established. Parts are called one after the other; one that resolves to false reports that the link is
   * gone.
   */
  onConnected?(): unknown;
  onDisconnected?(): void;
  /** Publishes the last messages of a link that ends cleanly. */
  leave?(): Promise<void>;
  /** Limits for topics on which others may send very many messages. */
  readonly flood?: FloodListener;
  /** Returns true if the message was for this part; the parts after it then do not get it. */
  onMessage?(message: IncomingMessage): boolean;
}

/** Combines the flood limits of all parts. */
export const floodListener = (parts: readonly Part[]): FloodListener => ({
  allowanceOf: (topic) => {
    for (const { flood } of parts) {
      const allowance = flood?.allowanceOf(topic) ?? null;
      if (allowance !== null) return allowance;
    }
    return null;
  },
  onSurplus: (surplus) => {
    for (const { flood } of parts) flood?.onSurplus(surplus);
  },
});

/** Passes events of the link to the parts, in the order of the list, which may still grow. */
export const partListeners = (parts: readonly Part[]): ConnectionListeners => ({
  onConnected: async () => {
    for (const part of parts) if ((await part.onConnected?.()) === false) return;
  },
  onDisconnected: () => {
    for (const part of parts) part.onDisconnected?.();
  },
  beforeEnd: async () => {
    for (const part of parts) await part.leave?.();
  },
  message: (message) => {
    for (const part of parts) if (part.onMessage?.(message) === true) return;
  },
});
