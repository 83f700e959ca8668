import { EventEmitter, once } from "node:events";
import type { Duplex } from "node:stream";
import {
  acknowledgePacket,
  type Asked,
  type Connect,
  connectPacket,
  decode,
  frameOf,
  pingPacket,
  type Property,
  type Publish,
  publishPacket,
  type Received,
  subscribePacket,
  type Version,
} from "./packets.js";

export type Of<Type extends Received["type"]> = Received & { readonly type: Type };

const waitMs = 15_000;
let fences = 0;

/** A client of which every packet is a test's own: it answers nothing by itself. */
export class Peer {
  readonly version: Version;
  readonly #stream: Duplex;
  readonly #inbox: Received[] = [];
  readonly #news = new EventEmitter();
  #bytes = Buffer.alloc(0);
  #fault: Error | null = null;
  #isOver = false;
  #lastId = 0;

  constructor(stream: Duplex, version: Version) {
    this.version = version;
    this.#stream = stream;
    stream.on("data", (data: Buffer) => this.#take(data));
    stream.on("error", () => undefined);
    stream.on("close", () => {
      this.#isOver = true;
      this.#news.emit("news");
    });
  }

  send(...packets: readonly (readonly number[])[]): void {
    this.#stream.write(Buffer.from(packets.flat()));
  }

  /** Ends the connection without a DISCONNECT. */
  drop(): void {
    this.#stream.destroy();
  }

  /** The next packet, which must be of this type. */
  async next<Type extends Received["type"]>(type: Type): Promise<Of<Type>> {
    const packet = await this.#arrived(type);
    if (packet === null) throw new Error(`the broker ended the connection instead of sending a ${type}`);
    if (!isOf(packet, type)) throw new Error(`a ${type} was expected, not ${JSON.stringify(packet)}`);
    return packet;
  }

  /** What still comes before the broker ends the connection. */
  async untilEnd(): Promise<readonly Received[]> {
    const packets: Received[] = [];
    for (;;) {
      const packet = await this.#arrived("end of the connection");
      if (packet === null) return packets;
      packets.push(packet);
    }
  }

  async connect(connect: Connect): Promise<Of<"connack">> {
    this.send(connectPacket(this.version, connect));
    return this.next("connack");
  }

  /** The codes that the broker grants. */
  async subscribe(asked: readonly Asked[], properties?: readonly Property[]): Promise<readonly number[]> {
    const id = this.newId();
    this.send(subscribePacket(this.version, id, asked, properties));
    const { codes } = await this.next("suback");
    return codes;
  }

  /** Publishes and goes through with what its QoS asks for. */
  async publish(publish: Publish): Promise<void> {
    const id = this.newId();
    this.send(publishPacket(this.version, { id, ...publish }));
    if (publish.qos === 1) await this.next("puback");
    if (publish.qos !== 2) return;
    await this.next("pubrec");
    this.send(acknowledgePacket("pubrel", id));
    await this.next("pubcomp");
  }

  /** The next message, acknowledged as its QoS asks for. */
  async message(): Promise<Of<"publish">> {
    const message = await this.next("publish");
    if (message.qos === 1) this.send(acknowledgePacket("puback", message.id));
    if (message.qos === 2) {
      this.send(acknowledgePacket("pubrec", message.id));
      await this.next("pubrel");
      this.send(acknowledgePacket("pubcomp", message.id));
    }
    return message;
  }

  async ping(): Promise<void> {
    this.send(pingPacket);
    await this.next("pingresp");
  }

  /** Nothing of what `sender`, another client, published is still on its way: what it publishes last comes next. */
  async getsNothingFrom(sender: Peer): Promise<void> {
    fences += 1;
    const topic = `fence/${fences}`;
    await this.subscribe([[topic, 1]]);
    await sender.publish({ topic, qos: 1 });
    const message = await this.message();
    if (message.topic !== topic) throw new Error(`nothing was expected, not ${JSON.stringify(message)}`);
  }

  newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  async #arrived(what: string): Promise<Received | null> {
    const late = AbortSignal.timeout(waitMs);
    for (;;) {
      if (this.#fault) throw this.#fault;
      const packet = this.#inbox.shift();
      if (packet) return packet;
      if (this.#isOver) return null;
      await once(this.#news, "news", { signal: late }).catch(() => {
        throw new Error(`no ${what} within ${waitMs} ms`);
      });
    }
  }

  #take(data: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    try {
      for (let size = frameOf(this.#bytes); size; size = frameOf(this.#bytes)) {
        const { head, length } = size;
        this.#inbox.push(
          decode(this.version, this.#bytes[0] ?? 0, this.#bytes.subarray(head, head + length)),
        );
        this.#bytes = this.#bytes.subarray(head + length);
      }
    } catch (error) {
      this.#fault = error instanceof Error ? error : new Error(String(error));
    }
    this.#news.emit("news");
  }
}

function isOf<Type extends Received["type"]>(packet: Received, type: Type): packet is Of<Type> {
  return packet.type === type;
}
