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
