import { Readable } from "node:stream";
import { nextTurn } from "../runtime/clock.js";
import { owned } from "./packet-bytes.js";
import { topicMatches } from "./topic-filter.js";

/** A retained message as aedes keeps it. */
export interface RetainedPacket {
  readonly topic: string;
  readonly payload: Buffer;
}

// Some milliseconds' worth.
const matchesAtOnce = 500;

/**
 * Retained messages, in place of aedes' own: that one tries every filter of a SUBSCRIBE on every topic in one go, which
 * stops the whole process for seconds when somebody subscribes to a thousand topics one by one. Here a filter without
 * wildcards is looked up, and the others let everything else run in between.
 */
export class RetainedStore {
  readonly #packets = new Map<string, RetainedPacket>();

  /** An empty payload clears. */
  store(packet: RetainedPacket): void {
    if (packet.payload.length === 0) this.#packets.delete(packet.topic);
    else this.#packets.set(packet.topic, { ...packet, payload: owned(packet.payload) });
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
        if (topicMatches(filter, packet.topic)) yield packet;
      }
    }
  }

  #exactly(topic: string): readonly RetainedPacket[] {
    const packet = this.#packets.get(topic);
    return packet === undefined ? [] : [packet];
  }
}
