import type { Clock } from "../runtime/clock.js";

interface Entry {
  readonly key: string;
  readonly at: number;
  readonly order: number;
}

/**
 * Keys with the instant each is due, earliest first, first come first served. A binary heap, because a start or a birth
 * makes thousands of documents due at once.
 */
export class DueQueue {
  readonly #heap: Entry[] = [];
  readonly #entries = new Map<string, Entry>();
  #order = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** Makes `key` due at `at`; a key that is already due earlier stays so. */
  put(key: string, at: number): void {
    const known = this.#entries.get(key);
    if (known !== undefined && known.at <= at) return;
    const entry = { key, at, order: this.#order++ };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
  }

  /** When the earliest key is due; null when there is none. */
  nextAt(): number | null {
    this.#dropReplaced();
    return this.#heap[0]?.at ?? null;
  }

  /** Takes the earliest key if it is due by `now`. */
  take(now: number): string | null {
    this.#dropReplaced();
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return null;
    this.#removeFirst();
    this.#entries.delete(first.key);
    return first.key;
  }

  // An entry that was put again earlier stays in the heap until it comes up.
  #dropReplaced(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#entries.get(first.key) === first) return;
      this.#removeFirst();
    }
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }

  #rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = this.#isBefore(left, at) ? left : at;
      if (this.#isBefore(right, first)) first = right;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }
}

/** Does tasks one at a time, each when it is due, while it is not paused. */
export class TaskLoop {
  readonly #clock: Clock;
  readonly #queue = new DueQueue();
  #isPaused = true;
  #nap: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#wake();
  }

  /** Makes a task due; one that is already due earlier stays so. */
  due(task: string, inMs: number): void {
    this.#queue.put(task, this.#clock.monotonic() + inMs);
    this.#wake();
  }

  /** Until `signal` aborts; `perform` must not reject. */
  async run(perform: (task: string) => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", this.#wake, { once: true });
    while (!signal.aborted) {
      const task = this.#isPaused ? null : this.#queue.take(this.#clock.monotonic());
      if (task === null) await this.#sleepUntil(this.#isPaused ? null : this.#queue.nextAt());
      else await perform(task);
    }
  }

  /** Resolves after `ms` or when something becomes due. */
  rest(ms: number): Promise<void> {
    return this.#sleepUntil(this.#clock.monotonic() + ms);
  }

  #wake = (): void => {
    this.#nap?.abort();
  };

  /** Resolves at `until` (never, if null) or when woken. */
  async #sleepUntil(until: number | null): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    if (until === null)
      await new Promise((resolve) => {
        nap.signal.addEventListener("abort", resolve, { once: true });
      });
    else
      await this.#clock.wait(Math.max(0, until - this.#clock.monotonic()), nap.signal).catch(() => undefined);
    this.#nap = null;
  }
}
