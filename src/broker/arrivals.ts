import type { Duplex } from "node:stream";
import type { Clock } from "../runtime/clock.js";
import { ArrivalAge, type Gaps } from "../runtime/gaps.js";

/** So often a connection is looked at until it was read empty. */
const lookEveryMs = 50;

/**
 * Since when the packets of clients may have been on their way: of one that lay in its socket while the process stood still, as long as
 * that. The broker cannot have a client answer, so what counts is that its connection was read empty since.
 */
export class Arrivals {
  readonly #clock: Clock;
  readonly #gaps: Gaps;
  readonly #since = new WeakMap<object, number>();

  constructor(clock: Clock, gaps: Gaps) {
    this.#clock = clock;
    this.#gaps = gaps;
  }

  /** Follows a new connection; what it returns is to be told of each packet as it is read. */
  follow(stream: Duplex): (packet: object) => void {
    const age = new ArrivalAge(this.#clock, this.#gaps, (proven) => this.#whenReadEmpty(stream, proven));
    stream.once("close", () => age.close());
    return (packet) => {
      // A connection that was made while nobody looked has waited with what it brings.
      const now = this.#clock.monotonic();
      this.#since.set(packet, Math.min(now - age.ms(), this.#gaps.sentSince(now)));
    };
  }

  /** Monotonic ms; of what is no packet of a client, now. */
  since(packet: object): number {
    return this.#since.get(packet) ?? this.#clock.monotonic();
  }

  #whenReadEmpty(stream: Duplex, proven: () => void, wasEmpty = false): void {
    this.#clock.after(lookEveryMs, () => {
      if (stream.destroyed) return;
      const now = this.#clock.monotonic();
      const isEmpty = this.#gaps.sentSince(now) === now && stream.readableLength === 0;
      // What a full buffer kept out of it comes with the next turns.
      if (isEmpty && wasEmpty) proven();
      else this.#whenReadEmpty(stream, proven, isEmpty);
    });
  }
}
