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
  /** For the connection, and then from its first byte to the CONNACK, the TLS handshake included. Looking the broker up has its own. */
  readonly connectTimeoutMs: number;
  readonly ackTimeoutMs: number;
  readonly subackTimeoutMs: number;
  readonly subscribeRetryMs: number;
  /** For `beforeEnd` and for the DISCONNECT, each. */
  readonly endTimeoutMs: number;
  readonly backoff: BackoffRange;
  /** A link that lived this long was good: the next reconnect starts with the shortest delays again. */
  readonly settledMs: number;
  /**
   * Publishes on their way at once, of QoS 1 and of QoS 0 each; a broker that announces less (MQTT 5 receive maximum) gets less
   * of QoS 1.
   */
  readonly window: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly maxPayloadBytes: number;
  /** What an MQTT 5 broker may send at all; beyond it the broker drops the message, and does not say so. */
  readonly maxPacketBytes: number;
  /** Least time between two repairs of the own status. */
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
  /** At most so old, where the process stood still before it was read; absent where it was read as it came. */
  readonly ageMs?: number;
  /** The broker kept it from before this link, and may have given it to an earlier one. */
  readonly isKept?: true;
  /**
   * Tells the broker that it is dealt with, which until then gives it to whoever connects next with this client id; absent where it was
   * told so already.
   */
  readonly acknowledge?: () => void;
  readonly properties: Sender & {
    readonly responseTopic?: string;
    readonly correlationData?: Buffer;
    readonly messageExpiryIntervalS?: number;
  };
}

/** What the broker said about itself in its CONNACK. */
export interface BrokerFacts {
  readonly protocolVersion: ProtocolVersion;
  readonly maximumPacketSize: number | null;
  readonly receiveMaximum: number | null;
  readonly maximumQos: 0 | 1 | 2;
  readonly retainAvailable: boolean;
  /** It kept the session: what came meanwhile, and what was not acknowledged, is sent first. */
  readonly isResumed?: boolean;
}

/** Why a link ended, or never came about. `reason` is a sentence with the remedy; it never holds a secret. */
export interface LinkEnd {
  readonly kind: "ended" | "refused" | "unreachable" | "silent" | "closed_early" | "lost" | "taken_over";
  /** CONNACK reason or MQTT 5 DISCONNECT reason. */
  readonly code: number | null;
  readonly connected: boolean;
  readonly reason: Text;
  /** A link that stood, which the broker closed without saying why. */
  readonly wordless?: boolean;
}

/** Called by the connection. What a listener throws or rejects with is logged and counted, and harms nothing. */
export interface ConnectionListeners {
  message?(message: IncomingMessage): void;
  /** Every subscription is acknowledged: publish the birth message now. Once per link. */
  onConnected?(facts: BrokerFacts): void | Promise<void>;
  /** A link that had its CONNACK is gone. */
  onDisconnected?(end: LinkEnd): void;
  /** Last publishes before the DISCONNECT of a wanted end, such as `offline`. */
  beforeEnd?(): Promise<void>;
}

/** Opens the byte stream to the broker; calls `opened` once it stands (TCP, TLS or WebSocket handshake done). */
export type OpenStream = (opened: () => void) => Duplex | Promise<Duplex>;

/** What the broker is to say when the link ends without a word of ours. */
export interface Will {
  readonly topic: string;
  readonly payload: string | Buffer;
  /** True where nothing is said. */
  readonly retain?: boolean;
}

/** What the messages of a topic count under. */
export interface FloodAllowance {
  readonly key: string;
  /** Whether one has to get through, however many there are; null where none has. */
  readonly isUrgent: ((payload: Buffer) => boolean) | null;
  /** For what an urgent one is, where a topic is for many: it takes the place of one for the same alone. */
  readonly targetOf?: (payload: Buffer) => string;
  /** The id that its sender gave one, so that it is told with what becomes of it; null for one without. */
  readonly idOf?: (payload: Buffer) => string | null;
}

/** Messages of one allowance that were left out. */
export interface Surplus {
  readonly key: string;
  readonly count: number;
  /** Because a newer one took their place. */
  readonly isUrgent: boolean;
  /** Of the first of them that have one, a few hundred at most. */
  readonly ids: readonly string[];
}

/** Gives topics their allowance, and hears of the messages beyond it. */
export interface FloodListener {
  /** Null for what has no pace. Asked anew every few seconds. */
  readonly allowanceOf: (topic: string) => FloodAllowance | null;
  readonly onSurplus: (surplus: Surplus) => void;
}

/** What the broker keeps for whoever connects next with the client id. */
interface KeptSession {
  readonly forS: number;
  /** Topics of which the listener acknowledges each message of QoS 1 by itself. */
  readonly isOwed: (topic: string) => boolean;
}

export interface ConnectionSettings {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`. */
  readonly url: string;
  /** What the link is for, where it is not the bridge's first: said in the log behind the broker. */
  readonly purpose?: string;
  readonly username?: string;
  readonly password?: string;
  /** Fixed over restarts: only then does the broker publish an old will before the new link's birth. */
  readonly clientId: string;
  readonly protocolVersion: ProtocolVersion;
  /** The broker writes the sender into each command; no other broker's word is taken for it. */
  readonly stampsSenders?: boolean;
  /** The broker keeps the session after a link; nothing of it where absent. */
  readonly session?: KeptSession | undefined;
  readonly tls?: TlsSettings;
  /** Asked for at each attempt where it differs; `before` is how the attempt before ended, null at the first. */
  readonly will?: Will | ((before: LinkEnd | null) => Promise<Will>);
  /** An end in order has the broker say the will all the same (MQTT 5). */
  readonly endsWithWill?: boolean;
  /**
   * Where the marks go that prove the arrival of what is published with QoS 0: a topic of ours without another use. Null where
   * nothing is to be proven: there, sent is all that is known.
   */
  readonly markTopic: string | null;
  /** A topic among `subscriptions` where the link may say something that it is to hear itself; without one there is no such proof. */
  readonly echoTopic?: string;
  readonly subscriptions: readonly string[];
  /** Filters of which what the broker holds is wanted too, asked for until they are granted; nothing waits on them. */
  readonly kept?: readonly string[];
  /** Filters whose retained messages are wanted at every connect as well; never commands. */
  readonly withRetained?: readonly string[];
  /** Filters whose live messages alone are wanted, and on which nothing waits. */
  readonly heard?: readonly string[];
  /** Topics whose messages are handed on however large they are, because their senders are owed an answer; never kept. */
  readonly anySize?: (topic: string) => boolean;
  /** Where others may send very much. */
  readonly flood?: FloodListener;
  /** Own status topic: anything else than `expected` on it while online is overwritten. */
  readonly guard?: { readonly topic: string; readonly expected: string };
  readonly limits?: Partial<ConnectionLimits>;
  readonly on?: ConnectionListeners;
}

export interface ConnectionPorts {
  readonly clock: Clock;
  /** Whether the process stood still; where absent it never did. */
  readonly gaps?: Gaps;
  readonly random: Random;
  readonly log: Logger;
  /** Places at this broker for links that take in what it holds, where many links of one process come up together. */
  readonly greetings?: Semaphore | undefined;
}

export interface PublishOptions {
  readonly retain?: boolean;
  readonly qos?: 0 | 1;
  /** MQTT 5 only; left out on 3.1.1. */
  readonly responseProperties?: { readonly correlationData?: Buffer };
}

/** A message to be published; `bytes` as it will stand on the wire, rounded up. */
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

/** Where the configured broker is, or the embedded one, and as whom it is reached. */
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

/** What ends in a result. */
const commandTypes: ReadonlySet<string | undefined> = new Set(["command", "group"]);

/** The link the bridge makes to the configured broker, or to the embedded one. */
export function connectionSettings(
  mqtt: CoreConfiguration["mqtt"],
  topics: Topics,
  embedded: Embedded | null,
  /** Filters of others that the bridge listens to. */
  others: readonly string[],
  on: ConnectionListeners,
  /** How long the broker keeps commands for the next link, of whichever machine; null for not at all. */
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
    // No command depends on these being granted. Of a birth that Home Assistant publishes with the retain flag only the copy kept by the
    // broker carries it here, so the two can be told apart.
    withRetained: others,
    // A command is refused with its size instead of vanishing: every one has an outcome.
    anySize: isCommand,
    guard: { topic: topics.bridge.state, expected: "online" },
    on,
  };
}

/** For a link beside a running bridge: never its own client id, as the broker would end the bridge's link. */
export const clientIdBeside = (clientId: string): string => `${clientId}-${randomBytes(4).toString("hex")}`;
