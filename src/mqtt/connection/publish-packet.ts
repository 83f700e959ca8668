import type { ProtocolVersion } from "./settings.js";

const publishType = 0x30;
const retainFlag = 0x01;

/**
 * A PUBLISH of QoS 0 without properties, as it stands on the wire. It needs no packet id and no answer, so nothing of it has to
 * pass through the MQTT library, which writes each packet in six pieces.
 */
export function publishPacket(
  { topic, payload, retain }: { topic: string; payload: string | Buffer; retain: boolean },
  version: ProtocolVersion,
): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const payloadBytes = Buffer.byteLength(payload);
  // MQTT 5 has one byte more: no properties.
  const properties = version === 5 ? 1 : 0;
  const length = 2 + topicBytes + properties + payloadBytes;
  const packet = Buffer.allocUnsafe(1 + lengthBytes(length) + length);
  packet[0] = publishType | (retain ? retainFlag : 0);
  let at = writeLength(packet, length);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (properties > 0) packet[at++] = 0;
  if (typeof payload === "string") packet.write(payload, at);
  else payload.copy(packet, at);
  return packet;
}

const lengthBytes = (length: number): number =>
  length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : 4;

/** Seven bits a byte, the lowest first. Returns where it ended. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  let rest = length;
  while (rest >= 0x80) {
    packet[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  packet[at++] = rest;
  return at;
}
