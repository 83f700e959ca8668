/** A number in [0, 1). Passed in wherever chance decides, so that a seed repeats a run. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** mulberry32: small, fast and the same on every machine; not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Full jitter: anything from 0 to the doubled-and-capped ceiling of this attempt (counted from 0), so that many
 * bridges that lost the same service do not come back at the same moment.
 */
export function fullJitter(attempt: number, range: BackoffRange, chance: number): number {
  const ceiling = Math.min(range.maxMs, range.firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(ceiling * chance);
}
