import { setMaxListeners } from "node:events";
import { type Clock, clockOf } from "../../src/runtime/clock.js";
import { VirtualTime } from "../support/virtual-clock.js";
import { Departures } from "./departures.js";

// Many wait for one signal, as in the product, which allows that for each signal.
setMaxListeners(0);

const waiting: (() => void)[] = [];
let turnsAhead = 0;

/** Node drains every promise after each immediate. Many in one turn of its loop save system calls. */
const turnsAtOnce = 100;

function turn(): void {
  turnsAhead -= 1;
  waiting.shift()?.();
}

/** Resolves when every promise that could go on has. */
export const settled = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (turnsAhead >= waiting.length) return;
    for (; turnsAhead < turnsAtOnce; turnsAhead++) setImmediate(turn);
  });

export const worldTime = (): VirtualTime => new VirtualTime(settled);

/** The wall clock of the bridge's machine: epoch ms, and it may be set. */
export class WallClock {
  #offset: number;
  /** When it was last set, in the world's time. */
  setAt = 0;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, epochMs: number) {
    this.#time = time;
    this.#offset = epochMs;
  }

  now(): number {
    return this.#offset + this.#time.now;
  }

  jump(ms: number): void {
    this.#offset += ms;
    this.setAt = this.#time.now;
  }

  setTo(epochMs: number): void {
    this.#offset = epochMs - this.#time.now;
    this.setAt = this.#time.now;
  }
}

/** How often time passes while the clock is read, and how much at most, ms. */
const readingShare = 1 / 200;
const longestReadingMs = 1;

/** The clock of one run of the program. Once killed, nothing that waits for it ever goes on. */
export class BootClock implements Clock {
  readonly #time: VirtualTime;
  readonly #startedAt: number;
  readonly departures = new Departures();
  /** Sign-ins of this run that the platform has not answered. */
  signInsOpen = 0;
  /** Timers that were neither fired nor cancelled. */
  timers = 0;
  /** The program's clock over this computer's time. */
  readonly #own: Clock;
  #sleptMs = 0;
  #alive = true;
  #drawn = 1;

  constructor(time: VirtualTime, wall: WallClock) {
    this.#time = time;
    // A monotonic clock has any start, and cannot be compared between runs.
    this.#startedAt = time.now - 1_000;
    this.#own = clockOf({
      wall: () => wall.now(),
      monotonic: () => this.#read(),
      uptime: () => time.now,
      timer: (ms, call) => this.#timer(ms, call),
    });
    this.#own.monotonic();
  }

  /** A number from 0 to 1, the same in each run of a history. */
  #draw(): number {
    this.#drawn = (this.#drawn * 48_271) % 2_147_483_647;
    return this.#drawn / 2_147_483_647;
  }

  /** Code takes time: now and then some passes between two readings of the clock. */
  #read(): number {
    if (this.#draw() < readingShare) this.#time.stall(this.#draw() * longestReadingMs);
    return this.#awakeMs();
  }

  /** Node's clock and timers stand still while the computer is suspended. */
  #awakeMs(): number {
    return this.#time.now - this.#startedAt - this.#sleptMs;
  }

  /** Like Node's: no timer is shorter than a millisecond, and each may fire up to one too early. */
  #timer(whole: number, call: () => void): () => void {
    const ms = Math.max(1, whole) - this.#draw();
    const due = this.#awakeMs() + ms;
    const timer: { takeBack: () => void } = { takeBack: () => undefined };
    const start = (leftMs: number) => {
      timer.takeBack = this.in(leftMs, () => {
        const left = due - this.#awakeMs();
        if (left > 0.001) start(left);
        else call();
      });
    };
    start(ms);
    return () => timer.takeBack();
  }

  /** The computer was suspended for `ms`, which the caller lets pass. */
  slept(ms: number): void {
    this.#sleptMs += ms;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
  }

  now(): number {
    return this.#own.now();
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  /** World time of a monotonic instant. */
  worldAt(monotonicMs: number): number {
    return monotonicMs + this.#startedAt;
  }

  /** Calls `fire` in `ms` if the program still runs then. */
  in(ms: number, fire: () => void): () => void {
    this.timers += 1;
    let isOpen = true;
    const closed = () => {
      if (isOpen) this.timers -= 1;
      isOpen = false;
    };
    const takeBack = this.#time.in(ms, () => {
      closed();
      if (this.#alive) fire();
    });
    return () => {
      closed();
      takeBack();
    };
  }

  readonly after = (ms: number, call: () => void): (() => void) => this.#own.after(ms, call);
  readonly soon = (call: () => void): void =>
    queueMicrotask(() => {
      if (this.#alive) call();
    });
  readonly wait = (ms: number, signal?: AbortSignal): Promise<void> => this.#own.wait(ms, signal);
}
