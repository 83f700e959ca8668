import type { Client, PublishPacket, Subscription } from "aedes";
import { claimOf, filterCovers, stamp, viaProperty } from "../runtime/mqtt.js";
import type { BrokerParts } from "./filters.js";
import type { BrokerLimits, BrokerTopics, BrokerUser } from "./settings.js";
import { bytesOf, ownBytes } from "./store.js";

/** The rights of one connection. */
export interface Rights {
  readonly mayPublish: (topic: string, payloadBytes: number) => boolean;
  readonly maySubscribe: (filter: string) => boolean;
}

interface PublishRule {
  readonly filter: string;
  /** Allows only the clearing of a retained message, as Home Assistant does for a deleted device. */
  readonly emptyOnly: boolean;
}

/** Topics of commands and requests for the bridge. */
function commandFilters({ base, sparkplug }: BrokerTopics): readonly string[] {
  return [
    `${base}/+/actuator/+/set`,
    `${base}/+/parameter/+/set`,
    `${base}/+/address/+/set`,
    `${base}/group/+/set`,
    `${base}/scene/+/set`,
    `${base}/bridge/request/+`,
    ...(sparkplug === undefined ? [] : [`spBv1.0/${sparkplug.group}/DCMD/${sparkplug.node}/+`]),
  ];
}

/** Topics on which a Sparkplug host talks to the edge node, and announces its own state. */
const hostFilters = ({ sparkplug }: BrokerTopics): readonly string[] =>
  sparkplug === undefined
    ? []
    : [`spBv1.0/${sparkplug.group}/NCMD/${sparkplug.node}`, "spBv1.0/STATE/+", "STATE/+"];

function defaultPublishRules(topics: BrokerTopics): readonly PublishRule[] {
  const { status, discoveryPrefix, weather = [] } = topics;
  const whole = [...commandFilters(topics), status, ...weather, ...hostFilters(topics)];
  return [
    ...whole.map((filter) => ({ filter, emptyOnly: false })),
    { filter: `${discoveryPrefix}/device/+/config`, emptyOnly: true },
  ];
}

/** The rights of a user, or with null of an anonymous client. A configured list replaces the default of its kind. */
export function rightsOf(
  user: Pick<BrokerUser, "publish" | "subscribe"> | null,
  topics: BrokerTopics,
): Rights {
  const publish =
    user?.publish?.map((filter) => ({ filter, emptyOnly: false })) ?? defaultPublishRules(topics);
  const subscribe = user?.subscribe ?? ["#"];
  return {
    mayPublish: (topic, payloadBytes) =>
      isOrdinary(topic) &&
      publish.some(
        ({ filter, emptyOnly }) => (!emptyOnly || payloadBytes === 0) && filterCovers(filter, topic),
      ),
    maySubscribe: (filter) => subscribe.some((allowed) => filterCovers(allowed, filter)),
  };
}

export const bridgeRights: Rights = { mayPublish: isOrdinary, maySubscribe: () => true };

/** Excludes the server's own tree and topics that would disconnect subscribers; nobody else checks wills. */
function isOrdinary(topic: string): boolean {
  return topic !== "" && !topic.startsWith("$") && !/[#+\0]/.test(topic);
}

interface RetainedSize {
  readonly bytes: number;
  /** When the message expires, epoch ms; Infinity for never. */
  readonly until: number;
}

/** Counts the retained messages of all clients except the bridge, which share a bound. */
class RetainedShare {
  readonly #limits: Pick<BrokerLimits, "retainedTopics" | "retainedBytes">;
  readonly #drop: (topic: string) => void;
  readonly #sizes = new Map<string, RetainedSize>();
  #bytes = 0;

  /** `drop` removes an expired message from the store, where it would stay until somebody asks for it. */
  constructor(limits: Pick<BrokerLimits, "retainedTopics" | "retainedBytes">, drop: (topic: string) => void) {
    this.#limits = limits;
    this.#drop = drop;
  }

  /** Counts a message; false where it does not fit, and then the topic's former message stays counted. */
  take(topic: string, size: RetainedSize, now: number): boolean {
    if (!this.#fits(topic, size)) this.#dropExpired(topic, now);
    if (!this.#fits(topic, size)) return false;
    this.release(topic);
    this.#sizes.set(topic, size);
    this.#bytes += size.bytes;
    return true;
  }

  #fits(topic: string, { bytes }: RetainedSize): boolean {
    const before = this.#sizes.get(topic);
    if (before === undefined && this.#sizes.size >= this.#limits.retainedTopics) return false;
    return this.#bytes - (before?.bytes ?? 0) + bytes <= this.#limits.retainedBytes;
  }

  #dropExpired(present: string, now: number): void {
    for (const [topic, { until }] of this.#sizes) {
      if (until > now || topic === present) continue;
      this.release(topic);
      this.#drop(topic);
    }
  }

  /** Releases a topic that was cleared, or overwritten by the bridge. */
  release(topic: string): void {
    this.#bytes -= this.#sizes.get(topic)?.bytes ?? 0;
    this.#sizes.delete(topic);
  }
}

/** The identity of a client after its login. */
interface Identity {
  readonly bridge: boolean;
  readonly user: string | null;
  /** By which he was let in; null for the bridge and for one without a login. */
  readonly login: BrokerUser | null;
  readonly rights: Rights;
}

/** The rights of a client whose user is gone. */
const noRights: Rights = { mayPublish: () => false, maySubscribe: () => false };

// No client may subscribe to it, as it lies in the server's tree.
const discarded = "$discarded";
// What happened, and the setting that decides about it.
type Reason = readonly [string, string];
const forbidden: Reason = ["discarded a publish that is not allowed", "broker.users[].publish"];
const retainedFull: Reason = [
  "discarded a publish, because clients have too much retained: clear what needs not be",
  "broker.limits.retained_topics",
];
const forbiddenFilter: Reason = ["refused a subscription that is not allowed", "broker.users[].subscribe"];
const filtersFull: Reason = [
  "refused a subscription, because its filter is too long or its client holds too many: a filter with wildcards stands for many",
  "broker.limits.filters or filter_length",
];
/** Commands always carry their sender and age; other messages only after this delay. */
const noticeableMs = 1_000;
// One line for each client and topic is enough, and a flood must not fill memory or log.
const maxRemarks = 200;

/**
 * Decides about every publish, subscription and delivery. A forbidden publish is acknowledged, dropped and counted:
 * MQTT 3.1.1 knows no error but closing, which would disconnect Home Assistant for its birth message.
 */
export class Acl {
  readonly #parts: BrokerParts;
  readonly #identities = new WeakMap<Client, Identity>();
  readonly #retained: RetainedShare;
  readonly #remarks = new Set<string>();
  readonly #commands: readonly string[];

  /** `drop` removes a retained message from the store. */
  constructor(parts: BrokerParts, drop: (topic: string) => void) {
    this.#parts = parts;
    this.#retained = new RetainedShare(parts.limits, drop);
    this.#commands = commandFilters(parts.settings.topics);
  }

  identityOf(client: Client): Identity | null {
    return this.#identities.get(client) ?? null;
  }

  userOf(client: Client | null): string | null {
    return (client && this.identityOf(client)?.user) ?? null;
  }

  isBridge(client: Client): boolean {
    return this.#identities.get(client)?.bridge ?? false;
  }

  admitBridge(client: Client): void {
    this.#identities.set(client, { bridge: true, user: null, login: null, rights: bridgeRights });
  }

  admit(client: Client, user: BrokerUser | null): void {
    const rights = rightsOf(user ?? this.#parts.settings.anonymous ?? null, this.#parts.settings.topics);
    this.#identities.set(client, { bridge: false, user: user?.username ?? null, login: user, rights });
  }

  /** What its will may still say is decided by what the user may do now. */
  dismiss(client: Client, now: BrokerUser | null): void {
    const identity = this.identityOf(client);
    if (identity === null) return;
    const rights = now === null ? noRights : rightsOf(now, this.#parts.settings.topics);
    this.#identities.set(client, { ...identity, rights });
  }

  /** Changes `packet`, a publish or a will, into what subscribers may get, or into one that goes nowhere. */
  publish(client: Client | null, packet: PublishPacket): void {
    const identity = client && this.identityOf(client);
    // The flag is between sender and broker; with QoS 0 it would make subscribers' packets malformed.
    packet.dup = false;
    if (packet.properties) packet.properties = publishProperties(packet.properties);
    const allowed = identity?.rights.mayPublish(packet.topic, packet.payload.length) ?? false;
    if (!client || !identity || !allowed || !this.#mayRetain(identity, packet)) {
      this.#parts.tally.discardedPublishes += 1;
      this.#remark(client, packet.topic, ...(allowed ? retainedFull : forbidden));
      packet.topic = discarded;
      packet.payload = Buffer.alloc(0);
      packet.retain = false;
      delete packet.properties;
      return;
    }
    if (identity.bridge) return;
    const { arrivals, clock } = this.#parts;
    const since = arrivals.since(packet);
    if (!this.#isCommand(packet.topic) && clock.monotonic() - since < noticeableMs) return;
    const via = { client: client.id, user: identity.user };
    packet.properties = {
      ...packet.properties,
      userProperties: { ...packet.properties?.userProperties, ...stamp(via, since) },
    };
  }

  maySubscribe(client: Client, subscription: Subscription): boolean {
    const identity = this.identityOf(client);
    const allowed = identity?.rights.maySubscribe(subscription.topic) ?? false;
    if (allowed && (identity?.bridge || this.#parts.filters.take(client, subscription))) {
      this.#parts.filters.grant(client, subscription);
      return true;
    }
    this.#parts.tally.refusedSubscriptions += 1;
    this.#remark(client, subscription.topic, ...(allowed ? filtersFull : forbiddenFilter));
    return false;
  }

  /**
   * The packet as a client gets it: with at most the granted QoS, and without a command's sender, which only the bridge
   * may see.
   */
  forward<P extends PublishPacket>(client: Client, given: P, granted: GrantedFilters): P {
    const qos = grantedQos(given, granted);
    const packet = qos === given.qos ? given : { ...given, qos };
    const { properties } = packet;
    if (properties?.userProperties?.[viaProperty] === undefined || this.isBridge(client)) return packet;
    return {
      ...packet,
      properties: { ...properties, userProperties: claimOf(properties.userProperties) },
    };
  }

  #isCommand(topic: string): boolean {
    return this.#commands.some((filter) => filterCovers(filter, topic));
  }

  /** Counts the retained topics of clients; a topic that the bridge overwrites becomes its own. */
  #mayRetain(identity: Identity, packet: PublishPacket): boolean {
    if (!packet.retain) return true;
    if (!identity.bridge && packet.payload.length > 0) {
      const now = this.#parts.clock.now();
      const seconds = packet.properties?.messageExpiryInterval ?? 0;
      const until = seconds > 0 ? now + seconds * 1_000 : Infinity;
      return this.#retained.take(packet.topic, { bytes: bytesOf(packet), until }, now);
    }
    this.#retained.release(packet.topic);
    return true;
  }

  #remark(client: Client | null, topic: string, what: string, remedy: string): void {
    const who = { client: shownId(client), user: this.userOf(client) };
    const key = `${what} ${who.client ?? ""} ${topic}`;
    if (this.#remarks.has(key) || this.#remarks.size >= maxRemarks) return;
    this.#remarks.add(key);
    this.#parts.log.info({ ...who, topic: topic.slice(0, 128) }, `${what}; ${remedy} decides`);
  }
}

/** The client's id; null before its CONNECT is accepted, as aedes passes on what it sends before. */
function shownId(client: Client | null): string | null {
  const id: unknown = client?.id;
  return typeof id === "string" ? id.slice(0, 64) : null;
}

/** A connection's filters as aedes keeps them. */
export type GrantedFilters = Readonly<Record<string, { readonly qos?: QoS }>>;

/** The granted QoS. aedes applies it only for a filter that equals the topic. */
function grantedQos({ topic, qos }: Pick<PublishPacket, "topic" | "qos">, granted: GrantedFilters): QoS {
  if (qos === 0 || topic in granted) return qos;
  const matching = Object.keys(granted).filter((filter) => filterCovers(filter, topic));
  // A shared subscription has no entry here.
  if (matching.length === 0) return qos;
  return matching.reduce<QoS>((best, filter) => {
    const one = granted[filter]?.qos ?? 0;
    return one > best && one <= qos ? one : best;
  }, 0);
}

type QoS = PublishPacket["qos"];
type Properties = NonNullable<PublishPacket["properties"]>;

/**
 * Keeps the properties that belong into a PUBLISH. aedes forwards any others too, even a will's delay, and a wrong
 * property makes correct subscribers disconnect.
 */
function publishProperties(given: Properties): Properties {
  const { payloadFormatIndicator, messageExpiryInterval, responseTopic, correlationData, contentType } =
    given;
  // With an empty set of user properties the packet library silently sends nothing.
  const userProperties = claimOf(given.userProperties);
  return {
    ...(typeof payloadFormatIndicator === "boolean" && { payloadFormatIndicator }),
    ...(typeof messageExpiryInterval === "number" && { messageExpiryInterval }),
    ...(typeof responseTopic === "string" && !/[#+\0]/.test(responseTopic) && { responseTopic }),
    ...(Buffer.isBuffer(correlationData) && { correlationData: ownBytes(correlationData) }),
    ...(typeof contentType === "string" && { contentType }),
    ...(userProperties && { userProperties }),
  };
}
