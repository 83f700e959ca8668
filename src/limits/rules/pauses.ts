import { type ActuatorKind, kindRows } from "../../greenhouse/actuator-kinds.js";
import type { Limits } from "../../greenhouse/limits.js";
import { degreeOf } from "./guards.js";

/*
 * Rest, reversal and starts per hour. A movement lasts from a first POST until the travel time after the last one, of kinds
 * without one until the command's result. Instants are monotonic ms.
 */

type Direction = "up" | "down";

export interface Moves {
  /**
   * Oldest first, as many as count; those of an earlier run also by the clock, where they may be yet to come. `at` is Infinity
   * until the clock is known to be right.
   */
  readonly starts: readonly { readonly at: number; readonly byClock?: number }[];
  /** When the newest movement ends; Infinity while only its result can tell. */
  readonly endsAt: number | null;
  /** The same of one of an earlier run by a clock that is not known to be right yet. */
  readonly endsByClock?: number;
  /** Null where it is not known. */
  readonly direction: Direction | null;
}

export const neverMoved: Moves = { starts: [], endsAt: null, direction: null };

const hourMs = 3_600_000;

export const isMoving = ({ endsAt }: Moves, now: number): boolean => endsAt !== null && now < endsAt;

/**
 * The way it goes with a canonical word or a state: `open` or a greater degree is up. What the words of a motor do is the
 * configuration's own affair, whatever they are called.
 */
export function directionOf(
  kind: ActuatorKind,
  word: string,
  shown: { readonly state: string | null; readonly position: number | null } | undefined,
): Direction | null {
  if (kindRows[kind].configured) return null;
  if (word === "open") return "up";
  if (word === "close" || word === "closed") return "down";
  if (!/^\d{1,3}$/.test(word) || shown === undefined || shown.state === null) return null;
  const degree = Number(word);
  const before = degreeOf(shown.state, shown.position);
  if (before === null || degree === before) return null;
  return degree > before ? "up" : "down";
}

/** `stop` and `off` end something; they are no starts. */
export const isStart = (word: string): boolean => word !== "stop" && word !== "off";

interface Movement extends Omit<Moves, "starts" | "endsByClock"> {
  /** It is a start. */
  readonly isCounted: boolean;
}

/** A movement begins. */
export function withMovement(
  moves: Moves,
  { isCounted, ...move }: Movement,
  most: number,
  now: number,
): Moves {
  return { ...move, starts: isCounted ? [...moves.starts, { at: now }].slice(-most) : moves.starts };
}

export const withEnd = ({ starts, direction }: Moves, at: number): Moves => ({
  starts,
  direction,
  endsAt: at,
});

export interface Pause {
  readonly rule: "rest" | "reversal" | "starts_per_hour";
  /** As configured: seconds, or starts. */
  readonly limit: number;
  /** Monotonic ms; Infinity where only an end can tell. */
  readonly until: number;
}

/** What a movement in this direction has to wait for, or had to, the longest first. */
export function pausesFor(
  { restMs, reversalMs, startsPerHour }: Limits,
  { endsAt, direction: before, starts }: Moves,
  direction: Direction | null,
): readonly Pause[] {
  const pauses: Pause[] = [];
  if (endsAt !== null && restMs > 0)
    pauses.push({ rule: "rest", limit: restMs / 1_000, until: endsAt + restMs });
  if (endsAt !== null && reversalMs > 0 && (direction === null || direction !== before))
    pauses.push({ rule: "reversal", limit: reversalMs / 1_000, until: endsAt + reversalMs });
  const oldest = startsPerHour === null ? undefined : starts.at(-startsPerHour);
  if (startsPerHour !== null && oldest !== undefined)
    pauses.push({ rule: "starts_per_hour", limit: startsPerHour, until: oldest.at + hourMs });
  return pauses.sort((one, other) => other.until - one.until);
}

export const startsWithinHour = ({ starts }: Moves, now: number): Moves["starts"] =>
  starts.filter(({ at }) => now - at < hourMs);
