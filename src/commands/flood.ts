import { laneKey } from "./command.js";

const minuteMs = 60_000;
/** Keys may be invented by a sender; beyond this many they share one count. */
const mostKeys = 1_000;
const others = "";

const commandsPerMinute = 60;

/** How many commands each target may be sent in any minute. What exceeds it is refused and does not count. */
export class Allowances {
  /** When the newest ones of each key were taken, oldest first. */
  readonly #taken = new Map<string, number[]>();
  readonly #mostKeys: number;

  /** Where keys may be invented by a sender, those beyond `mostKeys` share one allowance. */
  constructor(mostKeys = Infinity) {
    this.#mostKeys = mostKeys;
  }

  /** Takes one place of the key's allowance; false while there is none. */
  take(key: string, monotonicMs: number): boolean {
    const taken = this.#of(key, monotonicMs);
    const [oldest] = taken;
    if (oldest !== undefined && taken.length >= commandsPerMinute) {
      if (monotonicMs - oldest < minuteMs) return false;
      taken.shift();
    }
    taken.push(monotonicMs);
    return true;
  }

  #of(key: string, monotonicMs: number): number[] {
    const held = this.#taken.get(key);
    if (held) return held;
    if (this.#taken.size >= this.#mostKeys) this.#forgetOld(monotonicMs);
    const own = this.#taken.size < this.#mostKeys ? key : others;
    const taken = this.#taken.get(own) ?? [];
    this.#taken.set(own, taken);
    return taken;
  }

  #forgetOld(monotonicMs: number): void {
    for (const [key, taken] of this.#taken)
      if (monotonicMs - (taken.at(-1) ?? -Infinity) >= minuteMs) this.#taken.delete(key);
  }
}

/** Targets that do not exist share one allowance, and raw addresses, of which there is no end either, have a thousand. */
export class CommandAllowances {
  readonly #configured = new Allowances();
  readonly #addresses = new Allowances(mostKeys);
  readonly #stops = new Allowances();

  take(
    about: Parameters<typeof laneKey>[0],
    { isKnown, isStop }: { readonly isKnown: boolean; readonly isStop: boolean },
    monotonicMs: number,
  ): boolean {
    const allowances = about.target === "address" ? this.#addresses : this.#configured;
    return (isStop ? this.#stops : allowances).take(isKnown ? laneKey(about) : others, monotonicMs);
  }
}

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
