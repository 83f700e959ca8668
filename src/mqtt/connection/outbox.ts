import type { Clock } from "../../runtime/clock.js";
import { PublishError } from "./publish-error.js";
import type { ConnectionLimits, PublishOptions } from "./settings.js";

/** A publish on its way through the outbox. */
export interface Parcel {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly options: PublishOptions;
  readonly bytes: number;
}

/** Where parcels leave: a link that is up. */
export interface Exit {
  /** Calls back once the broker acknowledged (QoS 1) or the packet is written (QoS 0). Returns the packet id. */
  send(parcel: Parcel, done: (error: Error | null) => void): number;
  /** Frees what the MQTT library keeps for a publish that is given up. */
  forget(id: number): void;
}

interface Flight {
  readonly parcel: Parcel;
  readonly resolve: () => void;
  readonly reject: (error: PublishError) => void;
  sentAt: number;
  id: number;
}

type Tally = { published: number; unacknowledged: number; publishRefused: number; dropped: number };

/**
 * Publishes between the caller and the link: at most `window` unacknowledged at the broker, the others wait in order, all
 * bounded. Nothing outlives its link: a lost one rejects everything, because the next link starts from current state.
 */
export class Outbox {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  // Insertion order is sending order, so a sweep stops at the first one that is young enough.
  readonly #flying = new Set<Flight>();
  #waiting: Flight[] = [];
  #next = 0;
  #waitingBytes = 0;
  #exit: Exit | null = null;
  #window = 0;
  #watchers: (() => void)[] = [];
  readonly #tally: Tally = { published: 0, unacknowledged: 0, publishRefused: 0, dropped: 0 };

  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get counters(): Readonly<Tally> & { readonly inFlight: number; readonly waiting: number } {
    return { ...this.#tally, inFlight: this.#flying.size, waiting: this.#waiting.length - this.#next };
  }

  open(exit: Exit, receiveMaximum: number | null): void {
    this.#exit = exit;
    this.#window = Math.max(1, Math.min(this.#limits.window, receiveMaximum ?? this.#limits.window));
  }

  /** Rejects all that is on its way; further publishes are refused until the next `open`. */
  close(reason: string): void {
    const exit = this.#exit;
    this.#exit = null;
    const lost = [...this.#flying, ...this.#waiting.slice(this.#next)];
    for (const flight of this.#flying) if (flight.id > 0) exit?.forget(flight.id);
    this.#flying.clear();
    this.#waiting = [];
    this.#next = 0;
    this.#waitingBytes = 0;
    for (const flight of lost) this.#drop(flight, new PublishError("offline", reason));
    this.#wakeWatchers();
  }

  /** Counts and makes the rejection of a publish that is not sent at all. */
  refuse(kind: "invalid" | "offline" | "busy", message: string): Promise<never> {
    this.#tally.dropped += 1;
    return Promise.reject(new PublishError(kind, message));
  }

  publish(parcel: Parcel): Promise<void> {
    if (this.#exit === null)
      return this.refuse("offline", `not connected to the broker: ${parcel.topic} not sent`);
    if (this.#full(parcel))
      return this.refuse("busy", `too many publishes wait for the broker: ${parcel.topic} not sent`);
    return new Promise((resolve, reject) => {
      const flight: Flight = { parcel, resolve, reject, sentAt: 0, id: 0 };
      if (this.#flying.size < this.#window && this.#next === this.#waiting.length) this.#send(flight);
      else this.#wait(flight);
    });
  }

  /** Resolves when a publish would be sent at once, or when there is no link (then publishing says so). */
  ready(): Promise<void> {
    if (this.#exit === null || this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** Gives up on what the broker has not acknowledged in time. Returns how many. */
  sweep(): number {
    const latest = this.#clock.monotonic() - this.#limits.ackTimeoutMs;
    let expired = 0;
    for (const flight of this.#flying) {
      if (flight.sentAt > latest) break;
      this.#flying.delete(flight);
      this.#exit?.forget(flight.id);
      this.#tally.unacknowledged += 1;
      expired += 1;
      const seconds = this.#limits.ackTimeoutMs / 1000;
      const message = `the broker did not acknowledge ${flight.parcel.topic} within ${seconds} s`;
      flight.reject(new PublishError("unacknowledged", message));
    }
    if (expired > 0) this.#advance();
    return expired;
  }

  #full(parcel: Parcel): boolean {
    const count = this.#waiting.length - this.#next;
    return (
      count >= this.#limits.maxWaiting || this.#waitingBytes + parcel.bytes > this.#limits.maxWaitingBytes
    );
  }

  #wait(flight: Flight): void {
    this.#waiting.push(flight);
    this.#waitingBytes += flight.parcel.bytes;
  }

  #send(flight: Flight): void {
    if (this.#exit === null) return;
    flight.sentAt = this.#clock.monotonic();
    this.#flying.add(flight);
    flight.id = this.#exit.send(flight.parcel, (error) => {
      this.#settle(flight, error);
    });
  }

  #settle(flight: Flight, error: Error | null): void {
    if (!this.#flying.delete(flight)) return;
    if (error === null) {
      this.#tally.published += 1;
      flight.resolve();
    } else {
      this.#tally.publishRefused += 1;
      const message = `the broker refused ${flight.parcel.topic}: ${error.message}; check its access list`;
      flight.reject(new PublishError("refused", message, { cause: error }));
    }
    this.#advance();
  }

  #drop(flight: Flight, error: PublishError): void {
    this.#tally.dropped += 1;
    flight.reject(error);
  }

  #advance(): void {
    while (this.#flying.size < this.#window) {
      const flight = this.#waiting[this.#next];
      if (flight === undefined) break;
      this.#next += 1;
      this.#waitingBytes -= flight.parcel.bytes;
      this.#send(flight);
    }
    this.#compact();
    if (this.#hasRoom()) this.#wakeWatchers();
  }

  /** Cuts the sent head off now and then, so that taking from the front stays cheap. */
  #compact(): void {
    if (this.#waiting.length === 0) return;
    if (this.#next === this.#waiting.length) this.#waiting = [];
    else if (this.#next < 1024) return;
    else this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
  }

  #hasRoom(): boolean {
    return this.#next === this.#waiting.length && this.#flying.size < this.#window;
  }

  #wakeWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}
