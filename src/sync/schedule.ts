/** A binary heap of keys by due time (monotonic ms); a key has one due time, the last one given. */
export class Schedule<Key> {
  readonly #due = new Map<Key, number>();
  readonly #heap: { readonly key: Key; readonly at: number }[] = [];

  get size(): number {
    return this.#due.size;
  }

  set(key: Key, at: number): void {
    this.#due.set(key, at);
    this.#heap.push({ key, at });
    this.#rise(this.#heap.length - 1);
  }

  delete(key: Key): void {
    this.#due.delete(key);
  }

  dueAt(key: Key): number | undefined {
    return this.#due.get(key);
  }

  keys(): Iterable<Key> {
    return this.#due.keys();
  }

  /** The key due first and when, left in place. */
  first(): { readonly key: Key; readonly at: number } | null {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#due.get(top.key) === top.at) return top;
      this.#dropTop();
    }
    return null;
  }

  /** Takes the first key out of the schedule. */
  take(): Key | null {
    const top = this.first();
    if (top === null) return null;
    this.#dropTop();
    this.#due.delete(top.key);
    return top.key;
  }

  #dropTop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(start: number): void {
    let place = start;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#swapIfLater(parent, place)) return;
      place = parent;
    }
  }

  #sink(start: number): void {
    let place = start;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      const child = this.#at(right) < this.#at(left) ? right : left;
      if (child >= this.#heap.length || !this.#swapIfLater(place, child)) return;
      place = child;
    }
  }

  #at(place: number): number {
    return this.#heap[place]?.at ?? Infinity;
  }

  #swapIfLater(upper: number, lower: number): boolean {
    const up = this.#heap[upper];
    const low = this.#heap[lower];
    if (up === undefined || low === undefined || up.at <= low.at) return false;
    this.#heap[upper] = low;
    this.#heap[lower] = up;
    return true;
  }
}

/**
 * When a job runs next: at its own phase of the interval, at least half an interval away, give or take 5 %. The phase
 * comes from the job's name, which spreads many jobs evenly.
 */
export function nextDueAt(job: string, now: number, intervalMs: number, chance: number): number {
  const phase = fraction(job) * intervalMs;
  const periods = Math.ceil((now + intervalMs / 2 - phase) / intervalMs);
  return phase + periods * intervalMs + (chance - 0.5) * 0.1 * intervalMs;
}

function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) / 4_294_967_296;
}

/** For what must not be asked more often than its interval: a whole interval away, plus up to 5 %. */
export const notBefore = (_job: string, now: number, intervalMs: number, chance: number): number =>
  now + intervalMs * (1 + 0.05 * chance);

/** A millisecond more, so that a minute counted with both its ends holds no more either. */
const minuteMs = 60_001;

/**
 * How many requests polling may start in any 60 s; kept as the times of the last ones, so a minute never exceeds it. Half of them may
 * go at once. The rest is spread until the oldest has left the minute: spent at once it would leave a hole in which nothing is
 * asked, and the next minute would repeat it.
 */
export class RequestBudget {
  readonly #perMinute: number;
  /** Of the last minute and, before `#oldest`, of earlier ones. */
  #starts: number[] = [];
  #oldest = 0;

  /** `perMinute` 0 means no limit. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Ms until a request may start; 0 now. */
  waitMs(monotonicMs: number): number {
    if (this.#perMinute === 0) return 0;
    this.#forget(monotonicMs);
    const left = this.#perMinute - (this.#starts.length - this.#oldest);
    const freeAt = (this.#starts[this.#oldest] ?? monotonicMs) + minuteMs;
    if (left <= 0) return Math.max(0, freeAt - monotonicMs);
    if (left > this.#perMinute / 2) return 0;
    const last = this.#starts.at(-1) ?? monotonicMs;
    const gapMs = Math.max(minuteMs / this.#perMinute, (freeAt - last) / (left + 1));
    return Math.max(0, last + gapMs - monotonicMs);
  }

  spend(monotonicMs: number): void {
    if (this.#perMinute === 0) return;
    this.#forget(monotonicMs);
    this.#starts.push(monotonicMs);
  }

  /** Requests that the minute still holds; null without a limit. */
  left(monotonicMs: number): number | null {
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

/** By how much every interval has to stretch for the demand to fit the budget; 1 when it fits. */
export function stretchFactor(requestsPerMinute: number, budgetPerMinute: number): number {
  return budgetPerMinute === 0 ? 1 : Math.max(1, requestsPerMinute / budgetPerMinute);
}
