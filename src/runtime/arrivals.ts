import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Clock } from "./clock.js";
import { ArrivalAge, type Gaps, noGaps } from "./gaps.js";
import type { PacedReading } from "./paced-reading.js";

/** The pause between looks at a connection, until it was read empty. */
const lookEveryMs = 50;

/** Of less in one turn a socket's own buffer was never full, in however small pieces it came: it was read empty. */
const littleBytes = 2_048;

type Reading = Pick<PacedReading, "isEmpty" | "onBehind" | "onCame">;

/**
 * Since when what a connection brings may have been on its way although it is never seen empty: after a turn that brought little there was
 * no more, so what comes next was sent later.
 */
class Drained {
  readonly #clock: Clock;
  /** Of the newest turn that brought something; infinite before the first. */
  #bytes = Infinity;
  #cameAt = -Infinity;
  #isSameTurn = false;
  #emptyAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Something came, of which all before it `isTaken` or not. Returns when the socket was read empty before; null where nothing new is known.
   * That is the last time but one, as what comes now may end a packet that began before.
   */
  onCame(bytes: number, isTaken: boolean): number | null {
    if (this.#isSameTurn) {
      this.#bytes += bytes;
      return null;
    }
    const isEmptied = isTaken && this.#bytes < littleBytes;
    const known = isEmptied ? this.#emptyAt : null;
    this.#emptyAt = isEmptied ? this.#cameAt : null;
    this.#bytes = bytes;
    this.#cameAt = this.#clock.monotonic();
    this.#isSameTurn = true;
    this.#clock.soon(() => {
      this.#isSameTurn = false;
    });
    return known;
  }
}

/**
 * Since when what is read of connections may have been on its way: while the process stood still it lay in its socket, and of one that
 * sends faster than it is read it lies there, too. A client of ours cannot be asked to answer, so what counts is that its connection was
 * read empty since.
 */
export class Arrivals {
  readonly #clock: Clock;
  readonly #gaps: Gaps;
  readonly #since = new WeakMap<object, () => number>();
  readonly #ages = new WeakMap<object, ArrivalAge>();

  constructor(clock: Clock, gaps: Gaps = noGaps) {
    this.#clock = clock;
    this.#gaps = gaps;
  }

  /** Follows a new connection with whatever reads it at a pace; what it returns is to be told of each packet as it is read. */
  follow(stream: Duplex, readings: readonly Reading[]): (packet: object) => void {
    const age = new ArrivalAge(this.#clock, this.#gaps, (proven) =>
      this.#whenReadEmpty(stream, readings, proven),
    );
    for (const reading of readings)
      reading.onBehind(() => {
        if (age.ms() === 0) age.resume(this.#clock.monotonic());
      });
    if (isReadItself(stream, readings)) this.#followDrained(stream, readings, age);
    this.#ages.set(stream, age);
    stream.once("close", () => age.close());
    const since = () => {
      // A connection that was made while nobody looked has waited with what it brings.
      const now = this.#clock.monotonic();
      return Math.min(now - age.ms(), this.#gaps.sentSince(now));
    };
    this.#since.set(stream, since);
    return (packet) => {
      const readAt = since();
      this.#since.set(packet, () => readAt);
    };
  }

  /** What is read of it from now on was sent after that. */
  advance(stream: Duplex, to: number): void {
    this.#ages.get(stream)?.advance(to);
  }

  isFollowed(stream: Duplex): boolean {
    return this.#since.has(stream);
  }

  /** Monotonic ms; of a packet, or of what a connection brings at this moment. Of what is neither, now. */
  since(of: object): number {
    return this.#since.get(of)?.() ?? this.#clock.monotonic();
  }

  #followDrained(stream: Duplex, readings: readonly Reading[], age: ArrivalAge): void {
    const drained = new Drained(this.#clock);
    for (const reading of readings)
      reading.onCame((bytes) => {
        const emptyAt = drained.onCame(bytes, stream.readableLength === 0 && reading.isEmpty);
        if (emptyAt !== null) age.advance(emptyAt);
      });
  }

  #whenReadEmpty(stream: Duplex, readings: readonly Reading[], proven: () => void, wasEmpty = false): void {
    this.#clock.after(lookEveryMs, () => {
      if (stream.destroyed) return;
      const now = this.#clock.monotonic();
      const isRead = stream.readableLength === 0 && readings.every(({ isEmpty }) => isEmpty);
      const isEmpty = isRead && this.#gaps.sentSince(now) === now;
      // What a full buffer kept out of it comes with the next turns.
      if (isEmpty && wasEmpty) proven();
      else this.#whenReadEmpty(stream, readings, proven, isEmpty);
    });
  }
}

/** Whether what comes of it is what its socket held: behind encryption or in frames more of it may wait in between. */
const isReadItself = (stream: Duplex, readings: readonly Reading[]): boolean =>
  readings.length === 1 && stream instanceof Socket && !(stream instanceof TLSSocket);
