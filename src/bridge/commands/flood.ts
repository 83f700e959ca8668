const minuteMs = 60_000;

/** Counts events per key in fixed minutes; forgets keys of past minutes. */
export class MinuteCounter {
  readonly #counts = new Map<string, number>();
  #minute = -1;

  /** How many there were in this minute, this one included. */
  count(key: string, monotonicMs: number): number {
    const minute = Math.floor(monotonicMs / minuteMs);
    if (minute !== this.#minute) {
      this.#counts.clear();
      this.#minute = minute;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }
}
