/*
 * The MQTT 5 user properties that the bridge reads. A packet may hold thousands of others, up to its full size, so the
 * embedded broker and the bridge both drop them.
 */

type UserProperties = Readonly<Record<string, string | readonly string[]>>;

/** The sender of a command in its own words. */
const byProperty = "by";
/** The sender of a command as the embedded broker wrote it. */
export const viaProperty = "greenhouse2mqtt-via";

const longestClaim = 200;
const longestStamp = 1_024;

/** The sender's own words, cut to length; undefined for none. A property that comes twice counts as absent. */
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
  /** The earliest time at which the embedded broker received it, in monotonic ms of the process that both share. */
  readonly sentSince?: number;
}

/** The sender of a message. A stamp is read only if the broker `stamps`; otherwise anybody could have written it. */
export function senderIn(given: UserProperties | undefined, stamps: boolean): Sender {
  const stamped = stamps ? readStamp(given) : null;
  return { ...claimOf(given), ...stamped };
}

/** A slice would keep the whole text in memory, so it is copied. */
const copy = (text: string, length: number) =>
  text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();

/*
 * The sender of a command. Only the broker knows client and user of a message. So the embedded broker writes them into
 * a user property of each command and request, and removes any such property of the sender's. Only the bridge sees it.
 * Other brokers do not stamp, so there the property proves nothing.
 */

/** A client of the embedded broker; `user` is null for an anonymous one. */
export type ClientAndUser = {
  readonly client: string;
  readonly user: string | null;
};

const maxClientId = 128;

/** The stamp as a property. `since`: the earliest time at which the message was sent, in monotonic ms. */
export const stamp = (via: ClientAndUser, since?: number): Record<string, string> => ({
  [viaProperty]: JSON.stringify({ client: via.client.slice(0, maxClientId), user: via.user, since }),
});

/** The stamp of the embedded broker; null for none. */
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
 * Whether `filter` matches everything that `asked` can match (MQTT 5, section 4.7). A topic is a filter without
 * wildcards, so plain topics work too.
 */
export function filterCovers(filter: string, asked: string): boolean {
  // A leading wildcard never matches the broker's own `$` topics.
  if (asked.startsWith("$") && !filter.startsWith("$")) return false;
  let at = 0;
  for (let n = 0; n < filter.length; n += 1) {
    if (isWildcard(filter, n, "#")) return true;
    if (isWildcard(filter, n, "+")) {
      if (isWildcard(asked, at, "#")) return false;
      const end = asked.indexOf("/", at);
      at = end === -1 ? asked.length : end;
    } else if (filter[n] === asked[at]) at += 1;
    else return at === asked.length && filter.slice(n) === "/#";
  }
  return at === asked.length;
}

/** Whether the level that begins there is this wildcard and nothing else. */
const isWildcard = (filter: string, at: number, wildcard: "+" | "#"): boolean =>
  filter[at] === wildcard &&
  (at === 0 || filter[at - 1] === "/") &&
  (at + 1 === filter.length || filter[at + 1] === "/");

interface StateMessage {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly retain: boolean;
}

const publishOfQos0 = 0x30;

/**
 * A PUBLISH of QoS 0 without properties, as one buffer. A sweep of an account makes ten thousand of them, for each of
 * which the library makes a dozen objects and eight pieces.
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

/** The number of bytes that encode a length. */
const digitsOf = (length: number): number =>
  length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4;
