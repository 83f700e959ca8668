/** Our wall clock is trusted, for judging ages and for keeping journals by age, while it is this close to the platform's. */
const trustedSkewMs = 120_000;

/** Null while nothing was there to compare it with. */
export const clockAgrees = (skewMs: number | null): boolean | null =>
  skewMs === null ? null : Math.abs(skewMs) <= trustedSkewMs;
