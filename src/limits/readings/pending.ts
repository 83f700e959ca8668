import { type BandLimit, bandLimits, type Bands } from "../../greenhouse/bands.js";
import { limitOf, type Side, type SideState, within } from "./judge.js";
import { fieldsOf } from "../../runtime/objects.js";

/*
 * What the next run has to know beside the alarms: since when a limit is crossed whose delay still runs, so that the
 * delay goes on, and for how long answers have not listed a sensor with an alarm. Pure. Instants are epoch ms.
 */

/** A crossed limit with its value at that time; after a change of the limit the delay begins anew. */
export type Pending = readonly [
  controller: string,
  sensor: string,
  limit: BandLimit,
  value: number,
  since: number,
];

export interface KeptReadings {
  readonly pending: readonly Pending[];
  /** By the alarm's id, in ms. */
  readonly unlisted: Readonly<Record<string, number>>;
}

type Sides = Readonly<Record<Side, SideState>>;
const bothSides = ["low", "high"] as const;

/** The most that are kept. */
const mostPending = 20_000;

/** The limits of a sensor that are crossed and whose delay still runs. */
export function pendingOf(
  controller: string,
  sensor: string,
  sides: Sides,
  { limits }: Bands,
): readonly Pending[] {
  return bothSides.flatMap((side) => {
    const state = sides[side];
    if (state === within) return [];
    const waits = [
      ["near", state.level === "none" ? state.nearSince : null],
      ["far", state.level === "far" ? null : state.farSince],
    ] as const;
    return waits.flatMap(([level, since]): readonly Pending[] => {
      const limit = limitOf(side, level);
      const value = limits[limit];
      return since === null || value === undefined ? [] : [[controller, sensor, limit, value, since]];
    });
  });
}

/** The sides of a sensor with what an earlier run kept. */
export function resumeSides(sides: Sides, kept: readonly Pending[], { limits }: Bands): Sides {
  const sinceOf = (name: BandLimit): number | null =>
    kept.find(([, , limit, value]) => limit === name && value === limits[name])?.[4] ?? null;
  const sideOf = (side: Side): SideState => {
    const before = sides[side];
    const [nearSince, farSince] = [sinceOf(limitOf(side, "near")), sinceOf(limitOf(side, "far"))];
    return nearSince === null && farSince === null ? before : { ...before, nearSince, farSince };
  };
  return { low: sideOf("low"), high: sideOf("high") };
}

/** Rounded, as the file is written again after each change. */
const unlistedUnitMs = 300_000;

export const keptText = (
  pending: readonly Pending[],
  unlisted: ReadonlyMap<string, { readonly ms: number }>,
) =>
  JSON.stringify({
    pending: pending.slice(0, mostPending),
    unlisted: Object.fromEntries(
      [...unlisted].map(([id, { ms }]) => [id, Math.floor(ms / unlistedUnitMs) * unlistedUnitMs]),
    ),
  });

const isPending = (value: unknown): value is Pending =>
  Array.isArray(value) &&
  typeof value[0] === "string" &&
  typeof value[1] === "string" &&
  bandLimits.some((name) => name === value[2]) &&
  typeof value[3] === "number" &&
  typeof value[4] === "number";

export const nothingKept = keptText([], new Map());

/** Parses the text of an earlier run. Throws if it is no JSON. */
export function keptIn(text: string): KeptReadings {
  const { pending, unlisted } = fieldsOf(JSON.parse(text));
  const known = Object.entries(fieldsOf(unlisted)).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return {
    pending: Array.isArray(pending) ? pending.filter(isPending) : [],
    unlisted: Object.fromEntries(known),
  };
}
