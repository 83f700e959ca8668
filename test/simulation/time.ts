import { setMaxListeners } from "node:events";
import { abortReason, type Clock } from "../../src/runtime/clock.js";
import type { Wire } from "./wire.js";

// Many wait on one signal, as in the product, which sets this signal by signal.
setMaxListeners(0);

interface Timer {
  readonly at: number;
  readonly order: number;
  fire: (() => void) | null;
}

const before = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

const mostAtOnce = 100_000;

/** The simulated world's time in ms. Timers fire one by one; between two of them every promise that can go on does. */
export class WorldTime {
  #now = 0;
  #order = 0;
  #sameInstant = 0;
  #lastAt = -1;
  readonly #heap: Timer[] = [];

  get now(): number {
    return this.#now;
  }

  /** Calls `fire` in `ms`; returns what takes it back. */
  in(ms: number, fire: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fire };
    this.#push(timer);
    return () => {
      timer.fire = null;
    };
  }

  /** Time passes without anything getting a turn, as when the event loop is blocked. */
  stall(ms: number): void {
    this.#now += ms;
  }

  async runUntil(end: number): Promise<void> {
    await settled();
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#pop();
      const { fire } = next;
      if (fire === null) continue;
      next.fire = null;
      this.#now = Math.max(this.#now, next.at);
      this.#sameInstant = next.at === this.#lastAt ? this.#sameInstant + 1 : 0;
      this.#lastAt = next.at;
      if (this.#sameInstant > mostAtOnce)
        throw new Error("time does not go on: timers follow each other without any wait");
      fire();
      await settled();
    }
    this.#now = Math.max(this.#now, end);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(timer);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(timer, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (one === undefined) break;
      const isRight = other !== undefined && before(other, one);
      const child = isRight ? other : one;
      if (!before(child, last)) break;
      heap[place] = child;
      place = isRight ? left + 1 : left;
    }
    heap[place] = last;
  }
}

const waiting: (() => void)[] = [];
let turnsAhead = 0;

/** Node drains every promise after each immediate: many of them in one turn of its loop save asking the kernel each time. */
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

/** The wall clock of the machine the bridge runs on: epoch ms, and it may be set. */
export class WallClock {
  #offset: number;
  readonly #time: WorldTime;

  constructor(time: WorldTime, epochMs: number) {
    this.#time = time;
    this.#offset = epochMs;
  }

  now(): number {
    return this.#offset + this.#time.now;
  }

  jump(ms: number): void {
    this.#offset += ms;
  }

  setTo(epochMs: number): void {
    this.#offset = epochMs - this.#time.now;
  }
}

/** The clock of one run of the program. Once killed, nothing that waits on it ever goes on. */
export class BootClock implements Clock {
  readonly #time: WorldTime;
  readonly #wall: WallClock;
  readonly #startedAt: number;
  /** Where the requests of this run of the program go. */
  readonly wire: Wire;
  /** Sign-ins of this run that the platform has not answered yet. */
  signInsOpen = 0;
  /** Timers neither fired nor taken back. */
  timers = 0;
  #alive = true;

  constructor(time: WorldTime, wall: WallClock, wire: Wire) {
    this.wire = wire;
    this.#time = time;
    this.#wall = wall;
    // A monotonic clock starts anywhere; it tells nothing across two runs.
    this.#startedAt = time.now - 1_000;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
  }

  now(): number {
    return this.#wall.now();
  }

  monotonic(): number {
    return this.#time.now - this.#startedAt;
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

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortReason(signal));
        return;
      }
      const abort = () => {
        takeBack();
        reject(signal ? abortReason(signal) : new Error("aborted"));
      };
      // As Node does: no timer is shorter than a millisecond.
      const takeBack = this.in(Math.max(1, ms), () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
}
