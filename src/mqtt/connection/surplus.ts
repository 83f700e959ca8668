import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/clock.js";
import { receiving } from "../../runtime/socket-limits.js";
import type { FloodAllowance, FloodListener } from "./settings.js";

/*
 * A broker sends everything in one stream, and drops what is not read fast enough, even a stop. So most of a flood is
 * removed from the stream before the MQTT library, which needs a hundred times as long for each message. Urgent
 * messages are never lost: of many for one target the newest goes on as soon as it may.
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

/** A PUBLISH in a chunk, with its topic and payload; `bytes` is the whole packet. */
interface Message {
  readonly topic: string;
  readonly allowance: FloodAllowance;
  readonly payload: Buffer;
  readonly bytes: Buffer;
  /** Packet id; null where no acknowledgement is due. */
  readonly id: number | null;
}

/** An urgent message that waits for its turn. */
interface Held {
  readonly topic: string;
  readonly key: string;
  readonly packet: Buffer;
  readonly id: string | null;
}

/** A message above the greatest allowed size. */
export interface TooLarge {
  readonly topic: string;
  readonly bytes: number;
}

interface SurplusOptions {
  readonly isVersion5: boolean;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly write: (bytes: Buffer) => void;
  readonly push: (bytes: Buffer) => void;
  /**
   * The greatest size of a packet. A larger one is dropped, as the MQTT library would keep all of it and memory might
   * run out.
   */
  readonly mostPacketBytes: number;
  readonly onTooLarge: (message: TooLarge) => void;
}

/** Messages of an allowance that were dropped. */
interface Left {
  readonly key: string;
  count: number;
  readonly isUrgent: boolean;
  readonly ids: string[];
}

const publish = 3;
const longestHeader = 5;
/** An incomplete packet up to this size is held back. A command is smaller; larger packets are passed on in pieces. */
const mostHeldBytes = 20 * 1024;
const mostKnownTopics = 2_000;
/** The most urgent messages of a topic that wait, each for another target. */
const mostHeldOfTopic = 100;
/**
 * The most messages of an allowance searched for ids, and the most bytes of ids in one report; the rest is only
 * counted.
 */
const mostIds = 300;
const mostIdBytes = 64 * 1024;
const nothing = Buffer.alloc(0);
const tellEveryMs = 2_000;
const releaseEveryMs = 50;

/** Where a packet's body begins and the packet ends; null while the header of at most five bytes is incomplete. */
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

/** Where the payload begins behind the properties of MQTT 5; beyond the end if they are malformed. */
function afterProperties(bytes: Buffer, at: number): number {
  const found = extentOf(bytes, at - 1);
  return found === null ? Infinity : found.end;
}

/** Topic and id of a PUBLISH; null while they are incomplete. */
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

/**
 * Removes the surplus from incoming bytes: returns the bytes to pass on, and writes the acknowledgements for what it
 * dropped.
 */
export class SurplusFilter {
  readonly #listener: FloodListener;
  readonly #options: SurplusOptions;
  #rest: Buffer = nothing;
  /** Bytes still to come of a large packet that is passed on in pieces. */
  #passing = 0;
  /** Bytes still to come of a packet that is dropped as too large. */
  #skipping = 0;
  readonly #allowances = new Map<string, FloodAllowance | null>();
  readonly #tokens = new Map<string, Tokens>();
  /** The newest urgent message without room, by topic and target. */
  readonly #held = new Map<string, Held>();
  #surplus = new Map<string, Left>();
  /** Bytes left for ids until the next report. */
  #idBytes = mostIdBytes;
  #toldAt = -Infinity;
  #takeBackRelease: (() => void) | null = null;
  #takeBackTelling: (() => void) | null = null;

  constructor(listener: FloodListener, options: SurplusOptions) {
    this.#listener = listener;
    this.#options = options;
  }

  /** Returns what is left of the chunk for the parser. */
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

  /**
   * Where a packet above the greatest size ends in these bytes, with its acknowledgement; null for any other packet.
   */
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
    // The sender of a command or request is told that it was not accepted.
    if (allowance !== null) this.#left(allowance.key, false, () => null);
    onTooLarge({ topic, bytes: extent.end - at });
    return { end, answer: id === null ? nothing : acknowledgement(id) };
  }

  /** Where the packet ends in these bytes; null if it has to be complete first. */
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
    // They are acknowledged already, and there is no link left to bring them.
    for (const { key, id } of this.#held.values()) this.#left(key, false, () => id);
    this.#held.clear();
    if (this.#surplus.size > 0) this.#tell(Infinity);
  }

  /** Parses a PUBLISH on a limited topic; null for anything else. */
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

  /** Null to pass the message on; bytes to pass on before it; "drop" to leave it out. */
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

  /** In a very large flood only the first messages are searched for ids. */
  #idIfRoom(key: string, isUrgent: boolean, idOf: () => string | null): string | null {
    const looked = this.#surplus.get(isUrgent ? `${key} ` : key)?.count ?? 0;
    return looked < mostIds && this.#idBytes > 0 ? idOf() : null;
  }

  /** Removes and returns the urgent messages waiting on this topic, which are older than the one that passes now. */
  #released(topic: string): Buffer | null {
    if (this.#held.size === 0) return null;
    const held = this.#heldOf(topic);
    for (const [place] of held) this.#held.delete(place);
    return held.length === 0 ? null : Buffer.concat(held.map(([, { packet }]) => withoutId(packet)));
  }

  #heldOf(topic: string): readonly (readonly [string, Held])[] {
    return [...this.#held].filter(([, held]) => held.topic === topic);
  }

  /** Runs between packets only: in the middle of a large one it waits. */
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

/** The message as QoS 0, since it is acknowledged already. */
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

/** Makes a stream leave out the surplus of a flood. */
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
    // Pushing an empty chunk would hide from the stream that something was read.
    return left.length === 0 || push(left);
  };
  stream.once("close", () => filter.close());
}
