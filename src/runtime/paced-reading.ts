import type { Socket } from "node:net";
import { Duplex, type Readable } from "node:stream";
import type { Clock } from "./clock.js";
import type { Allowance, Amount, Receiving } from "./socket-limits.js";

/*
 * Limits the pace of a socket's data before its parser sees a byte: a parser handles all that came at once, perhaps ten
 * thousand units, before anything else in the process gets a turn.
 */

/** Counts how many of these bytes hold at most `most` units, and these units. Each byte is passed once, in order. */
export type Framing = (bytes: Buffer, most: number) => Amount;

interface Header {
  /** Bytes of the header, as far as those present tell. */
  readonly length: number;
  /** Bytes of the payload behind it. */
  readonly payload: number;
}

/**
 * Counts the answers that a peer still owes. An answer that was asked for costs nothing: otherwise a flood sent by
 * others would keep a subscriber with many topics from sending.
 */
export class AnswersDue {
  #due = 0;

  /** Counts no more than the maximum for a peer that never answers. */
  add(count: number): void {
    this.#due = Math.min(mostAnswersDue, this.#due + count);
  }

  take(): boolean {
    if (this.#due <= 0) return false;
    this.#due -= 1;
    return true;
  }
}

const mostAnswersDue = 10_000;
const oneUnit = () => 1;

/** `unitsOf`: the cost of a frame, from its first byte and its payload's length. */
function frameBy(
  headerOf: (head: readonly number[]) => Header,
  unitsOf: (first: number, payload: number) => number = oneUnit,
): Framing {
  const head: number[] = [];
  let left = 0;
  return (bytes, most) => {
    let at = 0;
    let units = 0;
    while (at < bytes.length) {
      if (left > 0) {
        const taken = Math.min(left, bytes.length - at);
        at += taken;
        left -= taken;
        continue;
      }
      if (head.length === 0 && units >= most) break;
      head.push(bytes[at] ?? 0);
      at += 1;
      const { length, payload } = headerOf(head);
      if (head.length < length) continue;
      units += unitsOf(head[0] ?? 0, payload);
      head.length = 0;
      left = payload;
    }
    return { bytes: at, units };
  };
}

const numberOf = (digits: readonly number[]): number => digits.reduce((sum, digit) => sum * 256 + digit, 0);

/** An acknowledgement of MQTT has at most this length, and some clients send each piece of it in a frame. */
const mostBytesOfAnswer = 6;
export const framesOfAnswer = 4;

/** Frames of a WebSocket, from either side; a frame that may hold an owed answer costs nothing. */
export const webSocketFrames = (due?: AnswersDue): Framing =>
  frameBy(
    (head) => {
      const [, second = 0] = head;
      if (head.length < 2) return { length: 2, payload: 0 };
      const short = second & 0x7f;
      const more = short === 126 ? 2 : short === 127 ? 8 : 0;
      const length = 2 + more + (second & 0x80 ? 4 : 0);
      return { length, payload: more === 0 ? short : numberOf(head.slice(2, 2 + more)) };
    },
    due && ((_, payload) => (payload <= mostBytesOfAnswer && due.take() ? 0 : 1)),
  );

const longestHeader = 5;

/** PUBACK, PUBREC and PUBCOMP. */
const answers: ReadonlySet<number> = new Set([0x4, 0x5, 0x7]);

/** SUBSCRIBE and UNSUBSCRIBE. */
const listing: ReadonlySet<number> = new Set([0x8, 0xa]);
/** Units of one such packet: all retained messages of a filter are sent, and each filter costs a turn of its own. */
const unitsOfList = 4;
const bytesOfUnit = 1_024;
/** A header may claim any length, and its units are taken from everybody's allowance. */
const mostUnitsOfList = 64;

/** Packets of MQTT; an owed answer costs nothing. Invalid packets are left to the parser. */
export const mqttPackets = (due?: AnswersDue): Framing =>
  frameBy(
    (head) => {
      const digits = head.slice(1);
      const isWhole = digits.length > 0 && (digits.at(-1) ?? 0) < 0x80;
      if (!isWhole && head.length < longestHeader) return { length: head.length + 1, payload: 0 };
      const payload = digits.reduceRight((sum, digit) => sum * 128 + (digit & 0x7f), 0);
      return { length: head.length, payload: isWhole ? payload : 0 };
    },
    (first, payload) => {
      if (listing.has(first >> 4))
        return Math.min(unitsOfList + Math.floor(payload / bytesOfUnit), mostUnitsOfList);
      return due !== undefined && answers.has(first >> 4) && due.take() ? 0 : 1;
    },
  );

const lineFeed = 0x0a;

/** Lines, as in HTTP heads and chunked bodies. */
export const lines = (): Framing => (bytes, most) => {
  let at = 0;
  for (let units = 0; units < most; units += 1) {
    const end = bytes.indexOf(lineFeed, at);
    if (end < 0) return { bytes: bytes.length, units };
    at = end + 1;
  }
  return { bytes: at, units: most };
};

interface LargestOfNats {
  readonly mostMessageBytes: number;
  readonly mostLineBytes: number;
}

/**
 * Messages of NATS: lines, some of which say how many bytes follow. `onTooLarge` is called for one above its limit, and
 * nothing is passed on after it.
 */
export function natsMessages(
  { mostMessageBytes, mostLineBytes }: LargestOfNats,
  onTooLarge: () => void,
): Framing {
  let line = Buffer.alloc(0);
  let payload = 0;
  let isTooLarge = false;
  return (bytes, most) => {
    let at = 0;
    let units = 0;
    while (at < bytes.length && !isTooLarge) {
      if (payload > 0) {
        const taken = Math.min(payload, bytes.length - at);
        at += taken;
        payload -= taken;
        continue;
      }
      if (line.length === 0 && units >= most) break;
      const end = bytes.indexOf(lineFeed, at) + 1 || bytes.length;
      const isWhole = bytes[end - 1] === lineFeed;
      line = Buffer.concat([line, bytes.subarray(at, Math.min(end, at + mostLineBytes + 1))]);
      isTooLarge = line.length > mostLineBytes;
      at = end;
      if (!isWhole) break;
      payload = payloadOf(line.toString("latin1"));
      isTooLarge ||= payload > mostMessageBytes;
      line = Buffer.alloc(0);
      units += 1;
    }
    if (isTooLarge) onTooLarge();
    return { bytes: isTooLarge ? 0 : at, units };
  };
}

/** Bytes of the payload that a line announces, with its line end. */
function payloadOf(line: string): number {
  const size = /^H?MSG\s.*\s(\d+)\s*$/i.exec(line)?.[1];
  return size === undefined ? 0 : Number(size) + 2;
}

/** The shortest wait for an allowance to grow again. */
const shortestWaitMs = 10;

/** A token bucket for bytes and units. */
class Bucket {
  readonly #allowance: Allowance;
  /**
   * The amount that grows in the shortest wait. Fewer bytes are not passed on, else each turn would bring some: a
   * library takes half a minute to join a large frame from a hundred thousand pieces.
   */
  readonly #least: Amount;
  #left: Amount;
  #at: number;

  constructor(allowance: Allowance, now: number) {
    const { atOnce, perSecond } = allowance;
    this.#allowance = allowance;
    const grown = Math.max(1, (perSecond.bytes * shortestWaitMs) / 1_000);
    this.#least = { bytes: Math.min(atOnce.bytes, grown), units: 1 };
    this.#left = atOnce;
    this.#at = now;
  }

  isSpent(now: number): boolean {
    const { bytes, units } = this.left(now);
    return bytes < this.#least.bytes || units < this.#least.units;
  }

  left(now: number): Amount {
    const { atOnce, perSecond } = this.#allowance;
    const seconds = Math.max(0, now - this.#at) / 1_000;
    this.#at = now;
    const grown = (what: keyof Amount) =>
      Math.min(atOnce[what], this.#left[what] + seconds * perSecond[what]);
    this.#left = { bytes: grown("bytes"), units: grown("units") };
    return this.#left;
  }

  take({ bytes, units }: Amount): void {
    this.#left = { bytes: this.#left.bytes - bytes, units: this.#left.units - units };
  }

  /** Ms until it is no longer spent. */
  waitMs(): number {
    const { perSecond } = this.#allowance;
    const missing = (what: keyof Amount) =>
      ((this.#least[what] - this.#left[what]) / perSecond[what]) * 1_000;
    return Math.max(0, Math.ceil(missing("bytes")), Math.ceil(missing("units")));
  }
}

const least = (...all: readonly Amount[]): Amount => ({
  bytes: Math.floor(Math.min(...all.map(({ bytes }) => bytes))),
  units: Math.floor(Math.min(...all.map(({ units }) => units))),
});

const unbounded: Amount = { bytes: Infinity, units: Infinity };

/** The sockets of one kind, which are read in turn. */
export class ReadingTurns {
  readonly clock: Clock;
  readonly receiving: Receiving;
  readonly #bucket: Bucket | null;
  /** The readings with data, the next one first. */
  readonly #line = new Set<PacedReading>();
  /** When the next turn is, in monotonic ms; Infinity for none. */
  #dueAt = Infinity;
  #takeBack: () => void = () => undefined;

  constructor(receiving: Receiving, clock: Clock) {
    this.clock = clock;
    this.receiving = receiving;
    this.#bucket = receiving.ofAll && new Bucket(receiving.ofAll, clock.monotonic());
  }

  /** The amount that may be passed on now, all of it if a single socket has data. */
  left(now: number): Amount {
    return least(this.receiving.perTurn, this.#bucket?.left(now) ?? unbounded);
  }

  take(amount: Amount): void {
    this.#bucket?.take(amount);
  }

  get isIdle(): boolean {
    return this.#line.size === 0;
  }

  enter(reading: PacedReading): void {
    this.#line.add(reading);
    this.#schedule(0);
  }

  leave(reading: PacedReading): void {
    this.#line.delete(reading);
  }

  #schedule(ms: number): void {
    const at = ms === 0 ? -Infinity : this.clock.monotonic() + Math.max(ms, shortestWaitMs);
    if (at >= this.#dueAt) return;
    this.#takeBack();
    this.#dueAt = at;
    const turn = () => {
      this.#dueAt = Infinity;
      this.#takeBack = () => undefined;
      this.#turn();
    };
    if (ms === 0) this.clock.soon(turn);
    else this.#takeBack = this.clock.after(at - this.clock.monotonic(), turn);
  }

  /** Gives each reading a share; one with more data goes behind the others. */
  #turn(): void {
    let { bytes, units } = this.receiving.perTurn;
    let wait = Infinity;
    const share = Math.max(1, Math.ceil(units / Math.max(1, this.#line.size)));
    for (const reading of [...this.#line]) {
      if (bytes <= 0 || units <= 0) {
        wait = 0;
        break;
      }
      const now = this.clock.monotonic();
      if (this.#bucket?.isSpent(now) === true) {
        wait = Math.min(wait, this.#bucket.waitMs());
        break;
      }
      const all = this.#bucket?.left(now) ?? unbounded;
      const { taken, more } = reading.handOver(least(all, { bytes, units: Math.min(units, share) }));
      bytes -= taken.bytes;
      units -= taken.units;
      if (more === null) continue;
      // Behind the others.
      this.#line.delete(reading);
      this.#line.add(reading);
      wait = Math.min(wait, more);
    }
    if (this.#line.size > 0 && wait < Infinity) this.#schedule(wait);
  }
}

const nothing: Amount = { bytes: 0, units: 0 };

/** The reading side of one stream, which passes data on no faster than its kind allows. */
export class PacedReading {
  readonly #stream: Readable;
  readonly #push: (chunk: Buffer | null) => boolean;
  readonly #read: (size: number) => void;
  #onFlood: () => void;
  #turns: ReadingTurns;
  #framing: Framing;
  #bucket: Bucket | null;
  #held: Buffer[] = [];
  #hasEnded = false;
  /** Whether the stream has asked for data and got none yet. */
  #isWanted = true;
  /** When it began to exceed its allowance; null while it does not. */
  #overSince: number | null = null;
  #isFree = false;
  #fellBehind: () => void = () => undefined;
  #came: (bytes: number) => void = () => undefined;

  /** `onFlood` is called once if it exceeds its allowance for too long. */
  constructor(
    stream: Readable,
    turns: ReadingTurns,
    framing: Framing,
    onFlood: () => void = () => undefined,
  ) {
    this.#stream = stream;
    this.#push = stream.push.bind(stream);
    this.#read = stream._read.bind(stream);
    this.#onFlood = onFlood;
    this.#turns = turns;
    this.#framing = framing;
    this.#bucket = bucketOf(turns);
    stream.push = (chunk: Buffer | null) => this.#onChunk(chunk);
    stream.unshift = (chunk: Buffer) => this.#onReturned(chunk);
    stream._read = (size) => this.#onWanted(size);
    stream.once("close", () => this.#forget());
  }

  /** From now on another protocol is spoken on it. */
  become(turns: ReadingTurns, framing: Framing, onFlood: () => void = () => undefined): void {
    this.#turns.leave(this);
    this.#turns = turns;
    this.#onFlood = onFlood;
    this.#framing = framing;
    this.#bucket = bucketOf(turns);
    this.#overSince = null;
    if (this.#held.length > 0) turns.enter(this);
  }

  /** Calls `call` whenever data comes that is not passed on at once. */
  onBehind(call: () => void): void {
    this.#fellBehind = call;
  }

  /** Calls `call` with the size of new data, before any of it is passed on. */
  onCame(call: (bytes: number) => void): void {
    this.#came = call;
  }

  /** Whether no data waits here and the stream goes on reading. */
  get isEmpty(): boolean {
    return this.#isEmpty() && (this.#isWanted || this.#isFree);
  }

  /** Lifts the limit, for a trusted peer. */
  release(): void {
    this.#isFree = true;
    this.#turns.leave(this);
    this.#flush();
  }

  /** Called in its turn. Returns what was passed on, and the ms until there is more; null if nothing can go on. */
  handOver(most: Amount): { readonly taken: Amount; readonly more: number | null } {
    const now = this.#turns.clock.monotonic();
    const own = this.#bucket?.left(now) ?? unbounded;
    const allowed = least(own, most);
    if (!this.#isReady()) return { taken: nothing, more: this.#rest() };
    if (this.#bucket?.isSpent(now) === true) return { taken: nothing, more: this.#overPace(now) };
    // The reader may change the protocol of the socket meanwhile.
    const bucket = this.#bucket;
    const turns = this.#turns;
    const taken = this.#hand(allowed);
    bucket?.take(taken);
    turns.take(taken);
    if (this.#turns !== turns) return { taken, more: null };
    const hasMore = this.#isReady();
    return { taken, more: hasMore ? 0 : this.#rest() };
  }

  #rest(): null {
    this.#turns.leave(this);
    if (this.#held.length === 0) this.#overSince = null;
    return null;
  }

  /** The ms until it may go on; null if it was stopped as a flood. */
  #overPace(now: number): number | null {
    const { closedAfterMs } = this.#turns.receiving;
    this.#overSince ??= now;
    if (closedAfterMs !== null && now - this.#overSince >= closedAfterMs) {
      this.#forget();
      this.#onFlood();
      return null;
    }
    return this.#bucket?.waitMs() ?? 0;
  }

  #onChunk(chunk: Buffer | null): boolean {
    if (this.#isFree) return this.#push(chunk);
    if (chunk === null) {
      this.#hasEnded = true;
      if (this.#held.length === 0) return this.#push(null);
      this.#turns.enter(this);
      return false;
    }
    this.#came(chunk.length);
    const isFirst = this.#held.length === 0;
    this.#held.push(chunk);
    if (isFirst && this.#turns.isIdle) this.handOver(this.#turns.left(this.#turns.clock.monotonic()));
    if (this.#isEmpty()) return this.#isWanted;
    this.#turns.enter(this);
    this.#fellBehind();
    return false;
  }

  /** Takes back data from a reader that has read too far. */
  #onReturned(chunk: Buffer): void {
    if (this.#isFree) {
      this.#push(chunk);
      return;
    }
    this.#held.unshift(chunk);
    this.#isWanted = true;
    this.#turns.enter(this);
  }

  #onWanted(size: number): void {
    this.#isWanted = true;
    if (this.#isFree || this.#held.length === 0) this.#read(size);
    else this.#turns.enter(this);
  }

  /** Passes on as much of the held data as allowed. */
  #hand(most: Amount): Amount {
    let bytes = 0;
    let units = 0;
    const turns = this.#turns;
    while (this.#isWanted && this.#turns === turns) {
      const [chunk] = this.#held;
      if (chunk === undefined || bytes >= most.bytes || units >= most.units) break;
      const piece = this.#framing(chunk.subarray(0, most.bytes - bytes), most.units - units);
      if (piece.bytes === 0) break;
      bytes += piece.bytes;
      units += piece.units;
      if (piece.bytes === chunk.length) this.#held.shift();
      else this.#held[0] = chunk.subarray(piece.bytes);
      this.#isWanted = this.#push(chunk.subarray(0, piece.bytes));
    }
    if (this.#held.length === 0 && this.#hasEnded) this.#push(null);
    return { bytes, units };
  }

  #flush(): void {
    for (const chunk of this.#held.splice(0)) this.#push(chunk);
    if (this.#hasEnded) this.#push(null);
    else if (this.#isWanted) this.#read(0);
  }

  #isReady(): boolean {
    return this.#isWanted && !this.#isEmpty() && !this.#stream.destroyed;
  }

  #isEmpty(): boolean {
    return this.#held.length === 0;
  }

  #forget(): void {
    this.#held = [];
    this.#turns.leave(this);
  }
}

const bucketOf = ({ receiving: { ofOne }, clock }: ReadingTurns): Bucket | null =>
  ofOne && new Bucket(ofOne, clock.monotonic());

/** The sockets of an HTTP server, some of which become WebSockets. */
export class PacedUpgrades {
  readonly #requests: ReadingTurns;
  readonly #frames: ReadingTurns;
  readonly #readings = new WeakMap<object, PacedReading>();

  constructor(requests: Receiving, frames: Receiving, clock: Clock) {
    this.#requests = new ReadingTurns(requests, clock);
    this.#frames = new ReadingTurns(frames, clock);
  }

  /** The reading of a new or a known socket. */
  onOpen(socket: Socket): PacedReading {
    const known = this.#readings.get(socket);
    if (known !== undefined) return known;
    const reading = new PacedReading(socket, this.#requests, lines());
    this.#readings.set(socket, reading);
    // Without a listener Node's HTTP server would read the socket directly and bypass this.
    socket.on("data", () => undefined);
    return reading;
  }

  /** `onFlood` is called once if it exceeds its allowance for too long. */
  onUpgrade(
    socket: Socket,
    { onFlood, due }: { readonly onFlood?: () => void; readonly due?: AnswersDue } = {},
  ): PacedReading {
    const reading = this.onOpen(socket);
    reading.become(this.#frames, webSocketFrames(due), onFlood);
    return reading;
  }
}

/**
 * A connection that Node's TLS reads only through its stream interface; a plain socket's bytes it would read itself. So
 * the pace also holds behind encryption.
 */
export class OwnReading extends Duplex {
  readonly #below: Socket;

  constructor(below: Socket) {
    super();
    this.#below = below;
    below.pause();
    below.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) below.pause();
    });
    below.once("end", () => this.push(null));
    below.once("error", (error) => this.destroy(error));
    below.once("close", () => this.destroy());
    below.on("timeout", () => this.emit("timeout"));
  }

  override _read(): void {
    this.#below.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#below.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#below.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#below.destroy();
    done(error);
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#below.setTimeout(ms);
    if (listener !== undefined) this.once("timeout", listener);
    return this;
  }
}
