import type { BandLimit, Bands } from "../../greenhouse/bands.js";

/*
 * One side of a reading's limits over time: when it was crossed, and when the reading is back. Pure. Instants are epoch
 * ms of the measurement, so that the polling interval changes nothing.
 */

export type Side = "low" | "high";

/** `near`: beyond the inner limit, a warning; `far`: beyond the outer limit, an error. */
export type Level = "none" | "near" | "far";

export interface SideState {
  readonly level: Level;
  /** Since when it is beyond the inner, or the outer, limit; null if it is not. */
  readonly nearSince: number | null;
  readonly farSince: number | null;
}

export const within: SideState = { level: "none", nearSince: null, farSince: null };

/** The side after one more good value; the same object if nothing changed. */
export function judgeSide(
  side: Side,
  { limits, deadband, delayMs }: Bands,
  before: SideState,
  value: number,
  measuredAt: number,
): SideState {
  const { near, far, sign } = sides[side];
  const [nearLimit, farLimit] = [limits[near], limits[far]];
  const isBeyond = (limit: number | undefined) => limit !== undefined && sign * (value - limit) > 0;
  // The case of nearly all values.
  if (before === within && !isBeyond(nearLimit) && !isBeyond(farLimit)) return before;
  // Values of a sensor have few digits, so digits of a sum behind the ninth are noise.
  const isBack = (limit: number | undefined) =>
    limit === undefined || Number((sign * (value - limit) + deadband).toFixed(9)) <= 0;
  const isFar = isBeyond(farLimit);
  const nearSince = isFar || isBeyond(nearLimit) ? earlier(before.nearSince, measuredAt) : null;
  const farSince = isFar ? earlier(before.farSince, measuredAt) : null;
  const hasLasted = (since: number | null) => since !== null && measuredAt - since >= delayMs;
  const staysFar = before.level === "far" && !isBack(farLimit);
  const staysNear = before.level !== "none" && nearLimit !== undefined && !isBack(nearLimit);
  const level =
    staysFar || hasLasted(farSince)
      ? "far"
      : staysNear || (nearLimit !== undefined && hasLasted(nearSince))
        ? "near"
        : "none";
  const isSame = level === before.level && nearSince === before.nearSince && farSince === before.farSince;
  if (isSame) return before;
  return level === "none" && nearSince === null && farSince === null
    ? within
    : { level, nearSince, farSince };
}

const sides = {
  low: { near: "low", far: "low_low", sign: -1 },
  high: { near: "high", far: "high_high", sign: 1 },
} as const;

/** The side under changed limits. If a limit moved outwards, it is unknown how long the value has been beyond it. */
export function underOther(
  side: Side,
  before: SideState,
  was: Bands["limits"],
  is: Bands["limits"],
): SideState {
  const { near, far, sign } = sides[side];
  const goesOn = (limit: BandLimit) => {
    const [old, now] = [was[limit], is[limit]];
    return old !== undefined && now !== undefined && sign * (now - old) <= 0;
  };
  const nearSince = goesOn(near) ? before.nearSince : null;
  const farSince = goesOn(far) ? before.farSince : null;
  if (nearSince === before.nearSince && farSince === before.farSince) return before;
  const { level } = before;
  return level === "none" && nearSince === null && farSince === null
    ? within
    : { level, nearSince, farSince };
}

/** The limit that a level refers to. */
export const limitOf = (side: Side, level: Exclude<Level, "none">) => sides[side][level];

/** A later measurement with an earlier time comes from a clock that was set back. */
const earlier = (since: number | null, at: number): number => (since === null ? at : Math.min(since, at));
