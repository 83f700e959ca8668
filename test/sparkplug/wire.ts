import tahu from "sparkplug-payload/lib/sparkplugPayloadProto.js";

/* What an edge node wrote on the wire, read here a second time: packets by their bytes, payloads by the specification's own schema. */

type Proto = ReturnType<typeof tahu.org.eclipse.tahu.protobuf.Payload.decode>;
export type ProtoMetric = Proto["metrics"][number];

export interface Told {
  readonly type: "told";
  readonly topic: string;
  readonly verb: string;
  readonly device: string | null;
  readonly qos: number;
  readonly retain: boolean;
  readonly payload: Proto;
}

export type Packet =
  | {
      readonly type: "connect";
      readonly version: number;
      readonly isClean: boolean;
      readonly expiryS: number;
      readonly will: {
        readonly topic: string;
        readonly qos: number;
        readonly retain: boolean;
        readonly payload: Proto;
      };
    }
  | {
      readonly type: "subscribe";
      readonly filters: readonly { readonly filter: string; readonly qos: number }[];
    }
  | Told
  | { readonly type: "disconnect"; readonly reason: number }
  /** What happened meanwhile, beside the link. */
  | { readonly type: "note"; readonly text: string };

export const valueOf = (metric: ProtoMetric): unknown =>
  Object.entries(metric).find(([field]) => field.endsWith("Value"))?.[1];
export const has = (message: object, field: string): boolean => Object.hasOwn(message, field);

const decode = (bytes: Buffer) => tahu.org.eclipse.tahu.protobuf.Payload.decode(bytes);

/** Bytes of one packet from its second part on. */
class Reader {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  take(length: number): Buffer {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte = () => this.take(1).readUInt8();
  sized = () => this.take(this.take(2).readUInt16BE());
  rest = () => this.take(this.#bytes.length - this.#at);

  variable(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}

/** Takes the bytes of one client, which may connect again, and keeps its packets. */
export class Recorder {
  readonly packets: Packet[] = [];
  #bytes = Buffer.alloc(0);
  #version = 5;

  readonly heard = (bytes: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (let length = this.#whole(); length !== null; length = this.#whole()) {
      this.#take(this.#bytes.subarray(0, length));
      this.#bytes = this.#bytes.subarray(length);
    }
  };

  note(text: string): void {
    this.packets.push({ type: "note", text });
  }

  get told(): readonly Told[] {
    return this.packets.filter((packet) => packet.type === "told");
  }

  #whole(): number | null {
    let length = 0;
    for (let at = 1; at < Math.min(5, this.#bytes.length); at += 1) {
      const byte = this.#bytes.readUInt8(at);
      length += (byte & 0x7f) << (7 * (at - 1));
      if (byte < 0x80) return this.#bytes.length > at + length ? at + 1 + length : null;
    }
    return null;
  }

  #take(packet: Buffer): void {
    const reader = new Reader(packet);
    const first = reader.byte();
    reader.variable();
    const type = first >> 4;
    if (type === 1) this.packets.push(this.#connect(reader));
    else if (type === 3) this.packets.push(this.#publish(reader, first));
    else if (type === 8) this.packets.push(this.#subscribe(reader));
    else if (type === 14)
      this.packets.push({ type: "disconnect", reason: reader.isAtEnd ? 0 : reader.byte() });
  }

  #properties(reader: Reader): Buffer {
    return this.#version === 5 ? reader.take(reader.variable()) : Buffer.alloc(0);
  }

  #connect(reader: Reader): Packet {
    reader.sized();
    this.#version = reader.byte();
    const flags = reader.byte();
    reader.take(2);
    const properties = this.#properties(reader);
    reader.sized();
    this.#properties(reader);
    const topic = reader.sized().toString();
    const payload = decode(reader.sized());
    const will = { topic, qos: (flags >> 3) & 3, retain: (flags & 0x20) !== 0, payload };
    // The first property is the expiry of the session where there is one.
    const expiryS = properties[0] === 0x11 ? properties.readUInt32BE(1) : 0;
    return { type: "connect", version: this.#version, isClean: (flags & 2) !== 0, expiryS, will };
  }

  #publish(reader: Reader, first: number): Packet {
    const topic = reader.sized().toString();
    const qos = (first >> 1) & 3;
    if (qos > 0) reader.take(2);
    this.#properties(reader);
    const [, , verb = "", , device = null] = topic.split("/");
    return {
      type: "told",
      topic,
      verb,
      device,
      qos,
      retain: (first & 1) !== 0,
      payload: decode(reader.rest()),
    };
  }

  #subscribe(reader: Reader): Packet {
    reader.take(2);
    this.#properties(reader);
    const filters: { filter: string; qos: number }[] = [];
    while (!reader.isAtEnd) filters.push({ filter: reader.sized().toString(), qos: reader.byte() & 3 });
    return { type: "subscribe", filters };
  }
}
