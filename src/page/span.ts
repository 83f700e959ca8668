import type { BandLimit } from "../greenhouse/bands.js";
import type { Trends } from "./protocol.js";

/* The range of a curve, with the limits shown beside it. */

/** A limit is near within this number of least spans, or one span of the values; an outer limit within half of that. */
const nearSpans = 3;

export interface DrawnLimit {
  readonly value: number;
  /** Whether beyond it is an error. */
  readonly isOuter: boolean;
}

export const limitsOf = (
  limits: Readonly<Partial<Record<BandLimit, number>>> | null,
): readonly DrawnLimit[] =>
  Object.entries(limits ?? {}).map(([name, value]) => ({ value, isOuter: name.includes("_") }));

/**
 * The range of all values and the near limits. It is at least `least`, so that the noise of a calm day makes no cliff.
 * Null without a value.
 */
export function drawnSpan(
  values: readonly (number | null)[],
  least: number,
  limits: readonly DrawnLimit[] = [],
): readonly [from: number, to: number] | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  const from = known.reduce((one, other) => Math.min(one, other));
  const to = known.reduce((one, other) => Math.max(one, other));
  const near = Math.max(nearSpans * least, to - from);
  const seen = limits.flatMap(({ value, isOuter }) =>
    Math.max(from - value, value - to) <= (isOuter ? near / 2 : near) ? [value] : [],
  );
  const [low, high] = [Math.min(from, ...seen), Math.max(to, ...seen)];
  const room = Math.max(0, least - (high - low)) / 2;
  // Values that are never negative get no negative range.
  const bottom = low >= 0 ? Math.max(0, low - room) : low - room;
  const top = Math.max(high, bottom + Math.max(least, high - low));
  return top > bottom ? [bottom, top] : [bottom - 0.5, top + 0.5];
}

const dayS = 86_400;

type Curves = Pick<Trends, "since" | "step_s" | "sensors">;

/** The sensor's values a day before each of the shown points. */
export function dayBefore(sensor: string, shown: Curves, before: Curves): readonly (number | null)[] {
  const apart = (Date.parse(shown.since) - Date.parse(before.since)) / 1000 - dayS;
  const points = before.sensors[sensor] ?? [];
  return (shown.sensors[sensor] ?? []).map(
    (_, at) => points[Math.round((apart + at * shown.step_s) / before.step_s)] ?? null,
  );
}
