import { ignored } from "./failures.js";
import { abortReason, type Clock } from "./clock.js";

/* When something is due, how much may start in a minute, and how much may run at once. */

interface Due<Key> {
  readonly key: Key;
  readonly at: number;
  /** Grows with each; of two that are due at once the older one goes first. */
  readonly number: number;
  place: number;
}

const isBefore = <Key>(one: Due<Key>, other: Due<Key>): boolean =>
  one.at < other.at || (one.at === other.at && one.number < other.number);

/** Keys by due time (monotonic ms), first come first served if equal; each key has one due time, the last one set. */
export class Schedule<Key> {
  readonly #due = new Map<Key, Due<Key>>();
  /** A heap: the entry at each place goes before those at twice this place, plus 1 and plus 2. */
  readonly #heap: Due<Key>[] = [];
  #number = 0;

  set(key: Key, at: number): void {
    this.delete(key);
    const entry = { key, at, number: (this.#number += 1), place: this.#heap.length };
    this.#due.set(key, entry);
    this.#heap.push(entry);
    this.#raise(entry);
  }

  delete(key: Key): void {
    const entry = this.#due.get(key);
    const last = entry && this.#heap.pop();
    if (entry === undefined || last === undefined) return;
    this.#due.delete(key);
    if (last === entry) return;
    this.#put(last, entry.place);
    this.#raise(last);
    this.#lower(last);
  }

  dueAt(key: Key): number | undefined {
    return this.#due.get(key)?.at;
  }

  /** The key due first and its time; it stays. */
  first(): { readonly key: Key; readonly at: number } | null {
    return this.#heap[0] ?? null;
  }

  /** Removes and returns the key due first. */
  take(): Key | null {
    const first = this.first();
    if (first === null) return null;
    this.delete(first.key);
    return first.key;
  }

  #put(entry: Due<Key>, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }

  #raise(entry: Due<Key>): void {
    for (;;) {
      const { place } = entry;
      const above = this.#heap[(place - 1) >> 1];
      if (above === undefined || !isBefore(entry, above)) return;
      this.#put(entry, above.place);
      this.#put(above, place);
    }
  }

  #lower(entry: Due<Key>): void {
    for (;;) {
      const { place } = entry;
      const [one, other] = [this.#heap[2 * place + 1], this.#heap[2 * place + 2]];
      const first = one !== undefined && other !== undefined && isBefore(other, one) ? other : one;
      if (first === undefined || !isBefore(first, entry)) return;
      this.#put(entry, first.place);
      this.#put(first, place);
    }
  }
}

/** One millisecond more than a minute, so that a minute counted with both its ends holds no more either. */
const minuteMs = 60_001;

/**
 * Limits the requests that polling starts in any 60 s, by the times of the last ones. Half of them may go at once. The
 * rest is spread until the oldest has left the minute: spent at once, it would leave a time without requests, and the
 * next minute would repeat that.
 */
export class RequestBudget {
  readonly #perMinute: number;
  /** Start times of the last minute, and before `#oldest` those of earlier ones. */
  #starts: number[] = [];
  #oldest = 0;

  /** `perMinute` 0 means no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Ms until a request may start behind `ahead` others; 0 for now. */
  waitMs(monotonicMs: number, ahead = 0): number {
    if (this.#perMinute === 0) return 0;
    this.#forget(monotonicMs);
    const left = this.#perMinute - (this.#starts.length - this.#oldest);
    const freeAt = (this.#starts[this.#oldest] ?? monotonicMs) + minuteMs;
    const leastMs = minuteMs / this.#perMinute;
    if (left <= 0) return Math.max(0, freeAt + ahead * leastMs - monotonicMs);
    if (left > this.#perMinute / 2) return 0;
    const last = this.#starts.at(-1) ?? monotonicMs;
    const gapMs = Math.max(leastMs, (freeAt - last) / (left + 1));
    return Math.max(0, last + (ahead + 1) * gapMs - monotonicMs);
  }

  /** Waits until a request may start and counts it; rejects with the signal's reason if it aborts first. */
  async turn(clock: Clock, signal: AbortSignal): Promise<void> {
    for (let ms = this.waitMs(clock.monotonic()); ms > 0; ms = this.waitMs(clock.monotonic()))
      await clock.wait(ms, signal);
    this.spend(clock.monotonic());
  }

  spend(monotonicMs: number): void {
    if (this.#perMinute === 0) return;
    this.#forget(monotonicMs);
    this.#starts.push(monotonicMs);
  }

  /** Requests left in this minute; null without a limit. */
  remaining(monotonicMs: number): number | null {
    if (this.#perMinute === 0) return null;
    this.#forget(monotonicMs);
    return Math.max(0, this.#perMinute - (this.#starts.length - this.#oldest));
  }

  #forget(now: number): void {
    while ((this.#starts[this.#oldest] ?? Infinity) + minuteMs <= now) this.#oldest += 1;
    if (this.#oldest <= this.#perMinute) return;
    this.#starts = this.#starts.slice(this.#oldest);
    this.#oldest = 0;
  }
}

/** Limits how many calls run at once; the others wait in order and can give up. `leave` returns a place. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#free = size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a place; returns false if none is free. */
  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Waits for a place after `take` found none; rejects with the signal's reason. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(take);
        reject(abortReason(signal));
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(take);
      if (signal.aborted) giveUp();
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** Semaphores of one size, by key. */
export class Semaphores {
  readonly #of = new Map<string, Semaphore>();
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  of(key: string): Semaphore {
    const one = this.#of.get(key) ?? new Semaphore(this.#size);
    this.#of.set(key, one);
    return one;
  }
}

/**
 * Runs `work` once at a time. Calls during a run share one more run, which begins when this one ends, so it sees
 * everything that was changed before they came.
 */
export function oneAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  let next: Promise<Result> | null = null;
  const begin = (): Promise<Result> => {
    const turn = work();
    running = turn;
    const over = () => {
      if (running === turn) running = null;
    };
    turn.then(over, over);
    return turn;
  };
  const follow = async (before: Promise<Result>): Promise<Result> => {
    await before.catch(ignored);
    next = null;
    return begin();
  };
  return () => (next ??= running === null ? null : follow(running)) ?? begin();
}
