const minuteMs = 60_000;
/** Keys may be invented by a sender; beyond this many they share one count. */
const mostKeys = 1_000;
const others = "";

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
    const known = this.#counts.has(key) || this.#counts.size < mostKeys ? key : others;
    const count = (this.#counts.get(known) ?? 0) + 1;
    this.#counts.set(known, count);
    return count;
  }
}
