import { Readable } from "node:stream";
import type { PublishPacket } from "aedes";
import { bytesOf, emptyPacketBytes, owned } from "./packet-bytes.js";
import type { BrokerLimits } from "./settings.js";

/** A message that was published, or from then on the release of one of QoS 2. */
export interface QueuedPacket {
  readonly cmd: string;
  /** Given when it is sent. */
  messageId?: number;
  /** The broker's own number of a message. */
  readonly brokerCounter?: number;
}

export type QueuedMessage = QueuedPacket & Pick<PublishPacket, "topic" | "payload" | "properties">;

interface Queue {
  readonly entries: { packet: QueuedPacket; bytes: number }[];
  bytes: number;
}

/**
 * What persistent sessions have yet to acknowledge, in place of aedes' own queues, which know no bounds. Bounded for each
 * session by number, and by bytes so that none holds more than is still free: one that never comes back leaves half of
 * the room to the others. What does not fit is not kept.
 */
export class SessionQueues {
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
    const kept = { ...message, payload: owned(message.payload), messageId: undefined };
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
  sent(clientId: string, packet: QueuedPacket): boolean {
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
