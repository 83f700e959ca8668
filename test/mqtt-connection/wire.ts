import net from "node:net";
import { onTestFinished } from "vitest";
import { acknowledgePacket, encodeProperties, Fields, frameOf } from "../conformance/packets.js";
import { packet as packetOf } from "../fuzz/packets.js";
import { portFor } from "../support/free-port.js";

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
  let rest = bytes;
  for (let size = frameOf(rest); size; size = frameOf(rest)) {
    const [first, end] = [rest.readUInt8(0), size.head + size.length];
    packets.push({ type: first >> 4, flags: first & 15, body: rest.subarray(size.head, end) });
    rest = rest.subarray(end);
  }
  return { packets, rest };
}

/** What a bridge says of itself in a CONNECT; `sessionExpiryS` is null without the property. */
export function connectFields({ body }: WirePacket) {
  const fields = new Fields(body);
  fields.text();
  const version = fields.number(1) === 5 ? 5 : 4;
  const flags = fields.number(1);
  const keepaliveS = fields.number(2);
  const expiry = fields.properties(version).find(([name]) => name === "session expiry");
  return {
    ...{ version, keepaliveS, cleanStart: (flags & 0x02) !== 0, hasWill: (flags & 0x04) !== 0 },
    ...{ willQos: (flags >> 3) & 3, willRetain: (flags & 0x20) !== 0, sessionExpiryS: expiry?.[1] ?? null },
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
      send: (...bytes) => void socket.write(Buffer.from(bytes)),
      close: () => void socket.destroy(),
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
  const port = await portFor(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `mqtt://127.0.0.1:${port}`, packets };
}

/** The version byte of a CONNECT. */
export const versionOf = (packet: WirePacket): number => packet.body.readUInt8(6);

/** CONNACK in the form of a protocol version. */
export const connack = (version: number, code: number): number[] =>
  version === 5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code];

/** SUBACK with one code per filter. */
export const suback = (version: 4 | 5, { body }: WirePacket, codes: readonly number[]): number[] =>
  packetOf(0x90, [...body.subarray(0, 2), ...encodeProperties(version), ...codes]);

/** What a PUBLISH says; `id` is null with QoS 0. */
export function publishOf({ body, flags }: WirePacket, version: 4 | 5) {
  const fields = new Fields(body);
  const topic = fields.text();
  const id = ((flags >> 1) & 3) === 0 ? null : fields.number(2);
  fields.properties(version);
  return { topic, id, payload: fields.take(fields.left).toString() };
}

/** PUBACK for a QoS 1 PUBLISH; null for QoS 0. */
export function puback(packet: WirePacket, version: 4 | 5): number[] | null {
  const { id } = publishOf(packet, version);
  return id === null ? null : acknowledgePacket("puback", id);
}

/** Answers like any broker: everything granted and acknowledged. */
export function obliging(packet: WirePacket, peer: Peer, version: 4 | 5): void {
  switch (packet.type) {
    case 1:
      peer.send(...connack(version, 0));
      break;
    case 3:
      peer.send(...(puback(packet, version) ?? []));
      break;
    case 8:
      peer.send(...suback(version, packet, grants(packet, version)));
      break;
    case 12:
      peer.send(0xd0, 0);
      break;
    default:
      break;
  }
}

/** A broker that acknowledges no publish. */
export const muteBroker = (): Promise<ScriptedBroker> =>
  scriptedBroker((packet, peer) => {
    if (packet.type !== 3) obliging(packet, peer, 5);
  });

function grants({ body }: WirePacket, version: 4 | 5): number[] {
  const fields = new Fields(body);
  fields.number(2);
  fields.properties(version);
  const codes: number[] = [];
  for (; fields.left > 0; fields.number(1)) codes.push(fields.binary().length > 0 ? 1 : 0x80);
  return codes;
}
