/*
 * The MQTT 5 user properties that mean something to the bridge. A packet may hold thousands of others, up to its full
 * size, so they are left behind at every door: at the embedded broker's, and at the bridge's own behind another broker.
 */

type UserProperties = Readonly<Record<string, string | readonly string[]>>;

/** Who asks, in the sender's own words. */
const byProperty = "by";
/** Who sent a command, written by the embedded broker. */
export const viaProperty = "greenhouse2mqtt-via";

const longestClaim = 200;
const longestStamp = 1_024;

/** The sender's own words alone, cut; undefined without any. A property that comes twice says nothing. */
export function claimOf(given: UserProperties | undefined): { readonly [byProperty]: string } | undefined {
  const by = given?.[byProperty];
  return typeof by === "string" ? { [byProperty]: copy(by, longestClaim) } : undefined;
}

/** Who sent a message, and when. */
export interface Sender {
  /** In the sender's own words. */
  readonly by?: string;
  /** As the embedded broker wrote it. */
  readonly via?: ClientAndUser;
  /** The embedded broker cannot have taken it in before: monotonic ms of the process, which is that of both. */
  readonly sentSince?: number;
}

/** What the bridge reads of a message. Where the broker `stamps` no sender, a stamp would be the sender's own word, and is left. */
export function senderIn(given: UserProperties | undefined, stamps: boolean): Sender {
  const stamped = stamps ? readStamp(given) : null;
  return { ...claimOf(given), ...stamped };
}

/** A part of a text would keep all of it in memory. */
const copy = (text: string, length: number) =>
  text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();

/*
 * Who sent a command. The broker knows the client and the user behind every message, the bridge does not; so the embedded
 * broker writes them into a user property of each command and request it lets through, in place of any property of that name
 * the sender wrote. Only the bridge gets to see it. A foreign broker does not stamp, so there the property proves nothing.
 */

/** A client of the embedded broker; `user` is null for an anonymous one. */
export type ClientAndUser = {
  readonly client: string;
  readonly user: string | null;
};

const maxClientId = 128;

/** The stamp as a property. `since`: when the message was sent at the earliest, monotonic ms. */
export const stamp = (via: ClientAndUser, since?: number): Record<string, string> => ({
  [viaProperty]: JSON.stringify({ client: via.client.slice(0, maxClientId), user: via.user, since }),
});

/** What the embedded broker stamped; null when there is no stamp. */
function readStamp(properties: UserProperties | undefined): Pick<Sender, "via" | "sentSince"> | null {
  const text = properties?.[viaProperty];
  if (typeof text !== "string" || text.length > longestStamp) return null;
  try {
    const via: unknown = JSON.parse(text);
    if (typeof via !== "object" || via === null || !("client" in via) || !("user" in via)) return null;
    const { client, user } = via;
    if (typeof client !== "string" || (typeof user !== "string" && user !== null)) return null;
    const since = "since" in via && typeof via.since === "number" ? { sentSince: via.since } : {};
    return { via: { client, user }, ...since };
  } catch {
    return null;
  }
}

/**
 * Whether everything that `asked` can match is matched by `filter` too (MQTT 5, section 4.7). A topic is a filter without
 * wildcards, so this decides plain topics as well.
 */
export function filterCovers(filter: string, asked: string): boolean {
  // Topics of the server's own tree are never meant by a leading wildcard.
  if (asked.startsWith("$") && !filter.startsWith("$")) return false;
  const levels = filter.split("/");
  const askedLevels = asked.split("/");
  for (const [n, level] of levels.entries()) {
    if (level === "#") return true;
    const other = askedLevels[n];
    if (other === undefined || other === "#") return false;
    if (level !== "+" && level !== other) return false;
  }
  return askedLevels.length === levels.length;
}

interface StateMessage {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly retain: boolean;
}

const publishOfQos0 = 0x30;

/**
 * PUBLISH of QoS 0 without properties, as one piece. A sweep of an account is ten thousand of them, for each of which the library
 * makes a dozen objects and eight pieces.
 */
export function stateMessage({ topic, payload, retain }: StateMessage, version: number): Buffer {
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
