import type { IPublishPacket } from "mqtt";
import type { BrokerFacts, IncomingMessage, ProtocolVersion } from "./settings.js";

/**
 * Copies what the bridge needs out of a packet of the MQTT library. A sender can repeat a property, which the library
 * then hands over as an array; such a one counts as absent.
 */
export function incomingMessage(topic: string, payload: Buffer, packet: IPublishPacket): IncomingMessage {
  const { responseTopic, correlationData, messageExpiryInterval, userProperties } = packet.properties ?? {};
  return {
    topic,
    payload,
    retain: packet.retain,
    qos: packet.qos,
    dup: packet.dup,
    properties: {
      ...(typeof responseTopic === "string" && { responseTopic }),
      ...(Buffer.isBuffer(correlationData) && { correlationData }),
      ...(typeof messageExpiryInterval === "number" && { messageExpiryIntervalS: messageExpiryInterval }),
      ...(userProperties !== undefined && { userProperties }),
    },
  };
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
