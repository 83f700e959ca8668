import { type Text } from "../../language/text.js";
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { CoreConfiguration } from "../../settings/sections/core.js";
import type { BackoffRange, Clock, Random } from "../../runtime/clock.js";
import type { Gaps } from "../../runtime/gaps.js";
import type { Logger } from "../../runtime/log.js";
import type { Sender } from "../../runtime/mqtt.js";
import type { Semaphore } from "../../runtime/schedule.js";
import { incomingOn, type Topics } from "../topics.js";

export type ProtocolVersion = 4 | 5;

/** PEM text or the path of a PEM file; files are read again at every attempt, so a renewed certificate is found. */
export interface TlsSettings {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface ConnectionLimits {
  readonly keepaliveS: number;
  /**
   * Time limit for connecting, and again from the first byte to the CONNACK, with the TLS handshake. Name resolution
   * has its own.
   */
  readonly connectTimeoutMs: number;
  readonly ackTimeoutMs: number;
  readonly subackTimeoutMs: number;
  readonly subscribeRetryMs: number;
  /** Time limit for `beforeEnd` and for the DISCONNECT, each. */
  readonly endTimeoutMs: number;
  readonly backoff: BackoffRange;
  /** A link that lived this long was good: reconnecting starts again with the shortest delays. */
  readonly settledMs: number;
  /**
   * Publishes on their way at once, for QoS 1 and QoS 0 each. A broker that announces less (MQTT 5 receive maximum)
   * gets less of QoS 1.
   */
  readonly window: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly maxPayloadBytes: number;
  /** The largest packet an MQTT 5 broker may send us; it drops larger messages without notice. */
  readonly maxPacketBytes: number;
  /** The shortest time between two repairs of our own status. */
  readonly repairEveryMs: number;
}

export const defaultLimits: ConnectionLimits = {
  keepaliveS: 15,
  connectTimeoutMs: 10_000,
  ackTimeoutMs: 10_000,
  subackTimeoutMs: 10_000,
  subscribeRetryMs: 10_000,
  endTimeoutMs: 3_000,
  backoff: { firstMs: 1_000, maxMs: 30_000 },
  settledMs: 10_000,
  window: 512,
  maxWaiting: 8_192,
  maxWaitingBytes: 32 * 1024 * 1024,
  maxPayloadBytes: 256 * 1024,
  maxPacketBytes: 16 * 1024 * 1024,
  repairEveryMs: 1_000,
};

/** A message as the bridge sees it: no class of the MQTT library, no shared buffers of its packets. */
export interface IncomingMessage {
  readonly topic: string;
  readonly payload: Buffer;
  /** On MQTT 5 also true for a live message that was published with the flag (retain as published). */
  readonly retain: boolean;
  /**
   * The message's greatest possible age, after the process stood still before reading it; absent if it was read on
   * arrival.
   */
  readonly ageMs?: number;
  /** The broker kept it from before this link, and may have given it to an earlier one. */
  readonly isKept?: true;
  /**
   * Acknowledges it; until then the broker gives it to whichever client connects next with this client id. Absent if
   * already acknowledged.
   */
  readonly acknowledge?: () => void;
  readonly properties: Sender & {
    readonly responseTopic?: string;
    readonly correlationData?: Buffer;
    readonly messageExpiryIntervalS?: number;
  };
}

/** What the broker announced in its CONNACK. */
export interface BrokerFacts {
  readonly protocolVersion: ProtocolVersion;
  readonly maximumPacketSize: number | null;
  readonly receiveMaximum: number | null;
  readonly maximumQos: 0 | 1 | 2;
  readonly retainAvailable: boolean;
  /** The broker kept the session: it sends first what came meanwhile and what was not acknowledged. */
  readonly isResumed?: boolean;
}

/** Why a link ended or failed. `reason` is a sentence with the remedy; it never holds a secret. */
export interface LinkEnd {
  readonly kind: "ended" | "refused" | "unreachable" | "silent" | "closed_early" | "lost" | "taken_over";
  /** The reason code of a CONNACK or of an MQTT 5 DISCONNECT. */
  readonly code: number | null;
  readonly connected: boolean;
  readonly reason: Text;
  /** The link stood, and the broker closed it without a reason. */
  readonly wordless?: boolean;
}

/** Callbacks of the connection. A listener's error is logged and counted, and does no harm. */
export interface ConnectionListeners {
  message?(message: IncomingMessage): void;
  /** Every subscription is granted: publish the birth message now. Called once per link. */
  onConnected?(facts: BrokerFacts): void | Promise<void>;
  /** A link is gone after its CONNACK. */
  onDisconnected?(end: LinkEnd): void;
  /** Publishes the last messages, such as `offline`, before the DISCONNECT of a planned end. */
  beforeEnd?(): Promise<void>;
}

/** Opens the byte stream to the broker; calls `opened` after the TCP, TLS or WebSocket handshake. */
export type OpenStream = (opened: () => void) => Duplex | Promise<Duplex>;

/** The message that the broker publishes if the link ends without a DISCONNECT. */
export interface Will {
  readonly topic: string;
  readonly payload: string | Buffer;
  /** True by default. */
  readonly retain?: boolean;
}

/** How messages of a topic are limited. */
export interface FloodAllowance {
  readonly key: string;
  /** Whether a message must get through, however many there are; null if none must. */
  readonly isUrgent: ((payload: Buffer) => boolean) | null;
  /** The target of an urgent message, for a topic with many targets: it replaces only one for the same target. */
  readonly targetOf?: (payload: Buffer) => string;
  /** The id that the sender gave a message, so that a refusal can name it; null for none. */
  readonly idOf?: (payload: Buffer) => string | null;
}

/** Messages of one allowance that were dropped. */
export interface Surplus {
  readonly key: string;
  readonly count: number;
  /** Dropped because newer ones replaced them. */
  readonly isUrgent: boolean;
  /** Ids of the first of them, a few hundred at most. */
  readonly ids: readonly string[];
}

/** Gives topics their allowance, and receives the messages beyond it. */
export interface FloodListener {
  /** Null for a topic without a limit. Asked anew every few seconds. */
  readonly allowanceOf: (topic: string) => FloodAllowance | null;
  readonly onSurplus: (surplus: Surplus) => void;
}

/** The session that the broker keeps for the next link with this client id. */
interface KeptSession {
  readonly forS: number;
  /** Topics whose QoS 1 messages the listener acknowledges itself. */
  readonly isOwed: (topic: string) => boolean;
}

export interface ConnectionSettings {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`. */
  readonly url: string;
  /** The purpose of a further link, which the log names behind the broker. */
  readonly purpose?: string;
  readonly username?: string;
  readonly password?: string;
  /** Constant over restarts: only then does the broker publish an old will before the new link's birth. */
  readonly clientId: string;
  readonly protocolVersion: ProtocolVersion;
  /** Whether the broker writes the sender into each command; only the embedded broker is trusted with that. */
  readonly stampsSenders?: boolean;
  /** Session that the broker keeps after a link; absent for none. */
  readonly session?: KeptSession | undefined;
  readonly tls?: TlsSettings;
  /**
   * The will, or a function that makes it for each attempt; `before` is how the attempt before ended, null at the
   * first.
   */
  readonly will?: Will | ((before: LinkEnd | null) => Promise<Will>);
  /** Whether the broker also publishes the will after an orderly end (MQTT 5). */
  readonly endsWithWill?: boolean;
  /**
   * Topic of the marks that prove the arrival of QoS 0 messages: one of our own without other use. Null for no proof; a
   * sent message then counts as done.
   */
  readonly markTopic: string | null;
  /**
   * A topic of `subscriptions` where the link may write to itself, to prove that earlier messages were read; absent for
   * no such proof.
   */
  readonly echoTopic?: string;
  readonly subscriptions: readonly string[];
  /** Filters with retained messages and QoS 1, asked for until they are granted; nothing waits for them. */
  readonly kept?: readonly string[];
  /** Filters whose retained messages are wanted at every connect; never for commands. */
  readonly withRetained?: readonly string[];
  /** Filters for live messages only; nothing waits for them. */
  readonly heard?: readonly string[];
  /**
   * Topics whose messages are handed on at any size, because their senders are owed an answer; they are never stored.
   */
  readonly anySize?: (topic: string) => boolean;
  /** Limits for topics on which others may send very many messages. */
  readonly flood?: FloodListener;
  /** Our own status topic: any other text than `expected` on it is overwritten while online. */
  readonly guard?: { readonly topic: string; readonly expected: string };
  readonly limits?: Partial<ConnectionLimits>;
  readonly on?: ConnectionListeners;
}

export interface ConnectionPorts {
  readonly clock: Clock;
  /** The times when the process stood still; absent for none. */
  readonly gaps?: Gaps;
  readonly random: Random;
  readonly log: Logger;
  /** Places for links that read what this broker holds, where many links of one process start together. */
  readonly greetings?: Semaphore | undefined;
}

export interface PublishOptions {
  readonly retain?: boolean;
  readonly qos?: 0 | 1;
  /** MQTT 5 only; left out with 3.1.1. */
  readonly responseProperties?: { readonly correlationData?: Buffer };
}

/** A message to publish; `bytes` is its size on the wire, rounded up. */
export interface Publish {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly options: PublishOptions;
  readonly bytes: number;
}

export type ConnectionState =
  "idle" | "connecting" | "subscribing" | "degraded" | "online" | "waiting" | "ending" | "ended";

export interface Embedded {
  readonly url: string;
  readonly credential: { readonly username: string; readonly password: string };
}

/** The address and login of the configured broker or the embedded one. */
export function brokerAccess(mqtt: CoreConfiguration["mqtt"], embedded: Embedded | null) {
  const { ca, cert, key, reject_unauthorized: rejectUnauthorized } = mqtt.tls;
  return {
    url: embedded?.url ?? mqtt.url ?? "",
    username: embedded?.credential.username ?? mqtt.username,
    password: embedded?.credential.password ?? mqtt.password,
    clientId: mqtt.client_id,
    stampsSenders: embedded !== null,
    protocolVersion: mqtt.protocol_version,
    tls: { ca, cert, key, rejectUnauthorized },
  };
}

/** Messages that end in a result. */
const commandTypes: ReadonlySet<string | undefined> = new Set(["command", "group"]);

/** Settings of the bridge's link to the configured or the embedded broker. */
export function connectionSettings(
  mqtt: CoreConfiguration["mqtt"],
  topics: Topics,
  embedded: Embedded | null,
  /** Filters of other clients' topics that the bridge listens to. */
  others: readonly string[],
  on: ConnectionListeners,
  /** How long the broker keeps commands for the next link, on whichever machine; null for not at all. */
  keptForS: number | null = null,
): ConnectionSettings {
  const isCommand = (topic: string) => commandTypes.has(incomingOn(topics, topic)?.type);
  return {
    ...brokerAccess(mqtt, embedded),
    session: keptForS === null ? undefined : { forS: keptForS, isOwed: isCommand },
    will: { topic: topics.bridge.state, payload: "offline" },
    markTopic: topics.bridge.mark,
    echoTopic: topics.bridge.selfTest,
    subscriptions: [...topics.subscriptions, topics.bridge.selfTest],
    // No command depends on these. A birth that Home Assistant publishes with the retain flag shows it here only on the
    // broker's stored copy, so that copy and live message differ.
    withRetained: others,
    // A command of any size gets an outcome: one too large is refused with its size.
    anySize: isCommand,
    guard: { topic: topics.bridge.state, expected: "online" },
    on,
  };
}

/** The client id of a link beside a running bridge; with the bridge's own the broker would end the bridge's link. */
export const clientIdBeside = (clientId: string): string => `${clientId}-${randomBytes(4).toString("hex")}`;
