import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/clock.js";
import { receiving } from "../../runtime/receiving.js";
import type { FloodAllowance, FloodListener } from "./settings.js";

/*
 * A broker hands over what everybody sends in one stream, and drops what is not taken fast enough, a stop too. So of a flood most is
 * taken out of the stream before the MQTT library sees it, which needs a hundred times as long for each message. What asks for haste
 * is never lost: of many for the same the newest goes on as soon as it may.
 */

interface Pace {
  readonly atOnce: number;
  readonly perSecond: number;
}

class Tokens {
  readonly #pace: Pace;
  #left: number;
  #at: number;

  constructor(pace: Pace, now: number) {
    this.#pace = pace;
    this.#left = pace.atOnce;
    this.#at = now;
  }

  take(now: number): boolean {
    const { atOnce, perSecond } = this.#pace;
    this.#left = Math.min(atOnce, this.#left + ((now - this.#at) * perSecond) / 1_000);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/** A PUBLISH in a chunk: from where to where, its topic and payload. */
interface Message {
  readonly topic: string;
  readonly allowance: FloodAllowance;
  readonly payload: Buffer;
  readonly bytes: Buffer;
  /** Null where no acknowledgement is due. */
  readonly id: number | null;
}

/** An urgent one that waits for its turn. */
interface Held {
  readonly topic: string;
  readonly key: string;
  readonly packet: Buffer;
  readonly id: string | null;
}

/** A message that is larger than any may be. */
export interface TooLarge {
  readonly topic: string;
  readonly bytes: number;
}

interface SurplusOptions {
  readonly isVersion5: boolean;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly write: (bytes: Buffer) => void;
  readonly push: (bytes: Buffer) => void;
  /** A larger packet is left out: the MQTT library would keep all of it, and a process may end for want of memory. */
  readonly mostPacketBytes: number;
  readonly onTooLarge: (message: TooLarge) => void;
}

/** What was left out of an allowance. */
interface Left {
  readonly key: string;
  count: number;
  readonly isUrgent: boolean;
  readonly ids: string[];
}

const publish = 3;
const longestHeader = 5;
/** What is not whole yet is kept up to this size. A command is smaller; what is larger is passed on in pieces. */
const mostHeldBytes = 20 * 1024;
const mostKnownTopics = 2_000;
/** So many urgent ones of a topic wait, each for something else. */
const mostHeldOfTopic = 100;
/** Ids are looked for in so many of an allowance, and told of all together up to this size; the rest is counted. */
const mostIds = 300;
const mostIdBytes = 64 * 1024;
const nothing = Buffer.alloc(0);
const tellEveryMs = 2_000;
const releaseEveryMs = 50;

/** The end of a packet's header and of the packet; null where the header is not whole, which it is at the latest after five bytes. */
function extentOf(bytes: Buffer, at: number): { readonly body: number; readonly end: number } | null {
  let length = 0;
  for (let n = 1; n < longestHeader; n += 1) {
    const digit = bytes[at + n];
    if (digit === undefined) return null;
    length += (digit & 0x7f) * 128 ** (n - 1);
    if (digit < 0x80) return { body: at + n + 1, end: at + n + 1 + length };
  }
  return { body: at + longestHeader, end: at + longestHeader };
}

/** Where the payload begins behind the properties of MQTT 5; past the end where they are none. */
function afterProperties(bytes: Buffer, at: number): number {
  const found = extentOf(bytes, at - 1);
  return found === null ? Infinity : found.end;
}

/** Topic and id of a PUBLISH; null where they are not all there yet. */
function headOf(bytes: Buffer, at: number, body: number): Pick<Message, "topic" | "id"> | null {
  const first = bytes[at] ?? 0;
  if (first >> 4 !== publish) return { topic: "", id: null };
  const topicEnd = body + 2 <= bytes.length ? body + 2 + bytes.readUInt16BE(body) : Infinity;
  const hasId = (first & 0x06) !== 0;
  if (topicEnd + (hasId ? 2 : 0) > bytes.length) return null;
  return {
    topic: bytes.toString("utf8", body + 2, topicEnd),
    id: hasId ? bytes.readUInt16BE(topicEnd) : null,
  };
}

/** Takes the surplus out of what comes. Returns what follows of the bytes so far, and writes the acknowledgements that it owes. */
export class SurplusFilter {
  readonly #listener: FloodListener;
  readonly #options: SurplusOptions;
  #rest: Buffer = nothing;
  /** Of a large packet, which is passed on as it comes. */
  #passing = 0;
  /** Of one that is larger than any, which is left out. */
  #skipping = 0;
  readonly #allowances = new Map<string, FloodAllowance | null>();
  readonly #tokens = new Map<string, Tokens>();
  /** Of each topic, and of all that it is for, the newest urgent one that had no room. */
  readonly #held = new Map<string, Held>();
  #surplus = new Map<string, Left>();
  /** How much room is left for ids until the next telling. */
  #idBytes = mostIdBytes;
  #toldAt = -Infinity;
  #takeBackRelease: (() => void) | null = null;
  #takeBackTelling: (() => void) | null = null;

  constructor(listener: FloodListener, options: SurplusOptions) {
    this.#listener = listener;
    this.#options = options;
  }

  /** What is left of it for the parser. */
  take(chunk: Buffer): Buffer {
    const skipped = Math.min(this.#skipping, chunk.length);
    this.#skipping -= skipped;
    const fresh = skipped === 0 ? chunk : chunk.subarray(skipped);
    const bytes = this.#rest.length === 0 ? fresh : Buffer.concat([this.#rest, fresh]);
    this.#rest = nothing;
    const now = this.#options.clock.monotonic();
    const kept: Buffer[] = [];
    const answers: Buffer[] = [];
    let at = Math.min(this.#passing, bytes.length);
    this.#passing -= at;
    let from = 0;
    while (at < bytes.length) {
      const large = this.#leftOut(bytes, at);
      if (large !== null) {
        kept.push(bytes.subarray(from, at));
        answers.push(large.answer);
        at = large.end;
        from = at;
        continue;
      }
      const end = this.#endOf(bytes, at);
      if (end === null) break;
      const message = this.#message(bytes, at, end);
      const passes = message === null ? null : this.#passes(message, now);
      if (passes !== null) {
        kept.push(bytes.subarray(from, at));
        from = passes === "drop" ? end : at;
        if (passes !== "drop") kept.push(passes);
        else if (message !== null && message.id !== null) answers.push(acknowledgement(message.id));
      }
      at = end;
    }
    kept.push(bytes.subarray(from, at));
    if (answers.length > 0) this.#options.write(Buffer.concat(answers));
    if (this.#surplus.size > 0) this.#tell(now);
    return Buffer.concat(kept);
  }

  /** Of a packet that is larger than any: where it ends, as far as it is there, and what it is owed. Null for all others. */
  #leftOut(bytes: Buffer, at: number): { readonly end: number; readonly answer: Buffer } | null {
    const extent = extentOf(bytes, at);
    const { mostPacketBytes, onTooLarge } = this.#options;
    if (extent === null || extent.end - at <= mostPacketBytes) return null;
    const head = headOf(bytes, at, extent.body);
    if (head === null) return null;
    const end = Math.min(extent.end, bytes.length);
    this.#skipping = extent.end - end;
    const { topic, id } = head;
    const allowance = this.#allowanceOf(topic);
    // Whoever asked for something is told that it was not taken.
    if (allowance !== null) this.#left(allowance.key, false, () => null);
    onTooLarge({ topic, bytes: extent.end - at });
    return { end, answer: id === null ? nothing : acknowledgement(id) };
  }

  /** Where the packet ends, as far as it is there; null where it is to be whole first. */
  #endOf(bytes: Buffer, at: number): number | null {
    const extent = extentOf(bytes, at);
    if (extent !== null && extent.end <= bytes.length) return extent.end;
    const isHeld = extent !== null && extent.end - at > this.#options.mostPacketBytes;
    if (extent === null || isHeld || extent.end - at <= mostHeldBytes) {
      this.#rest = bytes.subarray(at);
      return null;
    }
    this.#passing = extent.end - bytes.length;
    return bytes.length;
  }

  close(): void {
    this.#takeBackRelease?.();
    // Acknowledged already, and there is no link any more to bring it over.
    for (const { key, id } of this.#held.values()) this.#left(key, false, () => id);
    this.#held.clear();
    if (this.#surplus.size > 0) this.#tell(Infinity);
  }

  /** Null for what is none that may be too many. */
  #message(bytes: Buffer, at: number, end: number): Message | null {
    const first = bytes[at] ?? 0;
    const extent = extentOf(bytes, at);
    if (first >> 4 !== publish || extent?.end !== end || end - extent.body < 2) return null;
    const { body } = extent;
    const topicEnd = body + 2 + bytes.readUInt16BE(body);
    const hasId = (first & 0x06) !== 0;
    if (topicEnd + (hasId ? 2 : 0) > end) return null;
    const topic = bytes.toString("utf8", body + 2, topicEnd);
    const allowance = this.#allowanceOf(topic);
    if (allowance === null) return null;
    const properties = topicEnd + (hasId ? 2 : 0);
    const payload = this.#options.isVersion5 ? afterProperties(bytes, properties) : properties;
    if (payload > end) return null;
    const id = hasId ? bytes.readUInt16BE(topicEnd) : null;
    return { topic, allowance, payload: bytes.subarray(payload, end), bytes: bytes.subarray(at, end), id };
  }

  #allowanceOf(topic: string): FloodAllowance | null {
    const known = this.#allowances.get(topic);
    if (known !== undefined) return known;
    if (this.#allowances.size >= mostKnownTopics) this.#allowances.clear();
    const allowance = this.#listener.allowanceOf(topic);
    this.#allowances.set(topic, allowance);
    return allowance;
  }

  /** Null where it goes on as it is; what goes on before it; or that it does not go on. */
  #passes(message: Message, now: number): Buffer | "drop" | null {
    const { topic, payload, allowance } = message;
    const { key, isUrgent } = allowance;
    const { known, urgent, others } = receiving.foreign;
    if (this.#take(key, isUrgent === null ? others : known, now)) return this.#released(topic);
    const idOf = () => allowance.idOf?.(payload) ?? null;
    if (isUrgent?.(payload) !== true) return this.#left(key, false, idOf);
    if (this.#take(`${key} `, urgent, now)) return this.#released(topic);
    const place = `${topic}\0${allowance.targetOf?.(payload) ?? ""}`;
    const replaced = this.#held.get(place);
    if (replaced === undefined && this.#heldOf(topic).length >= mostHeldOfTopic)
      return this.#left(key, false, idOf);
    const packet = Buffer.from(message.bytes);
    this.#held.set(place, { topic, key, packet, id: this.#idIfRoom(key, true, idOf) });
    this.#takeBackRelease ??= this.#options.clock.after(releaseEveryMs, this.#release);
    return replaced === undefined ? "drop" : this.#left(key, true, () => replaced.id);
  }

  #take(key: string, pace: Pace, now: number): boolean {
    const tokens = this.#tokens.get(key) ?? new Tokens(pace, now);
    this.#tokens.set(key, tokens);
    return tokens.take(now);
  }

  #left(key: string, isUrgent: boolean, idOf: () => string | null): "drop" {
    const id = this.#idIfRoom(key, isUrgent, idOf);
    const left = this.#leftOf(key, isUrgent);
    left.count += 1;
    if (id === null) return "drop";
    left.ids.push(id);
    this.#idBytes -= id.length;
    return "drop";
  }

  #leftOf(key: string, isUrgent: boolean): Left {
    const place = isUrgent ? `${key} ` : key;
    const left = this.#surplus.get(place) ?? { key, count: 0, isUrgent, ids: [] };
    this.#surplus.set(place, left);
    return left;
  }

  /** Of a very great flood no more than the first are looked at. */
  #idIfRoom(key: string, isUrgent: boolean, idOf: () => string | null): string | null {
    const looked = this.#surplus.get(isUrgent ? `${key} ` : key)?.count ?? 0;
    return looked < mostIds && this.#idBytes > 0 ? idOf() : null;
  }

  /** Urgent ones of the same topic that have waited are older than this. */
  #released(topic: string): Buffer | null {
    if (this.#held.size === 0) return null;
    const held = this.#heldOf(topic);
    for (const [place] of held) this.#held.delete(place);
    return held.length === 0 ? null : Buffer.concat(held.map(([, { packet }]) => withoutId(packet)));
  }

  #heldOf(topic: string): readonly (readonly [string, Held])[] {
    return [...this.#held].filter(([, held]) => held.topic === topic);
  }

  /** Between packets only: in the middle of a large one it waits. */
  readonly #release = (): void => {
    this.#takeBackRelease = null;
    const now = this.#options.clock.monotonic();
    for (const [place, { key, packet }] of this.#passing > 0 ? [] : [...this.#held]) {
      if (!this.#take(`${key} `, receiving.foreign.urgent, now)) continue;
      this.#held.delete(place);
      this.#options.push(withoutId(packet));
    }
    if (this.#held.size > 0) this.#takeBackRelease = this.#options.clock.after(releaseEveryMs, this.#release);
  };

  readonly #tellLater = (): void => {
    this.#takeBackTelling = null;
    this.#tell(this.#options.clock.monotonic());
  };

  #tell(now: number): void {
    if (now - this.#toldAt < tellEveryMs) {
      this.#takeBackTelling ??= this.#options.clock.after(tellEveryMs, this.#tellLater);
      return;
    }
    this.#takeBackTelling?.();
    this.#takeBackTelling = null;
    this.#toldAt = now;
    this.#allowances.clear();
    const surplus = this.#surplus;
    this.#surplus = new Map();
    this.#idBytes = mostIdBytes;
    for (const left of surplus.values()) this.#listener.onSurplus(left);
  }
}

const acknowledgement = (id: number): Buffer => Buffer.from([0x40, 2, id >> 8, id & 0xff]);

/** The same message as QoS 0: it was acknowledged already. */
function withoutId(packet: Buffer): Buffer {
  const extent = extentOf(packet, 0);
  const first = packet[0] ?? 0;
  if (extent === null || (first & 0x06) === 0) return packet;
  const topicEnd = extent.body + 2 + packet.readUInt16BE(extent.body);
  const body = Buffer.concat([packet.subarray(extent.body, topicEnd), packet.subarray(topicEnd + 2)]);
  return Buffer.concat([Buffer.from([first & 0xf1, ...lengthOf(body.length)]), body]);
}

function lengthOf(bytes: number): readonly number[] {
  const digits: number[] = [];
  for (let left = bytes; left > 0 || digits.length === 0; left = Math.floor(left / 128))
    digits.push((left % 128) | (left >= 128 ? 128 : 0));
  return digits;
}

/** Has a stream bring no more of a flood than that. */
export function leaveOutSurplus(
  stream: Duplex,
  listener: FloodListener,
  options: Omit<SurplusOptions, "write" | "push">,
): void {
  const push = stream.push.bind(stream);
  const filter = new SurplusFilter(listener, {
    ...options,
    write: (bytes) => void stream.write(bytes),
    push: (bytes) => void push(bytes),
  });
  stream.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(null);
    const left = filter.take(chunk);
    // Of nothing the stream would not know that it was read.
    return left.length === 0 || push(left);
  };
  stream.once("close", () => filter.close());
}
