import type { Clock } from "../../runtime/clock.js";
import { Proofs, type Proof } from "./proofs.js";
import { PublishError } from "./publish-error.js";
import type { BrokerFacts, ConnectionLimits, PublishOptions } from "./settings.js";
import { WaitingPublishes } from "./waiting-publishes.js";

/** A publish on its way through the outbox. */
export interface Parcel {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly options: PublishOptions;
  readonly bytes: number;
}

/** Where parcels leave: a link that is up. Keeps their order. */
export interface Exit {
  /** QoS 1: calls back once the broker acknowledged or refused it. Returns the packet id. */
  send(parcel: Parcel, done: (error: Error | null) => void): number;
  /** QoS 0: nothing ever answers it. */
  write(parcel: Parcel): void;
  /** Frees what the MQTT library keeps for a publish that is given up. */
  forget(id: number): void;
}

interface Waiting {
  readonly parcel: Parcel;
  readonly resolve: () => void;
  readonly reject: (error: PublishError) => void;
}

interface Flight extends Waiting {
  readonly sentAt: number;
  /** What went out with QoS 0 just before it. */
  readonly proof: Proof | null;
  id: number;
}

type Tally = { published: number; unacknowledged: number; publishRefused: number; dropped: number };
type Room = Pick<BrokerFacts, "receiveMaximum" | "maximumQos">;

/**
 * Publishes between the caller and the link: at most `window` unacknowledged at the broker, the others wait in order, all
 * bounded. What goes with QoS 0 is with the broker once anything sent behind it is acknowledged; where nothing else follows, a
 * mark does. Nothing outlives its link: a lost one rejects everything, because the next link starts from current state.
 */
export class Outbox {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #mark: Parcel;
  // Insertion order is sending order, so a sweep stops at the first one that is young enough.
  readonly #flying = new Set<Flight>();
  readonly #proofs = new Proofs();
  readonly #waiting: WaitingPublishes<Waiting>;
  #exit: Exit | null = null;
  #window = 0;
  #isMarking = false;
  #answeredAt = 0;
  #isMute = false;
  #watchers: (() => void)[] = [];
  readonly #tally: Tally = { published: 0, unacknowledged: 0, publishRefused: 0, dropped: 0 };

  /** `markTopic`: where the marks go. */
  constructor(limits: ConnectionLimits, clock: Clock, markTopic: string) {
    this.#limits = limits;
    this.#clock = clock;
    this.#waiting = new WaitingPublishes(limits.maxWaiting, limits.maxWaitingBytes);
    this.#mark = { topic: markTopic, payload: "mark", options: { qos: 1 }, bytes: markTopic.length };
  }

  get counters(): Readonly<Tally> & { readonly inFlight: number; readonly waiting: number } {
    const inFlight = this.#flying.size + this.#proofs.size;
    return { ...this.#tally, inFlight, waiting: this.#waiting.size };
  }

  /** The broker left something unacknowledged for its whole time, and has acknowledged nothing since it was sent. */
  get isMute(): boolean {
    return this.#isMute;
  }

  open(exit: Exit, { receiveMaximum, maximumQos }: Room): void {
    this.#exit = exit;
    this.#window = Math.max(1, Math.min(this.#limits.window, receiveMaximum ?? this.#limits.window));
    this.#proofs.areGiven = maximumQos > 0;
    this.#isMarking = false;
    this.#isMute = false;
  }

  /** Rejects all that is on its way; further publishes are refused until the next `open`. Returns how many were lost. */
  close(reason: string): number {
    const exit = this.#exit;
    this.#exit = null;
    const lost = [...this.#flying, ...this.#waiting.removeAll()];
    for (const flight of this.#flying) if (flight.id > 0) exit?.forget(flight.id);
    this.#flying.clear();
    const error = new PublishError("offline", reason);
    const owned = lost.filter(({ parcel }) => parcel !== this.#mark);
    const count = owned.length + this.#proofs.fail(error);
    this.#tally.dropped += count;
    for (const { reject } of lost) reject(error);
    this.#wakeWatchers();
    return count;
  }

  /** Counts and makes the rejection of a publish that is not sent at all. */
  refuse(kind: "invalid" | "offline" | "busy", message: string): Promise<never> {
    this.#tally.dropped += 1;
    return Promise.reject(new PublishError(kind, message));
  }

  publish(parcel: Parcel): Promise<void> {
    if (this.#exit === null)
      return this.refuse("offline", `not connected to the broker: ${parcel.topic} not sent`);
    if (!this.#waiting.hasRoomFor(parcel.bytes))
      return this.refuse("busy", `too many publishes wait for the broker: ${parcel.topic} not sent`);
    const mayGo = this.#waiting.size === 0 && this.#hasRoomFor(parcel);
    if (mayGo && parcel.options.qos === 0) return this.#write(this.#exit, parcel);
    return new Promise((resolve, reject) => {
      const one = { parcel, resolve, reject };
      if (mayGo) this.#send(one);
      else this.#waiting.add(one);
    });
  }

  /** Resolves when the broker has taken everything sent before; rejects with a PublishError where that cannot be known. */
  async prove(): Promise<void> {
    try {
      await this.publish(this.#mark);
    } catch (error) {
      // An answer is an answer: what came before it has been read.
      if (!(error instanceof PublishError) || error.kind !== "refused") throw error;
    }
  }

  /** Resolves when a publish would be sent at once, or when there is no link (then publishing says so). */
  ready(): Promise<void> {
    if (this.#exit === null || this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** Gives up on what the broker has not acknowledged in time, and has a mark follow what nothing followed. Returns how many. */
  sweep(): number {
    const latest = this.#clock.monotonic() - this.#limits.ackTimeoutMs;
    let expired = 0;
    for (const flight of this.#flying) {
      if (flight.sentAt > latest) break;
      this.#expire(flight);
      expired += 1;
    }
    if (expired > 0) this.#advance();
    this.#followUp();
    return expired;
  }

  #expire(flight: Flight): void {
    this.#flying.delete(flight);
    this.#exit?.forget(flight.id);
    if (flight.sentAt >= this.#answeredAt) this.#isMute = true;
    // It may have it all the same; the next answer tells.
    this.#proofs.reopen(flight.proof);
    this.#tally.unacknowledged += 1;
    const seconds = this.#limits.ackTimeoutMs / 1000;
    const message = `the broker did not acknowledge ${flight.parcel.topic} within ${seconds} s`;
    flight.reject(new PublishError("unacknowledged", message));
  }

  #write(exit: Exit, parcel: Parcel): Promise<void> {
    exit.write(parcel);
    if (!this.#proofs.areGiven) {
      this.#tally.published += 1;
      return Promise.resolve();
    }
    const proven = this.#proofs.add();
    if (this.#proofs.size >= this.#limits.window / 2) this.#followUp();
    return proven;
  }

  #send(one: Waiting): void {
    const exit = this.#exit;
    if (exit === null) return;
    if (one.parcel.options.qos === 0) {
      this.#write(exit, one.parcel).then(one.resolve, one.reject);
      return;
    }
    const flight: Flight = { ...one, sentAt: this.#clock.monotonic(), proof: this.#proofs.take(), id: 0 };
    this.#flying.add(flight);
    flight.id = exit.send(one.parcel, (error) => {
      this.#settle(flight, error);
    });
  }

  /** One mark at a time: the next one covers all that went out meanwhile. */
  #followUp(): void {
    if (this.#isMarking || !this.#proofs.areOpen || this.#flying.size >= this.#window) return;
    this.#isMarking = true;
    const done = () => {
      this.#isMarking = false;
    };
    this.#send({ parcel: this.#mark, resolve: done, reject: done });
  }

  #settle(flight: Flight, error: Error | null): void {
    if (!this.#flying.delete(flight)) return;
    this.#answeredAt = this.#clock.monotonic();
    this.#isMute = false;
    this.#tally.published += this.#proofs.confirm(flight.proof);
    const weight = flight.parcel === this.#mark ? 0 : 1;
    if (error === null) {
      this.#tally.published += weight;
      flight.resolve();
    } else {
      this.#tally.publishRefused += weight;
      const message = `the broker refused ${flight.parcel.topic}: ${error.message}; check its access list`;
      flight.reject(new PublishError("refused", message, { cause: error }));
    }
    this.#advance();
    if (this.#proofs.size >= this.#limits.window / 2) this.#followUp();
  }

  #advance(): void {
    for (;;) {
      const one = this.#waiting.first;
      if (one === undefined || !this.#hasRoomFor(one.parcel)) break;
      this.#waiting.removeFirst();
      this.#send(one);
    }
    if (this.#hasRoom()) this.#wakeWatchers();
  }

  /** The broker's own limit on what is unacknowledged does not count QoS 0. */
  #hasRoomFor({ options }: Parcel): boolean {
    return options.qos === 0 ? this.#proofs.size < this.#limits.window : this.#flying.size < this.#window;
  }

  #hasRoom(): boolean {
    return (
      this.#waiting.size === 0 && this.#flying.size < this.#window && this.#proofs.size < this.#limits.window
    );
  }

  #wakeWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}
