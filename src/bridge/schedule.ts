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
