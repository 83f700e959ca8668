import type { LinkEnd, ProtocolVersion } from "./settings.js";

/** What is known about a link when its socket closed. */
export interface LinkFacts {
  /** `mqtt://host:port`, without credentials. */
  readonly broker: string;
  readonly version: ProtocolVersion;
  readonly opened: boolean;
  readonly connected: boolean;
  /** Ended as planned, with a DISCONNECT. */
  readonly ended: boolean;
  /** We closed it ourselves for a fault; the sentence says why. */
  readonly closedBecause: string | null;
  readonly refusal: number | null;
  readonly serverDisconnect: number | null;
  readonly error: Error | null;
}

const credentials = "the broker refused the user name or password: check mqtt.username and mqtt.password";
const notAuthorized =
  "the broker does not let us in: check mqtt.username and mqtt.password, then mqtt.client_id and the broker's access list";
const identifier = "the broker refused the client id: change mqtt.client_id";
const unavailable = "the broker is starting or overloaded (server unavailable)";

/** CONNACK codes, MQTT 3.1.1 below 6 and MQTT 5 from 0x80. */
const refusals: ReadonlyMap<number, string> = new Map([
  [1, "the broker does not speak this MQTT version: check mqtt.protocol_version"],
  [2, identifier],
  [3, unavailable],
  [4, credentials],
  [5, notAuthorized],
  [0x84, "the broker does not speak this MQTT version: check mqtt.protocol_version"],
  [0x85, identifier],
  [0x86, credentials],
  [0x87, notAuthorized],
  [0x88, unavailable],
  [0x89, "the broker is busy"],
  [0x8a, "the broker has banned this client: look into its ban list"],
  [0x8c, "the broker wants another kind of authentication than user name and password"],
  [0x90, "the broker refused the topic of our last will: check mqtt.base_topic and its access list"],
  [0x95, "the broker found our CONNECT too large"],
  [0x97, "the broker's quota for clients is used up"],
  [0x99, "the broker refused the payload of our last will"],
  [0x9a, "the broker keeps no retained messages, which this bridge needs: allow them in the broker"],
  [0x9b, "the broker does not allow QoS 1 for the last will"],
  [0x9c, "the broker sends us to another server: change mqtt.url"],
  [0x9d, "the broker has moved: change mqtt.url"],
  [0x9f, "the broker allows no more connections for now"],
]);

const takenOver = 0x8e;

const serverDisconnects: ReadonlyMap<number, string> = new Map([
  [0x82, "the broker saw a protocol error"],
  [0x87, "the broker no longer authorizes this client"],
  [0x89, "the broker is busy"],
  [0x8b, "the broker is shutting down"],
  [0x8d, "the broker heard nothing from us for too long"],
  [
    takenOver,
    "another client connected with the same client id: give each bridge its own mqtt.client_id (and base_topic)",
  ],
  [0x90, "the broker refused a topic"],
  [0x93, "the broker was sent more at once than it takes"],
  [0x95, "the broker found a packet too large"],
  [0x96, "the broker found us too fast"],
  [0x97, "the broker's quota is used up"],
  [0x98, "the broker's administrator ended the link"],
  [0x9a, "the broker keeps no retained messages, which this bridge needs: allow them in the broker"],
]);

/** Socket and TLS errors by their `code`. */
const failures: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing listens there: is the broker running, and is mqtt.url right?"],
  ["ENOTFOUND", "the name cannot be resolved: check the host in mqtt.url"],
  ["EAI_AGAIN", "the name cannot be resolved for now: check this machine's name servers"],
  ["EHOSTUNREACH", "the host cannot be reached: check the network and the address in mqtt.url"],
  ["ENETUNREACH", "the network cannot be reached: check this machine's network"],
  ["ETIMEDOUT", "no answer: check the address in mqtt.url and firewalls on the way"],
  ["ECONNRESET", "the broker reset the connection"],
  ["EPIPE", "the broker closed the connection"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is self-signed: put it into mqtt.tls.ca"],
  [
    "SELF_SIGNED_CERT_IN_CHAIN",
    "its certificate comes from a private authority: put that one into mqtt.tls.ca",
  ],
  [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "its certificate cannot be verified: put its authority into mqtt.tls.ca",
  ],
  [
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "its certificate cannot be verified: put its authority into mqtt.tls.ca",
  ],
  ["CERT_HAS_EXPIRED", "its certificate has expired: renew it at the broker (or check this machine's clock)"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet: check this machine's clock"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name: use that name in mqtt.url"],
  [
    "EPROTO",
    "the TLS handshake failed: is this a TLS port, and does mqtt.url begin with mqtts: or wss: on purpose?",
  ],
  [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "the port does not speak TLS: use mqtt: instead of mqtts:, or the TLS port",
  ],
]);

/** Turns what is known about a closed link into its kind, code and a sentence that names the remedy. */
export function describeEnd(facts: LinkFacts): LinkEnd {
  const { connected, broker, refusal, serverDisconnect: said, error } = facts;
  const end = (kind: LinkEnd["kind"], reason: string, code: number | null = null): LinkEnd => ({
    kind,
    code,
    connected,
    reason,
  });
  if (facts.ended) return end("ended", "ended by us");
  if (refusal !== null)
    return end("refused", refusals.get(refusal) ?? `the broker refused us with code ${refusal}`, refusal);
  if (facts.closedBecause !== null) return end(connected ? "lost" : "silent", facts.closedBecause);
  if (said !== null) {
    const reason = serverDisconnects.get(said) ?? `the broker ended the link with code ${said}`;
    return end(said === takenOver ? "taken_over" : "lost", reason, said);
  }
  if (connected) {
    const lost = end("lost", `${broker}: ${lossReason(error)}`);
    return isClose(error) ? { ...lost, wordless: true } : lost;
  }
  const [kind, reason] = neverConnected(facts);
  return end(kind, `${broker}: ${reason}`);
}

function neverConnected({ version, opened, error }: LinkFacts): readonly [LinkEnd["kind"], string] {
  if (error?.message === "connack timeout")
    return ["silent", "no answer to our CONNECT: is this an MQTT broker?"];
  if (opened && isClose(error)) {
    const older = " If the broker does not speak MQTT 5, set mqtt.protocol_version to 4";
    return ["closed_early", `${closedEarly}${version === 5 ? older : ""}`];
  }
  return ["unreachable", opened && errorCode(error) === null ? foreign : failureReason(error)];
}

const closedEarly =
  "closed without an answer to our CONNECT: is this the port of an MQTT broker, without TLS where mqtt.url begins with mqtt:?";

/** The parser's own words are about bits of a packet that never was one. */
const foreign =
  "what answers there does not speak MQTT, perhaps a web server or a port for TLS: check the port in mqtt.url (usually 1883, or 8883 with mqtts:)";

/** The other side closed the socket, and said nothing why. */
function isClose(error: Error | null): boolean {
  const code = errorCode(error);
  return error === null || code === "ECONNRESET" || code === "EPIPE";
}

function lossReason(error: Error | null): string {
  if (error === null) return "the broker closed the connection";
  if (error.message === "Keepalive timeout") return "the broker no longer answers pings; the link is dead";
  return failureReason(error);
}

/** A sentence for an error of a socket, a TLS handshake or a WebSocket upgrade. */
function failureReason(error: Error | null): string {
  if (error === null) return "the connection was closed";
  const known = failures.get(errorCode(error) ?? "");
  if (known !== undefined) return known;
  const upgrade = /^Unexpected server response: (\d{3})$/.exec(error.message)?.[1];
  // A certificate or key that cannot be read: the message names the key and the file.
  const file = /^mqtt\.tls\.\w+(?=: )/.exec(error.message)?.[0];
  if (file !== undefined) return `${error.message}: check ${file}`;
  if (upgrade !== undefined)
    return `the server answered the WebSocket upgrade with HTTP ${upgrade}: check port and path in mqtt.url`;
  return error.message;
}

function errorCode(error: Error | null): string | null {
  if (error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
