import { type Clock, waitingBy } from "../../src/runtime/clock.js";
import { Schedule } from "../../src/runtime/schedule.js";

const mostAtOnce = 100_000;

/**
 * A time in ms that stands still until it is advanced. Timers fire in order of their time. Between two of them every
 * promise that can go on does, so code that awaits other code runs as in real time.
 */
export class VirtualTime {
  readonly #due = new Schedule<() => void>();
  readonly #settled: () => Promise<void>;
  #now = 0;
  #dueNow = 0;
  #pending = 0;

  constructor(settledBetween: () => Promise<void> = settled) {
    this.#settled = settledBetween;
  }

  get now(): number {
    return this.#now;
  }

  /** When the present event was due; earlier than now if time stalled meanwhile. */
  get due(): number {
    return this.#dueNow;
  }

  /** Timers that were neither fired nor cancelled. */
  get pending(): number {
    return this.#pending;
  }

  /** Calls `fire` in `ms`; the returned function cancels it. */
  in(ms: number, fire: () => void): () => void {
    // A key of its own, also if one function is given twice.
    const timer = () => fire();
    this.#due.set(timer, this.#now + Math.max(0, ms));
    this.#pending += 1;
    return () => {
      if (this.#due.dueAt(timer) !== undefined) this.#pending -= 1;
      this.#due.delete(timer);
    };
  }

  /** Lets time pass without giving anything a turn, as when the event loop is blocked. */
  stall(ms: number): void {
    this.#now += ms;
  }

  async runUntil(end: number): Promise<void> {
    let atOnce = 0;
    await this.#settled();
    for (let next = this.#due.first(); next !== null && next.at <= end; next = this.#due.first()) {
      this.#due.take();
      this.#pending -= 1;
      atOnce = next.at > this.#now ? 0 : atOnce + 1;
      if (atOnce > mostAtOnce)
        throw new Error("time does not go on: timers follow each other without any wait");
      this.#now = Math.max(this.#now, next.at);
      this.#dueNow = next.at;
      next.key();
      await this.#settled();
    }
    this.#now = Math.max(this.#now, end);
  }
}

/** How a real clock differs from a virtual one, in ms. */
interface Inaccuracy {
  /** How much time passes with each reading, as it does while code runs. */
  readonly readingMs: number;
  /** How much too early a timer fires; Node's do by up to 1 ms. */
  readonly earlyMs: number;
}

/** A clock that stands still until `advance`. */
export class VirtualClock implements Clock {
  readonly #time = new VirtualTime();
  readonly #inaccuracy: Inaccuracy;
  #offset: number;

  constructor(wallMs = Date.parse("2026-03-01T08:00:00Z"), inaccuracy = { readingMs: 0, earlyMs: 0 }) {
    this.#offset = wallMs;
    this.#inaccuracy = inaccuracy;
  }

  now(): number {
    return this.#offset + this.#time.now;
  }

  monotonic(): number {
    this.#time.stall(this.#inaccuracy.readingMs);
    return this.#time.now;
  }

  /** Sets the wall clock, as NTP or a person would; the monotonic one goes on. */
  setWall(wallMs: number): void {
    this.#offset = wallMs - this.#time.now;
  }

  /** Lets time pass without giving anything a turn. */
  stall(ms: number): void {
    this.#time.stall(ms);
  }

  get pendingTimers(): number {
    return this.#time.pending;
  }

  readonly after = (ms: number, call: () => void): (() => void) =>
    this.#time.in(ms - this.#inaccuracy.earlyMs, call);
  readonly soon = (call: () => void): void => queueMicrotask(call);
  readonly wait = waitingBy(this.after);

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.now + ms);
  }
}

/** Resolves when every promise that could go on has. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
