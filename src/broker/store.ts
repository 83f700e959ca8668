import { ignored } from "../runtime/failures.js";
import { Readable } from "node:stream";
import type { PublishPacket } from "aedes";
import { nextTurn } from "../runtime/clock.js";
import { filterCovers } from "../runtime/mqtt.js";
import type { BrokerParts } from "./filters.js";
import type { BrokerLimits } from "./settings.js";

/** Roughly what the objects of a message without content take; were it nothing, empty messages could be kept without end. */
export const emptyPacketBytes = 512;

// A short text in an object, beside its characters.
const textOverhead = 64;

const textBytes = (text: string | undefined) => (text === undefined ? 0 : textOverhead + 2 * text.length);

/** What keeping a message costs. Properties count too: a packet may consist of nothing else. */
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

/** Bytes to keep: a view of what the socket read would hold all of it in memory, up to 64 KiB for one byte. */
export function ownBytes<T extends string | Buffer>(bytes: T): T | Buffer {
  if (typeof bytes === "string" || bytes.byteLength === bytes.buffer.byteLength) return bytes;
  return Buffer.from(new Uint8Array(bytes).buffer);
}

/** A retained message as aedes keeps it. */
interface RetainedPacket {
  readonly topic: string;
  readonly payload: Buffer;
}

// Some milliseconds' worth.
const matchesAtOnce = 500;

/**
 * Retained messages, in place of aedes' own: that one tries every filter of a SUBSCRIBE on every topic in one go, which
 * stops the whole process for seconds when a client subscribes to a thousand topics one by one. Here a filter without
 * wildcards is looked up, and the others let everything else run in between.
 */
export class RetainedStore {
  readonly #packets = new Map<string, RetainedPacket>();

  /** An empty payload clears. */
  store(packet: RetainedPacket): void {
    if (packet.payload.length === 0) this.#packets.delete(packet.topic);
    else this.#packets.set(packet.topic, { ...packet, payload: ownBytes(packet.payload) });
  }

  /** What each filter matches; twice what two of them match. */
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

/** A message that was published, or from then on the release of one of QoS 2. */
interface QueuedPacket {
  readonly cmd: string;
  /** Given when it is sent. */
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
 * What persistent sessions have yet to acknowledge, in place of aedes' own queues, which know no bounds. Bounded for each
 * session by number, and by bytes so that none holds more than is still free: one that never comes back leaves half of
 * the room to the others. What does not fit is not kept.
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
   * A session whose filters overlap is named once for each: aedes then claims one entry for what it sends, and takes out the
   * others when it finds that the message was sent already.
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

  /** Notes under which id a message was sent, or that only its release is still to come; false where it is not kept. */
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

  /** Takes out the one with this id; without an id, the last of this message that was not sent. */
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

  /** What is kept now, oldest first; for a session that comes back, to which nothing was sent meanwhile. */
  stream(clientId: string): Readable {
    const queue = this.#queues.get(clientId);
    if (queue) this.#keepOneOfEach(queue);
    return Readable.from((queue?.entries ?? []).map(({ packet }) => packet));
  }

  /** Of filters that overlapped while it was away one entry is enough: the message is sent once. */
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

/** The methods of aedes' in-memory store that let clients make it grow. */
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

// QoS 2 messages a client may begin without finishing them.
const maxUnfinished = 1_000;

/** The user of a connection; null for one without. */
type UserOf = (client: ClientRef) => string | null;

export interface Sessions {
  /** Ends a session of this id that another user left: what it would still get is not for this one. Call it before the client is let in. */
  claim(clientId: string, user: string | null): Promise<void>;
  /** Call it for a client that leaves no session behind. */
  onDisconnected(clientId: string): void;
}

/**
 * Bounds what a persistent session, or a QoS 2 sender that never finishes, can make the broker keep. The methods are
 * replaced in place, because aedes wants a store of two dozen methods of which only these matter here.
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
  return {
    onDisconnected,
    claim: async (id, user) => {
      const owner = owners.get(id);
      if (owner === undefined || owner === user) return;
      onDisconnected(id);
      queues.forget(id);
      await store.cleanSubscriptions({ id });
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
  // aedes ends the connection then: a client that acknowledges nothing is cut off once its session is full.
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
 * aedes hands over all filters of a SUBSCRIBE each time that one of them is granted, those that are not allowed too: kept,
 * they would bring their messages when the session returns. Sessions of 3.1.1 never expire, so the one longest away goes
 * when there are more than there may be clients. Returns whose each session is.
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

/** Also forgets them when a client leaves, so that its next session may use the same packet ids. */
function boundUnfinished(store: Store): { readonly onDisconnected: (clientId: string) => void } {
  const unfinished = new Map<string, Set<number>>();
  const keep = store.incomingStorePacket.bind(store);
  const remove = store.incomingDelPacket.bind(store);
  store.incomingStorePacket = async (client, packet) => {
    const ids = unfinished.get(client.id) ?? new Set();
    if (ids.size >= maxUnfinished) throw new Error(`more than ${maxUnfinished} unfinished QoS 2 messages`);
    unfinished.set(client.id, ids.add(packet.messageId ?? 0));
    // Only whether the id is known is ever asked for, so topic, payload and properties need not be kept.
    return keep(client, { messageId: packet.messageId, payload: Buffer.alloc(0) });
  };
  store.incomingDelPacket = (client, packet) => {
    unfinished.get(client.id)?.delete(packet.messageId ?? 0);
    // Of two PUBRELs in one breath the second finds nothing, and aedes catches no error here: it would end the process.
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
