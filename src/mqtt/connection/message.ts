import type { IPublishPacket } from "mqtt";
import { understood } from "../../runtime/user-properties.js";
import type { BrokerFacts, IncomingMessage, ProtocolVersion } from "./settings.js";

// Commands wait with what they are to be answered with, and a packet may hold 64 KiB of it.
const maxCorrelationBytes = 1_024;

/**
 * Copies what the bridge needs out of a packet of the MQTT library, for a part of a packet keeps all of it in memory. A
 * sender can repeat a property, which the library then hands over as an array; such a one counts as absent.
 */
export function incomingMessage(topic: string, payload: Buffer, packet: IPublishPacket): IncomingMessage {
  const { messageExpiryInterval, ...given } = packet.properties ?? {};
  const userProperties = understood(given.userProperties);
  return {
    topic,
    payload: Buffer.from(payload),
    retain: packet.retain,
    qos: packet.qos,
    dup: packet.dup,
    properties: {
      ...answerTo(given.responseTopic, given.correlationData),
      ...(typeof messageExpiryInterval === "number" && { messageExpiryIntervalS: messageExpiryInterval }),
      ...(userProperties !== undefined && { userProperties }),
    },
  };
}

/** Whoever cannot be told which question an answer belongs to gets none. */
function answerTo(responseTopic: unknown, correlationData: unknown): Partial<IncomingMessage["properties"]> {
  const data = Buffer.isBuffer(correlationData) ? correlationData : null;
  if (typeof responseTopic !== "string" || (data?.length ?? 0) > maxCorrelationBytes) return {};
  return { responseTopic, ...(data && { correlationData: Buffer.from(data) }) };
}

interface ConnackProperties {
  readonly maximumPacketSize?: number;
  readonly receiveMaximum?: number;
  readonly maximumQoS?: number;
  readonly retainAvailable?: boolean;
}

/** The limits of a CONNACK; 3.1.1 announces none. */
export function brokerFacts(
  version: ProtocolVersion,
  properties: ConnackProperties | undefined,
): BrokerFacts {
  const maximumQos = properties?.maximumQoS;
  return {
    protocolVersion: version,
    maximumPacketSize: properties?.maximumPacketSize ?? null,
    receiveMaximum: properties?.receiveMaximum ?? null,
    maximumQos: maximumQos === 0 || maximumQos === 1 ? maximumQos : 2,
    retainAvailable: properties?.retainAvailable ?? true,
  };
}
