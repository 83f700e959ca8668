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
  outgoingEnqueueCombi(subscribers: readonly Subscriber[], packet: Packet): Promise<unknown>;
  outgoingClearMessageId(client: ClientRef, packet: Packet): Promise<Packet | undefined>;
  incomingStorePacket(client: ClientRef, packet: Packet): Promise<unknown>;
  incomingDelPacket(client: ClientRef, packet: Packet): Promise<unknown>;
  addSubscriptions(client: ClientRef, subscriptions: unknown): Promise<unknown>;
  cleanSubscriptions(client: ClientRef): Promise<unknown>;
}

// QoS 2 messages a client may begin without finishing them.
const maxUnfinished = 1_000;

/**
 * Bounds what a persistent session, or a QoS 2 sender that never finishes, can make the broker keep. The methods are
 * replaced in place, because aedes wants a store of two dozen methods of which only these matter here.
 */
export function boundStore(
  store: Store,
  limits: BrokerLimits,
  watch: { readonly isConnected: (clientId: string) => boolean; readonly dropped: (count: number) => void },
): { readonly disconnected: (clientId: string) => void } {
  boundQueues(store, limits, watch.dropped);
  boundSessions(store, limits, watch.isConnected);
  return boundUnfinished(store);
}

function boundQueues(
  store: Store,
  { sessionMessages }: BrokerLimits,
  dropped: (count: number) => void,
): void {
  const queued = new Map<string, number>();
  const enqueue = store.outgoingEnqueueCombi.bind(store);
  const clear = store.outgoingClearMessageId.bind(store);
  store.outgoingEnqueueCombi = (subscribers, packet) => {
    const room = subscribers.filter(({ clientId }) => (queued.get(clientId) ?? 0) < sessionMessages);
    for (const { clientId } of room) queued.set(clientId, (queued.get(clientId) ?? 0) + 1);
    if (room.length < subscribers.length) dropped(subscribers.length - room.length);
    return enqueue(room, packet);
  };
  store.outgoingClearMessageId = async (client, packet) => {
    const cleared = await clear(client, packet);
    const count = queued.get(client.id) ?? 0;
    if (cleared !== undefined && count > 1) queued.set(client.id, count - 1);
    else if (cleared !== undefined) queued.delete(client.id);
    return cleared;
  };
}

/** Sessions of 3.1.1 never expire, so the one longest away goes when there are more than there may be clients. */
function boundSessions(
  store: Store,
  { clients }: BrokerLimits,
  isConnected: (clientId: string) => boolean,
): void {
  const sessions = new Set<string>();
  const add = store.addSubscriptions.bind(store);
  const clean = store.cleanSubscriptions.bind(store);
  store.addSubscriptions = async (client, subscriptions) => {
    sessions.delete(client.id);
    sessions.add(client.id);
    const away = sessions.size > clients ? [...sessions].find((id) => !isConnected(id)) : undefined;
    if (away !== undefined) await forget({ id: away });
    return add(client, subscriptions);
  };
  store.cleanSubscriptions = (client) => {
    sessions.delete(client.id);
    return clean(client);
  };
  const forget = async (client: ClientRef) => {
    await store.cleanSubscriptions(client);
    // What was queued for an absent session has no packet id yet.
    while ((await store.outgoingClearMessageId(client, {})) !== undefined);
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
    // Only whether the id is known is ever asked for.
    return keep(client, { ...packet, payload: Buffer.alloc(0) });
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
