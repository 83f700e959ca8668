import type { Clock } from "../../runtime/clock.js";
import { PublishError } from "./publish.js";
import type { BrokerFacts, ConnectionLimits, PublishOptions } from "./settings.js";

/** Publishes of QoS 0 that went out one after the other; proven together. */
export interface Proof {
  count: number;
  readonly proven: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: PublishError) => void;
}

/**
 * What was sent with QoS 0 and waits for an acknowledged message behind it. A broker reads what a client sends in order, so an
 * answer to a message says that everything before it has arrived.
 */
export class Proofs {
  /** False at a broker that acknowledges nothing at all (MQTT 5, maximum QoS 0): there, sent is all that can be known. */
  areGiven = true;
  /** Sent since the last message that will be acknowledged. */
  #open: Proof | null = null;
  readonly #all = new Set<Proof>();
  #size = 0;

  /** How many publishes are not proven yet. */
  get size(): number {
    return this.#size;
  }

  /** Whether something was sent that no acknowledgement on its way will prove. */
  get areOpen(): boolean {
    return this.#open !== null;
  }

  /** One more was sent. Resolves with its proof. */
  add(): Promise<void> {
    this.#open ??= this.#begin();
    this.#open.count += 1;
    this.#size += 1;
    return this.#open.proven;
  }

  /** Something that will be acknowledged is sent now; it proves what this returns. */
  take(): Proof | null {
    const proof = this.#open;
    this.#open = null;
    return proof;
  }

  /** What was to prove these was not acknowledged in time. Whatever is acknowledged next was sent later and proves them too. */
  reopen(proof: Proof | null): void {
    if (proof === null) return;
    const later = this.#open;
    this.#open = proof;
    if (later === null) return;
    proof.count += later.count;
    this.#all.delete(later);
    proof.proven.then(later.resolve, later.reject);
  }

  /** Returns how many are proven by it. */
  confirm(proof: Proof | null): number {
    if (proof === null) return 0;
    this.#all.delete(proof);
    this.#size -= proof.count;
    proof.resolve();
    return proof.count;
  }

  /** Nothing will be acknowledged any more. Returns how many are lost. */
  fail(error: PublishError): number {
    const lost = this.#size;
    for (const proof of this.#all) proof.reject(error);
    this.#all.clear();
    this.#open = null;
    this.#size = 0;
    return lost;
  }

  #begin(): Proof {
    let resolve: () => void = () => undefined;
    let reject: (error: PublishError) => void = () => undefined;
    const proven = new Promise<void>((resolved, rejected) => {
      resolve = resolved;
      reject = rejected;
    });
    // Where nobody waits for it, a lost link is no unhandled rejection.
    proven.catch(() => undefined);
    const proof = { count: 0, proven, resolve, reject };
    this.#all.add(proof);
    return proof;
  }
}

/** A first-in-first-out queue bounded in number and bytes. */
export class WaitingPublishes<Publish extends { readonly parcel: { readonly bytes: number } }> {
  readonly #most: number;
  readonly #mostBytes: number;
  #queue: Publish[] = [];
  #next = 0;
  #bytes = 0;

  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get size(): number {
    return this.#queue.length - this.#next;
  }

  get first(): Publish | undefined {
    return this.#queue[this.#next];
  }

  hasRoomFor(bytes: number): boolean {
    return this.size < this.#most && this.#bytes + bytes <= this.#mostBytes;
  }

  add(publish: Publish): void {
    this.#queue.push(publish);
    this.#bytes += publish.parcel.bytes;
  }

  removeFirst(): void {
    this.#bytes -= this.first?.parcel.bytes ?? 0;
    this.#next += 1;
    // The head is cut off now and then, so that taking from the front stays cheap.
    if (this.#next < this.#queue.length && this.#next < 1024) return;
    this.#queue = this.#queue.slice(this.#next);
    this.#next = 0;
  }

  /** Empties it. */
  removeAll(): readonly Publish[] {
    const all = this.#queue.slice(this.#next);
    this.#queue = [];
    this.#next = 0;
    this.#bytes = 0;
    return all;
  }
}

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
