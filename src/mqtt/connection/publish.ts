import type { BrokerFacts, PublishOptions } from "./settings.js";

const maxTopicBytes = 512;
// Mosquitto refuses more than 200 levels, aedes more than 100; ours have 8.
const maxLevels = 64;
const forbidden = /[#+\0]|\p{Cs}/u;

/** A message to be published; `bytes` as it will stand on the wire, rounded up. */
export interface Publish {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly options: PublishOptions;
  readonly bytes: number;
}

/** The fixed header, packet id and property headers are counted with a small reserve. */
export function bytesOf(
  topic: string,
  payload: string | Buffer,
  { responseProperties }: PublishOptions,
): number {
  const properties = responseProperties ? 32 + (responseProperties.correlationData?.length ?? 0) : 0;
  return Buffer.byteLength(payload) + Buffer.byteLength(topic) + 16 + properties;
}

/**
 * The last line before the wire. MQTT.js checks no topic: one `#` in it makes a broker cut the link, so what must not be
 * sent is named here instead. Returns a sentence, or null when it may be sent.
 */
export function publishProblem(
  { topic, payload, bytes }: Omit<Publish, "options">,
  limits: { readonly maxPayloadBytes: number; readonly maximumPacketSize: number | null },
): string | null {
  const wrongTopic = topicProblem(topic);
  if (wrongTopic !== null) return wrongTopic;
  const { maxPayloadBytes, maximumPacketSize } = limits;
  // The packet is larger than its payload, so the payload is counted again only where it may be too large.
  const payloadBytes = bytes > maxPayloadBytes ? Buffer.byteLength(payload) : 0;
  if (payloadBytes > maxPayloadBytes)
    return `the payload for ${topic} has ${payloadBytes} bytes; at most ${maxPayloadBytes} are sent`;
  if (maximumPacketSize !== null && bytes > maximumPacketSize)
    return (
      `the message for ${topic} has ${bytes} bytes, the broker takes at most ${maximumPacketSize}: ` +
      `raise its packet limit (Mosquitto: max_packet_size)`
    );
  return null;
}

function topicProblem(topic: string): string | null {
  if (topic === "") return "the topic is empty";
  const shown = () => JSON.stringify(topic.slice(0, 80));
  if (topic.length > maxTopicBytes / 3 && Buffer.byteLength(topic) > maxTopicBytes)
    return `the topic ${shown()}... is longer than ${maxTopicBytes} bytes`;
  if (forbidden.test(topic)) return `the topic ${shown()} holds #, +, NUL or half a character`;
  // Most topics are too short for that many levels, and this is asked for every message.
  if (topic.length >= maxLevels && topic.split("/", maxLevels + 1).length > maxLevels)
    return `the topic ${shown()} has more than ${maxLevels} levels`;
  return null;
}

/** Leaves out what the broker or the protocol version does not have; sending it all the same would cut the link. */
export function supportedOptions(options: PublishOptions, facts: BrokerFacts | null): PublishOptions {
  const complete = facts?.protocolVersion === 5 && facts.maximumQos > 0 && facts.retainAvailable;
  if (facts === null || complete) return options;
  const { qos = 1, retain = false, responseProperties } = options;
  return {
    qos: facts.maximumQos === 0 ? 0 : qos,
    retain: retain && facts.retainAvailable,
    ...(facts.protocolVersion === 5 && responseProperties && { responseProperties }),
  };
}

/**
 * - `invalid`: the topic or size would cut the link, so it was not sent
 * - `offline`: there is no link, or it went away before the acknowledgement
 * - `busy`: too many publishes wait already; await `ready()` first
 * - `unacknowledged`: the broker did not acknowledge in time
 * - `refused`: the broker answered with an error code
 */
export type PublishErrorKind = "invalid" | "offline" | "busy" | "unacknowledged" | "refused";

/** A publish that did not happen, or that cannot be vouched for (`offline`, `unacknowledged`). */
export class PublishError extends Error {
  override name = "PublishError" as const;
  readonly kind: PublishErrorKind;

  constructor(kind: PublishErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}
