import { once } from "node:events";
import net from "node:net";
import { onTestFinished } from "vitest";

/* MQTT packets as bytes, for what must be asserted on the wire and for brokers that misbehave. */

export interface WirePacket {
  /** Upper half of the first byte: 1 CONNECT, 3 PUBLISH, 8 SUBSCRIBE, 12 PINGREQ, 14 DISCONNECT. */
  readonly type: number;
  readonly flags: number;
  readonly body: Buffer;
}

/** The complete packets at the start of a byte stream, and what is left. */
export function splitPackets(bytes: Buffer): {
  readonly packets: readonly WirePacket[];
  readonly rest: Buffer;
} {
  const packets: WirePacket[] = [];
  let at = 0;
  for (;;) {
    let length = 0;
    let shift = 0;
    let n = at + 1;
    for (; n < bytes.length; n += 1, shift += 7) {
      const byte = bytes.readUInt8(n);
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (n >= bytes.length || n + 1 + length > bytes.length) return { packets, rest: bytes.subarray(at) };
    const first = bytes.readUInt8(at);
    packets.push({ type: first >> 4, flags: first & 15, body: bytes.subarray(n + 1, n + 1 + length) });
    at = n + 1 + length;
  }
}

export interface ConnectFields {
  readonly version: number;
  readonly cleanStart: boolean;
  readonly keepaliveS: number;
  readonly willQos: number;
  readonly willRetain: boolean;
  readonly hasWill: boolean;
  /** MQTT 5: the session expiry interval, null when the property is absent. */
  readonly sessionExpiryS: number | null;
}

/** Reads a CONNECT of a bridge: no other property before the session expiry. */
export function connectFields({ body }: WirePacket): ConnectFields {
  const flags = body.readUInt8(7);
  const version = body.readUInt8(6);
  return {
    version,
    cleanStart: (flags & 0x02) !== 0,
    hasWill: (flags & 0x04) !== 0,
    willQos: (flags >> 3) & 3,
    willRetain: (flags & 0x20) !== 0,
    keepaliveS: body.readUInt16BE(8),
    sessionExpiryS: version === 5 && body.readUInt8(11) === 0x11 ? body.readUInt32BE(12) : null,
  };
}

export interface Peer {
  /** Counted from 1. */
  readonly connection: number;
  send(...bytes: number[]): void;
  close(): void;
}

export interface ScriptedBroker {
  readonly url: string;
  readonly port: number;
  /** All packets received, with the connection they came on. */
  readonly packets: (WirePacket & { readonly connection: number })[];
}

/** A broker that does exactly what `answer` does with each packet. */
export async function scriptedBroker(
  answer: (packet: WirePacket, peer: Peer) => void,
): Promise<ScriptedBroker> {
  const packets: ScriptedBroker["packets"] = [];
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    let buffered: Buffer = Buffer.alloc(0);
    const peer: Peer = {
      connection,
      send: (...bytes) => {
        socket.write(Buffer.from(bytes));
      },
      close: () => {
        socket.destroy();
      },
    };
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const split = splitPackets(Buffer.concat([buffered, chunk]));
      buffered = split.rest;
      for (const packet of split.packets) {
        packets.push({ ...packet, connection });
        answer(packet, peer);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port given");
  return { url: `mqtt://127.0.0.1:${address.port}`, port: address.port, packets };
}

/** The version byte of a CONNECT. */
export const versionOf = (packet: WirePacket): number => packet.body.readUInt8(6);

/** CONNACK in the form of a protocol version. */
export const connack = (version: number, code: number): number[] =>
  version === 5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code];

/** SUBACK with one code per filter. */
export function suback(version: number, packet: WirePacket, codes: readonly number[]): number[] {
  const id = [packet.body.readUInt8(0), packet.body.readUInt8(1)];
  const properties = version === 5 ? [0] : [];
  return [0x90, 2 + properties.length + codes.length, ...id, ...properties, ...codes];
}

/** PUBACK for a QoS 1 PUBLISH; null for QoS 0. */
export function puback(packet: WirePacket): number[] | null {
  if (((packet.flags >> 1) & 3) === 0) return null;
  const topicBytes = packet.body.readUInt16BE(0);
  return [0x40, 2, packet.body.readUInt8(2 + topicBytes), packet.body.readUInt8(3 + topicBytes)];
}

/** Topic of a PUBLISH. */
export const topicOf = ({ body }: WirePacket): string => body.toString("utf8", 2, 2 + body.readUInt16BE(0));

/** Payload of a PUBLISH; what stands before it, a packet id for one, may be any bytes. */
export function payloadOf({ body, flags }: WirePacket, version: number): Buffer {
  let at = 2 + body.readUInt16BE(0);
  if (((flags >> 1) & 3) !== 0) at += 2;
  // The properties of a bridge are shorter than 128 bytes, so their length is one.
  return body.subarray(version === 5 ? at + 1 + body.readUInt8(at) : at);
}

/** Answers like any broker: everything granted and acknowledged. */
export function obliging(packet: WirePacket, peer: Peer, version: number): void {
  switch (packet.type) {
    case 1:
      peer.send(...connack(version, 0));
      break;
    case 3: {
      const ack = puback(packet);
      if (ack) peer.send(...ack);
      break;
    }
    case 8:
      peer.send(...suback(version, packet, filterQos(packet, version)));
      break;
    case 12:
      peer.send(0xd0, 0);
      break;
    default:
      break;
  }
}

function filterQos({ body }: WirePacket, version: number): number[] {
  const codes: number[] = [];
  let at = version === 5 ? 3 : 2;
  while (at < body.length) {
    at += 2 + body.readUInt16BE(at) + 1;
    codes.push(1);
  }
  return codes;
}
