import type { Wanted } from "../greenhouse/command/words.js";
import type { Interlock, Limits } from "../greenhouse/limits.js";
import { degreeOf } from "./inputs.js";

/*
 * Rest, reversal and starts per hour. A movement lasts from a first POST until the travel time after the last one, of kinds
 * without one until the command's result. Instants are monotonic ms.
 */

export interface Instant {
  readonly mono: number;
  /** ISO time of a monotonic instant. */
  readonly iso: (mono: number) => string;
}

type Direction = "up" | "down";

export interface Moves {
  /** Oldest first, of the last hour; as many as count. */
  readonly starts: readonly number[];
  /** When the newest movement ends; Infinity while only its result can tell. */
  readonly endsAt: number | null;
  /** Null where it is not known. */
  readonly direction: Direction | null;
}

export const neverMoved: Moves = { starts: [], endsAt: null, direction: null };

const hourMs = 3_600_000;

export const isMoving = ({ endsAt }: Moves, now: number): boolean => endsAt !== null && now < endsAt;

/** The way it goes: `open` or a greater degree is up. */
export function directionOf(
  wanted: Wanted | string,
  shown: { readonly state: string | null; readonly position: number | null } | undefined,
): Direction | null {
  const word = typeof wanted === "string" ? wanted : wanted.type === "word" ? wanted.word : "";
  if (word === "open") return "up";
  if (word === "close" || word === "closed") return "down";
  const degree =
    typeof wanted === "string" ? degreeIn(wanted) : wanted.type === "position" ? wanted.degree : null;
  if (degree === null || shown === undefined || shown.state === null) return null;
  const before = degreeOf(shown.state, shown.position);
  if (before === null || degree === before) return null;
  return degree > before ? "up" : "down";
}

const degreeIn = (text: string): number | null => (/^\d{1,3}$/.test(text) ? Number(text) : null);

/** `stop` and `off` end something; they are no starts. */
export const isStart = (word: string): boolean => word !== "stop" && word !== "off";

/** A movement begins; `isCounted` where it is a start. */
export function began(
  moves: Moves,
  {
    isCounted,
    direction,
    endsAt,
  }: { readonly isCounted: boolean; readonly direction: Direction | null; readonly endsAt: number },
  most: number,
  now: number,
): Moves {
  const recent = moves.starts.filter((at) => now - at < hourMs);
  const starts = isCounted ? [...recent, now].slice(-most) : recent;
  return { starts, endsAt, direction };
}

export const endedAt = (moves: Moves, at: number): Moves => ({ ...moves, endsAt: at });

export interface Pause {
  readonly interlock: Interlock;
  /** Infinity where only an end can tell. */
  readonly until: number;
}

/** When rest, reversal and starts per hour are over for a movement in this direction; -Infinity for what does not count. */
export function pauseEnds(
  { restMs, reversalMs, startsPerHour }: Limits,
  { endsAt, direction: before, starts }: Moves,
  direction: Direction | null,
): readonly [rest: number, reversal: number, starts: number] {
  const isOtherWay = direction === null || direction !== before;
  const oldest = startsPerHour === null ? undefined : starts.at(-startsPerHour);
  return [
    restMs > 0 && endsAt !== null ? endsAt + restMs : -Infinity,
    reversalMs > 0 && endsAt !== null && isOtherWay ? endsAt + reversalMs : -Infinity,
    oldest === undefined ? -Infinity : oldest + hourMs,
  ];
}

/** What a movement in this direction has to wait for, the longest first. */
export function pausesFor(
  limits: Limits,
  moves: Moves,
  direction: Direction | null,
  now: Instant,
): readonly Pause[] {
  const [rest, reversal, starts] = pauseEnds(limits, moves, direction);
  const pause = (rule: string, value: number | null, limit: number | null, until: number): Pause[] => {
    if (until <= now.mono) return [];
    const shown = Number.isFinite(until) ? now.iso(until) : null;
    return [{ until, interlock: { rule, input: null, value, limit, quality: null, until: shown } }];
  };
  const recent = () => moves.starts.filter((at) => now.mono - at < hourMs).length;
  return [
    ...pause("rest", null, limits.restMs / 1_000, rest),
    ...pause("reversal", null, limits.reversalMs / 1_000, reversal),
    ...(starts > now.mono ? pause("starts_per_hour", recent(), limits.startsPerHour, starts) : []),
  ].sort((one, other) => other.until - one.until);
}
