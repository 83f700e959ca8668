import { msg, type Text, row } from "../../language/text.js";
import type { LinkEnd, ProtocolVersion } from "./settings.js";

/** The facts about a link when its socket closed. */
export interface LinkFacts {
  /** `mqtt://host:port`, without credentials. */
  readonly broker: Text;
  readonly version: ProtocolVersion;
  readonly opened: boolean;
  readonly connected: boolean;
  /** Ended by us, with a DISCONNECT. */
  readonly ended: boolean;
  /** Why we closed it because of a fault; null where we did not. */
  readonly closedBecause: string | null;
  readonly refusal: number | null;
  readonly serverDisconnect: number | null;
  readonly error: Error | null;
}

const credentials = msg`the broker refused the user name or password: check mqtt.username and mqtt.password`;
const notAuthorized = msg`the broker does not let us in: check mqtt.username and mqtt.password, then mqtt.client_id and the broker's access list`;
const identifier = msg`the broker refused the client id: change mqtt.client_id`;
const unavailable = msg`the broker is starting or overloaded (server unavailable)`;

/** CONNACK codes: MQTT 3.1.1 below 6, MQTT 5 from 0x80. */
const refusals: ReadonlyMap<number, Text> = new Map([
  [1, msg`the broker does not speak this MQTT version: check mqtt.protocol_version`],
  [2, identifier],
  [3, unavailable],
  [4, credentials],
  [5, notAuthorized],
  [0x84, msg`the broker does not speak this MQTT version: check mqtt.protocol_version`],
  [0x85, identifier],
  [0x86, credentials],
  [0x87, notAuthorized],
  [0x88, unavailable],
  [0x89, msg`the broker is busy`],
  [0x8a, msg`the broker has banned this client: look into its ban list`],
  [0x8c, msg`the broker wants another kind of authentication than user name and password`],
  [0x90, msg`the broker refused the topic of our last will: check mqtt.base_topic and its access list`],
  [0x95, msg`the broker found our CONNECT too large`],
  [0x97, msg`the broker's quota for clients is used up`],
  [0x99, msg`the broker refused the payload of our last will`],
  [0x9a, msg`the broker keeps no retained messages, which this bridge needs: allow them in the broker`],
  [0x9b, msg`the broker does not allow QoS 1 for the last will`],
  [0x9c, msg`the broker sends us to another server: change mqtt.url`],
  [0x9d, msg`the broker has moved: change mqtt.url`],
  [0x9f, msg`the broker allows no more connections for now`],
]);

const takenOver = 0x8e;

const serverDisconnects: ReadonlyMap<number, Text> = new Map([
  [0x82, msg`the broker saw a protocol error`],
  [0x87, msg`the broker no longer authorizes this client`],
  [0x89, msg`the broker is busy`],
  [0x8b, msg`the broker is shutting down`],
  [0x8d, msg`the broker heard nothing from us for too long`],
  [
    takenOver,
    msg`another client connected with the same client id: give each bridge its own mqtt.client_id (and base_topic)`,
  ],
  [0x90, msg`the broker refused a topic`],
  [0x93, msg`the broker was sent more at once than it takes`],
  [0x95, msg`the broker found a packet too large`],
  [0x96, msg`the broker found us too fast`],
  [0x97, msg`the broker's quota is used up`],
  [0x98, msg`the broker's administrator ended the link`],
  [0x9a, msg`the broker keeps no retained messages, which this bridge needs: allow them in the broker`],
]);

/** Socket and TLS errors by their `code`. */
const failures: ReadonlyMap<string, Text> = new Map([
  ["ECONNREFUSED", msg`nothing listens there: is the broker running, and is mqtt.url right?`],
  ["ENOTFOUND", msg`the name cannot be resolved: check the host in mqtt.url`],
  ["EAI_AGAIN", msg`the name cannot be resolved for now: check this machine's name servers`],
  ["EHOSTUNREACH", msg`the host cannot be reached: check the network and the address in mqtt.url`],
  ["ENETUNREACH", msg`the network cannot be reached: check this machine's network`],
  ["ETIMEDOUT", msg`no answer: check the address in mqtt.url and firewalls on the way`],
  ["ECONNRESET", msg`the broker reset the connection`],
  ["EPIPE", msg`the broker closed the connection`],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", msg`its certificate is self-signed: put it into mqtt.tls.ca`],
  [
    "SELF_SIGNED_CERT_IN_CHAIN",
    msg`its certificate comes from a private authority: put that one into mqtt.tls.ca`,
  ],
  [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    msg`its certificate cannot be verified: put its authority into mqtt.tls.ca`,
  ],
  [
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    msg`its certificate cannot be verified: put its authority into mqtt.tls.ca`,
  ],
  [
    "CERT_HAS_EXPIRED",
    msg`its certificate has expired: renew it at the broker (or check this machine's clock)`,
  ],
  ["CERT_NOT_YET_VALID", msg`its certificate is not valid yet: check this machine's clock`],
  ["ERR_TLS_CERT_ALTNAME_INVALID", msg`its certificate is for another name: use that name in mqtt.url`],
  [
    "EPROTO",
    msg`the TLS handshake failed: is this a TLS port, and does mqtt.url begin with mqtts: or wss: on purpose?`,
  ],
  [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    msg`the port does not speak TLS: use mqtt: instead of mqtts:, or the TLS port`,
  ],
]);

/** Turns the facts about a closed link into its kind, code and a sentence that names the remedy. */
export function describeEnd(facts: LinkFacts): LinkEnd {
  const { connected, broker, refusal, serverDisconnect: said, error } = facts;
  const end = (kind: LinkEnd["kind"], reason: Text, code: number | null = null): LinkEnd => ({
    kind,
    code,
    connected,
    reason,
  });
  if (facts.ended) return end("ended", msg`ended by us`);
  if (refusal !== null)
    return end("refused", refusals.get(refusal) ?? msg`the broker refused us with code ${refusal}`, refusal);
  if (facts.closedBecause !== null) return end(connected ? "lost" : "silent", facts.closedBecause);
  if (said !== null) {
    const reason = serverDisconnects.get(said) ?? msg`the broker ended the link with code ${said}`;
    return end(said === takenOver ? "taken_over" : "lost", reason, said);
  }
  if (connected) {
    const lost = end("lost", row`${broker}: ${lossReason(error)}`);
    return isClose(error) ? { ...lost, wordless: true } : lost;
  }
  const [kind, reason] = neverConnected(facts);
  return end(kind, row`${broker}: ${reason}`);
}

function neverConnected({ version, opened, error }: LinkFacts): readonly [LinkEnd["kind"], Text] {
  if (error?.message === "connack timeout")
    return ["silent", msg`no answer to our CONNECT: is this an MQTT broker?`];
  if (opened && isClose(error)) {
    const older = msg`If the broker does not speak MQTT 5, set mqtt.protocol_version to 4`;
    return ["closed_early", version === 5 ? row`${closedEarly} ${older}` : closedEarly];
  }
  return ["unreachable", opened && errorCode(error) === null ? foreign : failureReason(error)];
}

const closedEarly = msg`closed without an answer to our CONNECT: is this the port of an MQTT broker, without TLS where mqtt.url begins with mqtt:?`;

/** Replaces the parser's message, which would speak of bits of a packet that never was one. */
const foreign = msg`what answers there does not speak MQTT, perhaps a web server or a port for TLS; check the port in mqtt.url (usually 1883, or 8883 with mqtts:)`;

/** Whether the other side closed the socket without a reason. */
function isClose(error: Error | null): boolean {
  const code = errorCode(error);
  return error === null || code === "ECONNRESET" || code === "EPIPE";
}

function lossReason(error: Error | null): Text {
  if (error === null) return msg`the broker closed the connection`;
  if (error.message === "Keepalive timeout") return msg`the broker no longer answers pings; the link is dead`;
  return failureReason(error);
}

/** The sentence for an error of a socket, a TLS handshake or a WebSocket upgrade. */
function failureReason(error: Error | null): Text {
  if (error === null) return msg`the connection was closed`;
  const known = failures.get(errorCode(error) ?? "");
  if (known !== undefined) return known;
  const upgrade = /^Unexpected server response: (\d{3})$/.exec(error.message)?.[1];
  // For a certificate or key that cannot be read, the message names the key and the file.
  const file = /^mqtt\.tls\.\w+(?=: )/.exec(error.message)?.[0];
  if (file !== undefined) return msg`${error.message}: check ${file}`;
  if (upgrade !== undefined)
    return msg`the server answered the WebSocket upgrade with HTTP ${upgrade}: check port and path in mqtt.url`;
  return error.message;
}

function errorCode(error: Error | null): string | null {
  if (error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
