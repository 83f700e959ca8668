import type { Readable } from "node:stream";
import type { HeldFilters } from "./held-filters.js";
import { type RetainedPacket, RetainedStore } from "./retained-store.js";
import { type QueuedMessage, type QueuedPacket, SessionQueues } from "./session-queues.js";
import type { BrokerLimits } from "./settings.js";

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

export interface StoreParts {
  readonly limits: BrokerLimits;
  readonly filters: HeldFilters;
  readonly isConnected: (clientId: string) => boolean;
  readonly dropped: (count: number) => void;
}

/**
 * Bounds what a persistent session, or a QoS 2 sender that never finishes, can make the broker keep. The methods are
 * replaced in place, because aedes wants a store of two dozen methods of which only these matter here.
 */
export function boundStore(
  store: Store,
  parts: StoreParts,
): { readonly disconnected: (clientId: string) => void } {
  const queues = new SessionQueues(parts.limits, parts.dropped);
  useQueues(store, queues);
  countFilters(store, parts.filters);
  boundSessions(store, parts, queues);
  useRetained(store);
  return boundUnfinished(store);
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
    queues.sent(client.id, packet) ? Promise.resolve() : Promise.reject(new Error("no such packet"));
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
 * they would bring their messages when the session returns.
 */
function countFilters(store: Store, held: HeldFilters): void {
  const add = store.addSubscriptions.bind(store);
  const remove = store.removeSubscriptions.bind(store);
  const clean = store.cleanSubscriptions.bind(store);
  store.addSubscriptions = (client) => {
    const granted = held.takeGranted(client);
    return granted === null ? Promise.resolve() : add(client, [granted]);
  };
  store.removeSubscriptions = (client, filters) => {
    held.sessionDropped(client.id, filters);
    return remove(client, filters);
  };
  store.cleanSubscriptions = (client) => {
    held.sessionEnded(client.id);
    return clean(client);
  };
}

/** Sessions of 3.1.1 never expire, so the one longest away goes when there are more than there may be clients. */
function boundSessions(
  store: Store,
  { limits: { clients }, isConnected }: StoreParts,
  queues: SessionQueues,
): void {
  const sessions = new Set<string>();
  const add = store.addSubscriptions.bind(store);
  const clean = store.cleanSubscriptions.bind(store);
  store.addSubscriptions = async (client, subscriptions) => {
    sessions.delete(client.id);
    sessions.add(client.id);
    const away = sessions.size > clients ? [...sessions].find((id) => !isConnected(id)) : undefined;
    if (away !== undefined) {
      await store.cleanSubscriptions({ id: away });
      queues.forget(away);
    }
    return add(client, subscriptions);
  };
  store.cleanSubscriptions = (client) => {
    sessions.delete(client.id);
    return clean(client);
  };
}

/** Also forgets them when a client leaves, so that its next session may use the same packet ids. */
function boundUnfinished(store: Store): { readonly disconnected: (clientId: string) => void } {
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
    return remove(client, packet).catch(() => undefined);
  };
  return {
    disconnected: (clientId) => {
      const ids = unfinished.get(clientId) ?? [];
      unfinished.delete(clientId);
      for (const messageId of ids) void remove({ id: clientId }, { messageId }).catch(() => undefined);
    },
  };
}
