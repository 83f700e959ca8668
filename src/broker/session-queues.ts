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

  add(clientIds: readonly string[], message: QueuedMessage): void {
    if (clientIds.length === 0) return;
    const bytes = bytesOf(message);
    const kept = { ...message, payload: owned(message.payload), messageId: undefined };
    // Filters that overlap name a session several times, but a message is sent to it once.
    const sessions = [...new Set(clientIds)];
    const full = sessions.filter((clientId) => !this.#keep(clientId, { packet: { ...kept }, bytes }));
    if (full.length > 0) this.#dropped(full.length);
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

  /** Takes out the oldest with this id; without one, the oldest that was never sent. */
  remove(clientId: string, messageId: number | undefined): QueuedPacket | undefined {
    const queue = this.#queues.get(clientId);
    const index = queue?.entries.findIndex(({ packet }) => packet.messageId === messageId) ?? -1;
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

  /** What is kept now, oldest first. */
  stream(clientId: string): Readable {
    return Readable.from((this.#queues.get(clientId)?.entries ?? []).map(({ packet }) => packet));
  }

  #free(queue: Queue, bytes: number): void {
    queue.bytes -= bytes;
    this.#bytes -= bytes;
  }
}
