import { msg, type Text, TextError, textOf } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import type { BrokerFacts, ConnectionLimits, PublishOptions, Publish } from "./settings.js";
import { type Clock, Rest } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/log.js";
import type { BrokerLink } from "./link.js";

const maxTopicBytes = 512;
// Mosquitto refuses more than 200 levels, aedes more than 100; our topics have at most 8.
const maxLevels = 64;
const forbidden = /[#+\0]|\p{Cs}/u;

const beginningOf = (topic: string) => JSON.stringify(topic.slice(0, 80));

/** What a link can carry. */
interface WireLimits {
  readonly maxPayloadBytes: number;
  /** Null without a link. */
  readonly facts: BrokerFacts | null;
}

/**
 * The last check before sending: the message as it can be sent, or the reason why not. MQTT.js checks no topic, and one
 * `#` in it makes a broker cut the link. Options that the broker or the protocol version lacks are left out, as they
 * would cut it too.
 */
export function sendable(
  topic: string,
  payload: string | Buffer,
  options: PublishOptions,
  { facts, maxPayloadBytes }: WireLimits,
): Publish | string {
  if (topic === "") return "the topic is empty";
  if (topic.length > maxTopicBytes / 3 && Buffer.byteLength(topic) > maxTopicBytes)
    return `the topic ${beginningOf(topic)}... is longer than ${maxTopicBytes} bytes`;
  if (forbidden.test(topic)) return `the topic ${beginningOf(topic)} holds #, +, NUL or half a character`;
  // Most topics are too short for that many levels, and this runs for every message.
  if (topic.length >= maxLevels && topic.split("/", maxLevels + 1).length > maxLevels)
    return `the topic ${beginningOf(topic)} has more than ${maxLevels} levels`;
  const { qos = 1, retain = false, responseProperties } = options;
  const payloadBytes = Buffer.byteLength(payload);
  if (payloadBytes > maxPayloadBytes)
    return `the payload for ${topic} has ${payloadBytes} bytes; at most ${maxPayloadBytes} are sent`;
  // The fixed header, packet id and property headers are counted with a small reserve.
  const propertyBytes = responseProperties ? 32 + (responseProperties.correlationData?.length ?? 0) : 0;
  const bytes = payloadBytes + Buffer.byteLength(topic) + 16 + propertyBytes;
  if (facts === null) return { topic, payload, options, bytes };
  const { maximumPacketSize, maximumQos, protocolVersion, retainAvailable } = facts;
  if (maximumPacketSize !== null && bytes > maximumPacketSize)
    return (
      `the message for ${topic} has ${bytes} bytes, the broker takes at most ${maximumPacketSize}: ` +
      `raise its packet limit (Mosquitto: max_packet_size)`
    );
  const supported = { qos: maximumQos === 0 ? (0 as const) : qos, retain: retain && retainAvailable };
  const isAnswer = protocolVersion === 5 && responseProperties !== undefined;
  return { topic, payload, options: isAnswer ? { ...supported, responseProperties } : supported, bytes };
}

/**
 * - `invalid`: the topic or size would cut the link, so it was not sent
 * - `offline`: there is no link, or it went away before the acknowledgement
 * - `busy`: too many publishes wait already; await `ready()` first
 * - `unacknowledged`: the broker did not acknowledge in time
 * - `refused`: the broker answered with an error code
 */
export type PublishErrorKind = "invalid" | "offline" | "busy" | "unacknowledged" | "refused";

/** A publish that was not made, or whose arrival is uncertain (`offline`, `unacknowledged`). */
export class PublishError extends TextError {
  override name = "PublishError" as const;
  readonly kind: PublishErrorKind;

  constructor(kind: PublishErrorKind, message: Text, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}

interface Waiting {
  readonly publish: Publish;
  /** Absent if nothing waits for it. */
  readonly resolve?: () => void;
  readonly reject?: (error: PublishError) => void;
  /** Its number among all QoS 0 publishes, once sent. */
  count?: number;
}

interface InFlight extends Waiting {
  readonly sentAt: number;
  /** The number of QoS 0 publishes sent before it, whose arrival its acknowledgement proves. */
  readonly behind: number;
  id: number;
}

/** The part of a link that the queue needs. */
export type QueueLink = Pick<BrokerLink, "publish" | "forget">;

/**
 * Publishes between the caller and the link: at most `window` are unacknowledged at the broker, the others wait in
 * order, all bounded. A broker reads in order, so QoS 0 messages have arrived once anything sent behind them is
 * acknowledged; if nothing else follows, a mark does. Nothing outlives its link: a lost one rejects everything, as the
 * next link starts from current state.
 */
export class PublishQueue {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #mark: Publish | null;
  readonly #rest: Rest;
  // Insertion order is sending order, so a sweep stops at the first publish that is young enough.
  readonly #inFlight = new Set<InFlight>();
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;
  /** Numbers of QoS 0 publishes: all sent, and those followed by something that is to be acknowledged. */
  #sent = 0;
  #followed = 0;
  /** QoS 0 publishes in sending order whose arrival is not yet proven, so they count as on their way. */
  #unproven: Waiting[] = [];
  #link: QueueLink | null = null;
  #window = 0;
  /**
   * False without marks, and if the broker acknowledges nothing (MQTT 5, maximum QoS 0): then a sent publish counts as
   * done.
   */
  #acknowledges = true;
  /** The newest mark sent because nothing else followed, and when it was sent. */
  #followUpMark: InFlight | null = null;
  #markedAt = -Infinity;
  #answeredAt = 0;
  #isMute = false;
  #watchers: (() => void)[] = [];
  /** `dropped`: never sent, or lost with the link. `publishRefused`: answered with an error code (MQTT 5). */
  readonly #tally = { published: 0, unacknowledged: 0, publishRefused: 0, dropped: 0 };

  /** `markTopic`: the topic of the marks; null for no marks. */
  constructor(limits: ConnectionLimits, clock: Clock, markTopic: string | null) {
    this.#limits = limits;
    this.#clock = clock;
    this.#rest = new Rest(clock);
    this.#mark = markTopic === null ? null : markOn(markTopic);
  }

  get counters() {
    const inFlight = this.#inFlight.size + this.#unproven.length;
    return { ...this.#tally, inFlight, waiting: this.#waiting.size };
  }

  /**
   * Whether the broker left a publish unacknowledged for its whole time, and has acknowledged nothing since it was
   * sent.
   */
  get isMute(): boolean {
    return this.#isMute;
  }

  open(link: QueueLink, { receiveMaximum, maximumQos }: Pick<BrokerFacts, "receiveMaximum" | "maximumQos">) {
    this.#link = link;
    this.#window = Math.max(1, Math.min(this.#limits.window, receiveMaximum ?? this.#limits.window));
    this.#acknowledges = maximumQos > 0 && this.#mark !== null;
    this.#isMute = false;
  }

  /** Rejects everything on its way; publishes are refused until the next `open`. Returns how many were lost. */
  close(reason: string): number {
    for (const { id } of this.#inFlight) if (id > 0) this.#link?.forget(id);
    this.#link = null;
    const error = new PublishError("offline", reason);
    const lost = [...this.#inFlight, ...this.#waiting, ...this.#unproven];
    const count = lost.filter(({ publish }) => publish !== this.#mark).length;
    this.#inFlight.clear();
    this.#waiting.clear();
    this.#waitingBytes = 0;
    this.#unproven = [];
    this.#followed = this.#sent;
    this.#tally.dropped += count;
    for (const { reject } of lost) reject?.(error);
    this.#wakeWatchers();
    return count;
  }

  /** Counts a publish that is not sent at all, and makes its rejection. */
  refuse(kind: "invalid" | "offline" | "busy", message: Text): Promise<never> {
    this.#tally.dropped += 1;
    return Promise.reject(new PublishError(kind, message));
  }

  publish(publish: Publish): Promise<void> {
    const { topic, bytes } = publish;
    if (this.#link === null)
      return this.refuse("offline", msg`not connected to the broker: ${topic} not sent`);
    const { maxWaiting, maxWaitingBytes } = this.#limits;
    if (this.#waiting.size >= maxWaiting || this.#waitingBytes + bytes > maxWaitingBytes)
      return this.refuse("busy", `too many publishes wait for the broker: ${topic} not sent`);
    return new Promise((resolve, reject) => {
      const one = { publish, resolve, reject, count: 0 };
      if (this.#waiting.size === 0 && this.#hasRoomFor(publish)) {
        this.#send(one);
        return;
      }
      this.#waiting.add(one);
      this.#waitingBytes += bytes;
    });
  }

  /** Resolves when the broker has read everything sent before; rejects with a PublishError if that stays unknown. */
  async prove(): Promise<void> {
    if (this.#mark === null) return;
    try {
      await this.publish(this.#mark);
    } catch (error) {
      // A refusal is an answer too: the broker has read what came before it.
      if (!(error instanceof PublishError) || error.kind !== "refused") throw error;
    }
  }

  /** Resolves when a publish would be sent at once, or when there is no link (then `publish` rejects). */
  ready(): Promise<void> {
    if (this.#link === null || this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  get #lookEveryMs(): number {
    return Math.max(50, this.#limits.ackTimeoutMs / 10);
  }

  /** Checks at intervals what the broker has not acknowledged while anything is on its way, and logs it. */
  async watch(log: Logger, signal: AbortSignal): Promise<void> {
    let wasMute = false;
    for (;;) {
      const isSettled = this.#inFlight.size + this.#waiting.size + this.#unproven.length === 0;
      if (isSettled && !wasMute) await this.#rest.for(Infinity, signal);
      await this.#clock.wait(this.#lookEveryMs, signal).catch(ignored);
      if (signal.aborted) return;
      const count = this.sweep();
      const text = this.#isMute
        ? "the broker acknowledges nothing that we publish, so it may have none of it: look at its log and load; /healthz answers 503 until it does"
        : "the broker left publishes unacknowledged";
      if (count > 0 && wasMute) log.debug({ count }, text);
      else if (count > 0) log.warn({ count }, text);
      if (wasMute && !this.#isMute) log.info("the broker acknowledges what we publish again");
      wasMute = this.#isMute;
    }
  }

  /**
   * Gives up on publishes not acknowledged in time, and sends a mark behind those that nothing followed. Returns how
   * many expired.
   */
  sweep(): number {
    const latest = this.#clock.monotonic() - this.#limits.ackTimeoutMs;
    let expired = 0;
    for (const one of this.#inFlight) {
      if (one.sentAt > latest) break;
      this.#expire(one);
      expired += 1;
    }
    if (expired > 0) {
      // What an expired publish was to prove may have arrived anyway; a later acknowledgement proves it.
      this.#followed = this.#sent - this.#unproven.length;
      for (const { behind } of this.#inFlight) this.#followed = Math.max(this.#followed, behind);
      this.#advance();
    }
    this.#followUp();
    return expired;
  }

  #expire(one: InFlight): void {
    this.#inFlight.delete(one);
    this.#link?.forget(one.id);
    if (one.sentAt >= this.#answeredAt) this.#isMute = true;
    this.#tally.unacknowledged += 1;
    const seconds = this.#limits.ackTimeoutMs / 1000;
    const message = msg`the broker did not acknowledge ${one.publish.topic} within ${seconds} s`;
    one.reject?.(new PublishError("unacknowledged", message));
  }

  /**
   * Sends one publish. Returns it if the broker is to acknowledge it; null for QoS 0, which the next acknowledgement
   * proves.
   */
  #send(one: Waiting): InFlight | null {
    const link = this.#link;
    const { publish, resolve } = one;
    if (link === null) return null;
    if (publish.options.qos !== 0) {
      this.#followed = this.#sent;
      const flight: InFlight = { ...one, sentAt: this.#clock.monotonic(), behind: this.#sent, id: 0 };
      this.#inFlight.add(flight);
      this.#rest.wake();
      flight.id = link.publish(publish, (error) => this.#settle(flight, error));
      return flight;
    }
    link.publish(publish);
    if (this.#acknowledges) {
      this.#sent += 1;
      one.count = this.#sent;
      this.#unproven.push(one);
      this.#rest.wake();
      if (this.#unproven.length >= this.#limits.window / 2) this.#followUp();
      else if (this.#unproven.length === 1) this.#followUpAtOnce();
    } else {
      this.#tally.published += 1;
      resolve?.();
    }
    return null;
  }

  /**
   * Sends a mark along with the first publish after a pause, which saves a write; publishes in a row wait for the next
   * check.
   */
  #followUpAtOnce(): void {
    if (this.#clock.monotonic() - this.#markedAt >= this.#lookEveryMs) queueMicrotask(() => this.#followUp());
  }

  /** Sends one mark at a time; the next covers everything sent meanwhile. */
  #followUp(): void {
    const isMarking = this.#followUpMark !== null && this.#inFlight.has(this.#followUpMark);
    if (this.#mark === null || isMarking || this.#followed === this.#sent) return;
    if (this.#inFlight.size >= this.#window) return;
    this.#markedAt = this.#clock.monotonic();
    this.#followUpMark = this.#send({ publish: this.#mark });
  }

  #settle(one: InFlight, error: Error | null): void {
    if (!this.#inFlight.delete(one)) return;
    this.#answeredAt = this.#clock.monotonic();
    this.#isMute = false;
    let proven = 0;
    while ((this.#unproven[proven]?.count ?? Infinity) <= one.behind) proven += 1;
    this.#tally.published += proven;
    if (proven > 0) for (const { resolve } of this.#unproven.splice(0, proven)) resolve?.();
    const weight = one.publish === this.#mark ? 0 : 1;
    if (error === null) {
      this.#tally.published += weight;
      one.resolve?.();
    } else {
      this.#tally.publishRefused += weight;
      const message = msg`the broker refused ${one.publish.topic}: ${textOf(error)}; check its access list`;
      one.reject?.(new PublishError("refused", message, { cause: error }));
    }
    if (this.#waiting.size + this.#watchers.length > 0) this.#advance();
    if (this.#unproven.length >= this.#limits.window / 2) this.#followUp();
  }

  #advance(): void {
    for (const one of this.#waiting) {
      if (!this.#hasRoomFor(one.publish)) break;
      this.#waiting.delete(one);
      this.#waitingBytes -= one.publish.bytes;
      this.#send(one);
    }
    if (this.#hasRoom()) this.#wakeWatchers();
  }

  /** The broker's limit on unacknowledged publishes does not count QoS 0. */
  #hasRoomFor({ options }: Publish): boolean {
    return options.qos === 0
      ? this.#unproven.length < this.#limits.window
      : this.#inFlight.size < this.#window;
  }

  #hasRoom(): boolean {
    const { window } = this.#limits;
    return this.#waiting.size === 0 && this.#inFlight.size < this.#window && this.#unproven.length < window;
  }

  #wakeWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}

const markOn = (topic: string): Publish => ({
  topic,
  payload: "mark",
  options: { qos: 1 },
  bytes: topic.length,
});
