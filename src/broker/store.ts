import { ignored } from "../runtime/failures.js";
import { Readable } from "node:stream";
import type { PublishPacket } from "aedes";
import { nextTurn } from "../runtime/clock.js";
import { filterCovers } from "../runtime/mqtt.js";
import type { BrokerParts } from "./filters.js";
import type { BrokerLimits } from "./settings.js";

/** Rough size of a message's objects without content; counted as nothing, empty messages could be kept without end. */
export const emptyPacketBytes = 512;

// The size of a short text in an object, beside its characters.
const textOverhead = 64;

const textBytes = (text: string | undefined) => (text === undefined ? 0 : textOverhead + 2 * text.length);

/** The memory that a kept message takes. Properties count too, as a packet may consist of nothing else. */
export function bytesOf({
  topic,
  payload,
  properties = {},
}: Pick<PublishPacket, "topic" | "payload" | "properties">): number {
  const { responseTopic, contentType, correlationData, userProperties = {} } = properties;
  const users = Object.entries(userProperties).flatMap(([name, value]) => [name, value].flat());
  const texts = [topic, responseTopic, contentType, ...users];
  return texts.reduce(
    (sum, text) => sum + textBytes(text),
    emptyPacketBytes + payload.length + (correlationData?.length ?? 0),
  );
}

/** A copy of bytes for keeping: a view would hold the socket's whole buffer in memory, up to 64 KiB for one byte. */
export function ownBytes<T extends string | Buffer>(bytes: T): T | Buffer {
  if (typeof bytes === "string" || bytes.byteLength === bytes.buffer.byteLength) return bytes;
  return Buffer.from(new Uint8Array(bytes).buffer);
}

/** A retained message as aedes keeps it. */
interface RetainedPacket {
  readonly topic: string;
  readonly payload: Buffer;
}

// A few milliseconds of work.
const matchesAtOnce = 500;

/**
 * Retained messages, instead of aedes' own store. That one matches every filter of a SUBSCRIBE with every topic in one
 * go and stops the process for seconds when a client subscribes to a thousand topics. Here a filter without wildcards
 * is looked up, and others leave time for everything else.
 */
export class RetainedStore {
  readonly #packets = new Map<string, RetainedPacket>();

  /** An empty payload clears the topic. */
  store(packet: RetainedPacket): void {
    if (packet.payload.length === 0) this.#packets.delete(packet.topic);
    else this.#packets.set(packet.topic, { ...packet, payload: ownBytes(packet.payload) });
  }

  /** The messages that the filters match; one that matches two filters comes twice. */
  stream(filters: readonly string[]): Readable {
    return Readable.from(this.#matching(filters));
  }

  async *#matching(filters: readonly string[]): AsyncGenerator<RetainedPacket> {
    let tried = 0;
    for (const filter of filters) {
      const packets = /[+#]/.test(filter) ? this.#packets.values() : this.#exactly(filter);
      for (const packet of packets) {
        tried += 1;
        if (tried % matchesAtOnce === 0) await nextTurn();
        if (filterCovers(filter, packet.topic)) yield packet;
      }
    }
  }

  #exactly(topic: string): readonly RetainedPacket[] {
    const packet = this.#packets.get(topic);
    return packet === undefined ? [] : [packet];
  }
}

/** A published message, which QoS 2 later replaces by its release. */
interface QueuedPacket {
  readonly cmd: string;
  /** Set when the message is sent. */
  messageId?: number;
  /** The broker's own number of a message. */
  readonly brokerCounter?: number;
}

type QueuedMessage = QueuedPacket & Pick<PublishPacket, "topic" | "payload" | "properties">;

interface Queue {
  readonly entries: { packet: QueuedPacket; bytes: number }[];
  bytes: number;
}

/**
 * Unacknowledged messages of persistent sessions, instead of aedes' own queues, which have no bounds. Each session has
 * a bound by number, and may hold at most as many bytes as are still free. So a session that never returns leaves half
 * of the room to others. Messages beyond the bounds are dropped.
 */
class SessionQueues {
  readonly #limits: Pick<BrokerLimits, "sessionMessages" | "sessionBytes">;
  readonly #dropped: (count: number) => void;
  readonly #queues = new Map<string, Queue>();
  #bytes = 0;

  constructor(
    limits: Pick<BrokerLimits, "sessionMessages" | "sessionBytes">,
    dropped: (count: number) => void,
  ) {
    this.#limits = limits;
    this.#dropped = dropped;
  }

  /**
   * Queues a message. A session with overlapping filters is named once for each: aedes sends one entry, and removes the
   * others when it finds that the message was sent.
   */
  add(clientIds: readonly string[], message: QueuedMessage): void {
    if (clientIds.length === 0) return;
    const bytes = bytesOf(message);
    const kept = { ...message, payload: ownBytes(message.payload), messageId: undefined };
    const named = new Set<string>();
    const full = clientIds.filter((clientId) => {
      const weight = named.has(clientId) ? emptyPacketBytes : bytes;
      named.add(clientId);
      return !this.#keep(clientId, { packet: { ...kept }, bytes: weight });
    });
    if (full.length > 0) this.#dropped(new Set(full).size);
  }

  #keep(clientId: string, entry: { packet: QueuedPacket; bytes: number }): boolean {
    const queue = this.#queues.get(clientId) ?? { entries: [], bytes: 0 };
    const { sessionMessages, sessionBytes } = this.#limits;
    const free = sessionBytes - this.#bytes;
    if (queue.entries.length >= sessionMessages || queue.bytes + entry.bytes > free) return false;
    this.#queues.set(clientId, queue);
    queue.entries.push(entry);
    queue.bytes += entry.bytes;
    this.#bytes += entry.bytes;
    return true;
  }

  /** Notes the id under which a message was sent, or that only its release is left; false where it is not kept. */
  onSent(clientId: string, packet: QueuedPacket): boolean {
    const queue = this.#queues.get(clientId);
    const isRelease = packet.cmd === "pubrel";
    const entry = queue?.entries.find(({ packet: kept }) =>
      isRelease ? kept.messageId === packet.messageId : kept.brokerCounter === packet.brokerCounter,
    );
    if (!queue || !entry) return false;
    if (isRelease) {
      this.#free(queue, entry.bytes - emptyPacketBytes);
      entry.bytes = emptyPacketBytes;
      entry.packet = packet;
    } else entry.packet.messageId = packet.messageId;
    return true;
  }

  /** Removes the entry with this id; without an id, the last unsent entry of this message. */
  remove(
    clientId: string,
    { messageId, brokerCounter }: Pick<QueuedPacket, "messageId" | "brokerCounter">,
  ): QueuedPacket | undefined {
    const queue = this.#queues.get(clientId);
    const isMeant = ({ packet }: { readonly packet: QueuedPacket }) =>
      packet.messageId === messageId && (messageId !== undefined || packet.brokerCounter === brokerCounter);
    const index = queue?.entries.findLastIndex(isMeant) ?? -1;
    const [entry] = index < 0 ? [] : (queue?.entries.splice(index, 1) ?? []);
    if (!queue || !entry) return undefined;
    this.#free(queue, entry.bytes);
    if (queue.entries.length === 0) this.#queues.delete(clientId);
    return entry.packet;
  }

  forget(clientId: string): void {
    this.#bytes -= this.#queues.get(clientId)?.bytes ?? 0;
    this.#queues.delete(clientId);
  }

  /** The kept messages, oldest first, for a returning session to which nothing was sent meanwhile. */
  stream(clientId: string): Readable {
    const queue = this.#queues.get(clientId);
    if (queue) this.#keepOneOfEach(queue);
    return Readable.from((queue?.entries ?? []).map(({ packet }) => packet));
  }

  /** Drops duplicates from overlapping filters, so that a message is sent once. */
  #keepOneOfEach(queue: Queue): void {
    const seen = new Set<number>();
    const kept = queue.entries.filter(({ packet: { brokerCounter, messageId }, bytes }) => {
      if (messageId !== undefined || brokerCounter === undefined) return true;
      if (!seen.has(brokerCounter)) return Boolean(seen.add(brokerCounter));
      this.#free(queue, bytes);
      return false;
    });
    queue.entries.splice(0, Infinity, ...kept);
  }

  #free(queue: Queue, bytes: number): void {
    queue.bytes -= bytes;
    this.#bytes -= bytes;
  }
}

interface Packet {
  readonly messageId?: number;
  readonly payload?: unknown;
}
interface ClientRef {
  readonly id: string;
}
interface Subscriber {
  readonly clientId: string;
}

/** Methods of aedes' in-memory store through which clients make it grow. */
export interface Store {
  storeRetained(packet: RetainedPacket): Promise<unknown>;
  createRetainedStreamCombi(filters: readonly string[]): Readable;
  outgoingEnqueue(subscriber: Subscriber, packet: QueuedMessage): Promise<unknown>;
  outgoingEnqueueCombi(subscribers: readonly Subscriber[], packet: QueuedMessage): Promise<unknown>;
  outgoingUpdate(client: ClientRef, packet: QueuedPacket): Promise<unknown>;
  outgoingClearMessageId(client: ClientRef, packet: Packet): Promise<unknown>;
  outgoingStream(client: ClientRef): Readable;
  incomingStorePacket(client: ClientRef, packet: Packet): Promise<unknown>;
  incomingDelPacket(client: ClientRef, packet: Packet): Promise<unknown>;
  addSubscriptions(client: ClientRef, subscriptions: readonly unknown[]): Promise<unknown>;
  removeSubscriptions(client: ClientRef, filters: readonly string[]): Promise<unknown>;
  cleanSubscriptions(client: ClientRef): Promise<unknown>;
}

// QoS 2 messages that a client may leave unfinished.
const maxUnfinished = 1_000;

/** The user of a connection; null for one without. */
type UserOf = (client: ClientRef) => string | null;

export interface Sessions {
  /**
   * Ends a session of this id that belongs to another user, who alone may get its messages. Has to be called before the
   * client is let in.
   */
  claim(clientId: string, user: string | null): Promise<void>;
  /** Ends the sessions of these users. */
  endOf(isGone: (user: string | null) => boolean): Promise<void>;
  /** Has to be called for a client that leaves no session behind. */
  onDisconnected(clientId: string): void;
}

/**
 * Bounds what persistent sessions and unfinished QoS 2 senders make the broker keep. It replaces methods in place, as
 * aedes demands a store of two dozen methods and only these matter here.
 */
export function boundStore(
  store: Store,
  { limits, filters, tally }: Pick<BrokerParts, "limits" | "filters" | "tally">,
  isConnected: (clientId: string) => boolean,
  userOf: UserOf,
): Sessions {
  const queues = new SessionQueues(limits, (count) => {
    tally.droppedForSessions += count;
  });
  useQueues(store, queues);
  const owners = boundSessions(store, { limits, filters, queues }, isConnected, userOf);
  useRetained(store);
  const { onDisconnected } = boundUnfinished(store);
  const end = async (id: string) => {
    onDisconnected(id);
    queues.forget(id);
    await store.cleanSubscriptions({ id });
  };
  return {
    onDisconnected,
    claim: async (id, user) => {
      const owner = owners.get(id);
      if (owner !== undefined && owner !== user) await end(id);
    },
    endOf: async (isGone) => {
      for (const [id, owner] of [...owners]) if (isGone(owner)) await end(id);
    },
  };
}

function useQueues(store: Store, queues: SessionQueues): void {
  store.outgoingEnqueueCombi = (subscribers, packet) => {
    queues.add(
      subscribers.map(({ clientId }) => clientId),
      packet,
    );
    return Promise.resolve();
  };
  store.outgoingEnqueue = (subscriber, packet) => store.outgoingEnqueueCombi([subscriber], packet);
  // aedes then ends the connection: a client that acknowledges nothing is disconnected once its session is full.
  store.outgoingUpdate = (client, packet) =>
    queues.onSent(client.id, packet) ? Promise.resolve() : Promise.reject(new Error("no such packet"));
  store.outgoingClearMessageId = (client, packet) => Promise.resolve(queues.remove(client.id, packet));
  store.outgoingStream = (client) => queues.stream(client.id);
}

function useRetained(store: Store): void {
  const retained = new RetainedStore();
  store.storeRetained = (packet) => {
    retained.store(packet);
    return Promise.resolve();
  };
  store.createRetainedStreamCombi = (filters) => retained.stream(filters);
}

/**
 * Keeps only granted filters: aedes hands over all filters of a SUBSCRIBE, even forbidden ones, whose messages would
 * come when the session returns. Sessions of MQTT 3.1.1 never expire, so beyond the number of clients the one longest
 * away goes. Returns the user of each session.
 */
function boundSessions(
  store: Store,
  { limits, filters, queues }: Pick<BrokerParts, "limits" | "filters"> & { readonly queues: SessionQueues },
  isConnected: (clientId: string) => boolean,
  userOf: UserOf,
): ReadonlyMap<string, string | null> {
  const sessions = new Map<string, string | null>();
  const add = store.addSubscriptions.bind(store);
  const remove = store.removeSubscriptions.bind(store);
  const clean = store.cleanSubscriptions.bind(store);
  store.addSubscriptions = async (client) => {
    const granted = filters.takeGranted(client);
    sessions.delete(client.id);
    sessions.set(client.id, userOf(client));
    const away =
      sessions.size > limits.clients ? [...sessions.keys()].find((id) => !isConnected(id)) : undefined;
    if (away !== undefined) {
      await store.cleanSubscriptions({ id: away });
      queues.forget(away);
    }
    if (granted !== null) await add(client, [granted]);
  };
  store.removeSubscriptions = (client, dropped) => {
    filters.sessionDropped(client.id, dropped);
    return remove(client, dropped);
  };
  store.cleanSubscriptions = (client) => {
    sessions.delete(client.id);
    filters.sessionEnded(client.id);
    return clean(client);
  };
  return sessions;
}

/**
 * Bounds unfinished QoS 2 messages, and forgets a client's when it leaves, so that its next session may reuse packet
 * ids.
 */
function boundUnfinished(store: Store): { readonly onDisconnected: (clientId: string) => void } {
  const unfinished = new Map<string, Set<number>>();
  const keep = store.incomingStorePacket.bind(store);
  const remove = store.incomingDelPacket.bind(store);
  store.incomingStorePacket = async (client, packet) => {
    const ids = unfinished.get(client.id) ?? new Set();
    if (ids.size >= maxUnfinished) throw new Error(`more than ${maxUnfinished} unfinished QoS 2 messages`);
    unfinished.set(client.id, ids.add(packet.messageId ?? 0));
    // aedes only asks whether the id is known, so topic, payload and properties are not kept.
    return keep(client, { messageId: packet.messageId, payload: Buffer.alloc(0) });
  };
  store.incomingDelPacket = (client, packet) => {
    unfinished.get(client.id)?.delete(packet.messageId ?? 0);
    // Of two PUBRELs at once the second finds nothing; aedes does not catch that error, which would end the process.
    return remove(client, packet).catch(ignored);
  };
  return {
    onDisconnected: (clientId) => {
      const ids = unfinished.get(clientId) ?? [];
      unfinished.delete(clientId);
      for (const messageId of ids) void remove({ id: clientId }, { messageId }).catch(ignored);
    },
  };
}
