import type { PublishPacket } from "aedes";

/** Roughly what the objects of a message without content take; were it nothing, empty messages could be kept without end. */
export const emptyPacketBytes = 512;

// A short text in an object, beside its characters.
const textOverhead = 64;

const textBytes = (text: string | undefined) => (text === undefined ? 0 : textOverhead + 2 * text.length);

/** What keeping a message costs. Properties count too: a packet may consist of nothing else. */
export function bytesOf({
  topic,
  payload,
  properties = {},
}: Pick<PublishPacket, "topic" | "payload" | "properties">): number {
  const { responseTopic, contentType, correlationData, userProperties = {} } = properties;
  const users = Object.entries(userProperties).flatMap(([name, value]) => [name, value].flat());
  const texts = [topic, responseTopic, contentType, ...users];
  return texts.reduce(
    (sum, text) => sum + textBytes(text),
    emptyPacketBytes + payload.length + (correlationData?.length ?? 0),
  );
}

/** Bytes to keep: a view of what the socket read would hold all of it in memory, up to 64 KiB for one byte. */
export function owned<T extends string | Buffer>(bytes: T): T | Buffer {
  if (typeof bytes === "string" || bytes.byteLength === bytes.buffer.byteLength) return bytes;
  return Buffer.from(new Uint8Array(bytes).buffer);
}
