import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/clock.js";
import { receiving } from "../../runtime/receiving.js";
import type { FloodAllowance, FloodListener } from "./settings.js";

/*
 * A broker hands over what everybody sends in one stream, and drops what is not taken fast enough, a stop too. So of a flood most is
 * taken out of the stream before the MQTT library sees it, which needs a hundred times as long for each message. What asks for haste
 * is never lost: of many the newest goes on as soon as it may.
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

const publish = 3;
const longestHeader = 5;
/** What is not whole yet is kept up to this size. A command is smaller; what is larger is passed on in pieces. */
const mostHeldBytes = 20 * 1024;
const mostKnownTopics = 2_000;
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

/** Takes the surplus out of what comes. Returns what follows of the bytes so far, and writes the acknowledgements that it owes. */
export class SurplusFilter {
  readonly #listener: FloodListener;
  readonly #isVersion5: boolean;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #write: (bytes: Buffer) => void;
  readonly #push: (bytes: Buffer) => void;
  #rest: Buffer = nothing;
  /** Of a large packet, which is passed on as it comes. */
  #passing = 0;
  readonly #allowances = new Map<string, FloodAllowance | null>();
  readonly #tokens = new Map<string, Tokens>();
  /** The newest urgent one of each topic that had no room. */
  readonly #held = new Map<string, { readonly key: string; readonly packet: Buffer }>();
  #surplus = new Map<string, { count: number; urgent: number }>();
  #toldAt = -Infinity;
  #takeBack: (() => void) | null = null;

  constructor(
    listener: FloodListener,
    options: {
      readonly isVersion5: boolean;
      readonly clock: Pick<Clock, "monotonic" | "after">;
      readonly write: (bytes: Buffer) => void;
      readonly push: (bytes: Buffer) => void;
    },
  ) {
    this.#listener = listener;
    this.#isVersion5 = options.isVersion5;
    this.#clock = options.clock;
    this.#write = options.write;
    this.#push = options.push;
  }

  /** What is left of it for the parser. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = nothing;
    const now = this.#clock.monotonic();
    const kept: Buffer[] = [];
    const answers: Buffer[] = [];
    let at = Math.min(this.#passing, bytes.length);
    this.#passing -= at;
    let from = 0;
    while (at < bytes.length) {
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
    if (answers.length > 0) this.#write(Buffer.concat(answers));
    this.#tell(now);
    return Buffer.concat(kept);
  }

  /** Where the packet ends, as far as it is there; null where it is to be whole first. */
  #endOf(bytes: Buffer, at: number): number | null {
    const extent = extentOf(bytes, at);
    if (extent !== null && extent.end <= bytes.length) return extent.end;
    if (extent === null || extent.end - at <= mostHeldBytes) {
      this.#rest = bytes.subarray(at);
      return null;
    }
    this.#passing = extent.end - bytes.length;
    return bytes.length;
  }

  close(): void {
    this.#takeBack?.();
    // Acknowledged already, and there is no link any more to bring it over.
    for (const { key } of this.#held.values()) this.#left(key, false);
    this.#held.clear();
    this.#tell(Infinity);
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
    const topic = bytes.toString("latin1", body + 2, topicEnd);
    const allowance = this.#allowanceOf(topic);
    if (allowance === null) return null;
    const properties = topicEnd + (hasId ? 2 : 0);
    const payload = this.#isVersion5 ? afterProperties(bytes, properties) : properties;
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
    if (isUrgent?.(payload) !== true) return this.#left(key, false);
    if (this.#take(`${key} `, urgent, now)) return this.#released(topic);
    const isReplaced = this.#held.has(topic);
    this.#held.set(topic, { key, packet: Buffer.from(message.bytes) });
    this.#takeBack ??= this.#clock.after(releaseEveryMs, this.#release);
    return isReplaced ? this.#left(key, true) : "drop";
  }

  #take(key: string, pace: Pace, now: number): boolean {
    const tokens = this.#tokens.get(key) ?? new Tokens(pace, now);
    this.#tokens.set(key, tokens);
    return tokens.take(now);
  }

  #left(key: string, isUrgent: boolean): "drop" {
    const left = this.#surplus.get(key) ?? { count: 0, urgent: 0 };
    if (isUrgent) left.urgent += 1;
    else left.count += 1;
    this.#surplus.set(key, left);
    return "drop";
  }

  /** An urgent one of the same topic that has waited is older than this. */
  #released(topic: string): Buffer | null {
    const held = this.#held.get(topic);
    this.#held.delete(topic);
    return held === undefined ? null : withoutId(held.packet);
  }

  /** Between packets only: in the middle of a large one it waits. */
  readonly #release = (): void => {
    this.#takeBack = null;
    const now = this.#clock.monotonic();
    for (const [topic, { key, packet }] of this.#passing > 0 ? [] : [...this.#held]) {
      if (!this.#take(`${key} `, receiving.foreign.urgent, now)) continue;
      this.#held.delete(topic);
      this.#push(withoutId(packet));
    }
    if (this.#held.size > 0) this.#takeBack = this.#clock.after(releaseEveryMs, this.#release);
    this.#tell(now);
  };

  #tell(now: number): void {
    if (this.#surplus.size === 0) return;
    if (now - this.#toldAt < tellEveryMs) {
      this.#takeBack ??= this.#clock.after(tellEveryMs, this.#release);
      return;
    }
    this.#toldAt = now;
    this.#allowances.clear();
    const surplus = this.#surplus;
    this.#surplus = new Map();
    for (const [key, { count, urgent }] of surplus) {
      if (count > 0) this.#listener.onSurplus(key, count, false);
      if (urgent > 0) this.#listener.onSurplus(key, urgent, true);
    }
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
  options: { readonly isVersion5: boolean; readonly clock: Pick<Clock, "monotonic" | "after"> },
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
