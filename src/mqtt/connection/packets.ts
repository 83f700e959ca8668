import type { ProtocolVersion, Publish } from "./settings.js";

const publishOfQos0 = 0x30;

/**
 * PUBLISH of QoS 0 without properties, as one piece. A sweep of an account is ten thousand of them, for each of which the library
 * makes a dozen objects and eight pieces.
 */
export function stateMessage(
  { topic, payload, retain }: Pick<Publish, "topic" | "payload"> & { readonly retain: boolean },
  version: ProtocolVersion,
): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const withProperties = version === 5 ? 1 : 0;
  let length = 2 + topicBytes + withProperties + Buffer.byteLength(payload);
  const packet = Buffer.allocUnsafe(1 + digitsOf(length) + length);
  packet[0] = publishOfQos0 | (retain ? 1 : 0);
  let at = 1;
  for (; length > 127; length = Math.floor(length / 128)) packet[at++] = (length % 128) | 128;
  packet[at++] = length;
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (withProperties > 0) packet[at++] = 0;
  if (typeof payload === "string") packet.write(payload, at);
  else payload.copy(packet, at);
  return packet;
}

/** How many bytes a length takes. */
const digitsOf = (length: number): number =>
  length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4;
