import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Clock } from "./clock.js";
import { ArrivalAge, type Gaps, noGaps } from "./gaps.js";
import type { PacedReading } from "./paced-reading.js";

/** The pause between checks of a connection until it was read empty. */
const lookEveryMs = 50;

/** A turn that brings fewer bytes has read the socket empty: its buffer was not full, however small the pieces. */
const littleBytes = 2_048;

type Reading = Pick<PacedReading, "isEmpty" | "onBehind" | "onCame">;

/**
 * How old the data of a connection may be that is never seen empty. After a turn with little data the socket was empty,
 * so later data was sent afterwards.
 */
class Drained {
  readonly #clock: Clock;
  /** Bytes of the newest turn that brought any; infinite before the first. */
  #bytes = Infinity;
  #cameAt = -Infinity;
  #isSameTurn = false;
  #emptyAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes new bytes; `isTaken`: all earlier ones are read. Returns when the socket is known to have been empty; null if
   * nothing new is known. It returns the time before last, as the new bytes may end a packet that began earlier.
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
 * Since when data of each connection may have been on its way. It lies in its socket while the process stands still, or
 * if the peer sends faster than it is read. A client cannot be asked to answer, so the proof is that its connection was
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

  /** Follows a new connection and its paced readings. Call the returned function for each packet as it is read. */
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
      // A connection that was made while the process stood still waited together with its data.
      const now = this.#clock.monotonic();
      return Math.min(now - age.ms(), this.#gaps.sentSince(now));
    };
    this.#since.set(stream, since);
    return (packet) => {
      const readAt = since();
      this.#since.set(packet, () => readAt);
    };
  }

  /** Data read from now on was sent after `to`. */
  advance(stream: Duplex, to: number): void {
    this.#ages.get(stream)?.advance(to);
  }

  isFollowed(stream: Duplex): boolean {
    return this.#since.has(stream);
  }

  /** The earliest time, in monotonic ms, at which a packet or a connection's present data was sent; else now. */
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
      // Data that a full buffer kept out of the socket arrives with the next turns, so it must be empty twice.
      if (isEmpty && wasEmpty) proven();
      else this.#whenReadEmpty(stream, readings, proven, isEmpty);
    });
  }
}

/** Whether the stream is the socket itself: with TLS or WebSocket frames, data may also wait in between. */
const isReadItself = (stream: Duplex, readings: readonly Reading[]): boolean =>
  readings.length === 1 && stream instanceof Socket && !(stream instanceof TLSSocket);
