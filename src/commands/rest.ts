import { kindRows } from "../greenhouse/actuator-kinds.js";
import type { Actuator } from "../greenhouse/model.js";

/** What an actuator was last known to rest at, and a degree or foreign value that may only be passing. */
export interface Rest {
  /** `unknown`: a foreign value. */
  readonly state: string;
  readonly position: number | null;
  readonly passing: number | string | null;
}

/** What a read shows. */
export interface Sight extends Pick<Actuator, "state" | "position"> {
  /** A readable value that is in no table of the kind. */
  readonly foreign?: string | null;
}

export interface Seen {
  readonly rest: Rest | null;
  /** Set when somebody else moved it. */
  readonly moved: { readonly from: string; readonly to: string } | null;
}

/**
 * Kinds whose tables the configuration makes list only what is to be sent, so that another value may be anything; and
 * what is no digits is no control value but something unreadable.
 */
export function sightOf({ settings, state, position, value }: Actuator): Sight {
  const isForeign =
    state === "unknown" && !kindRows[settings.kind].configured && value !== null && /^\d+$/.test(value);
  return { state, position, foreign: isForeign ? value : null };
}

const nameOf = ({ state, position }: Pick<Rest, "state" | "position">) =>
  position === null ? state : String(position);

/**
 * Judges one more read of an actuator. `ours` means a command of ours is open or its travel time is not over: then
 * whatever is read is taken for its doing. A degree or a foreign value counts only when two reads in a row show it,
 * because a window on its way shows degrees it does not stop at.
 */
export function seeActuator(rest: Rest | null, sight: Sight, ours: boolean): Seen {
  const { state, position, foreign = null } = sight;
  if (state === null || (state === "unknown" && foreign === null)) return { rest, moved: null };
  const now: Rest = { state, position, passing: null };
  const isSame = rest?.state === state && rest.position === position;
  // Most reads show what the one before has shown, and change nothing at all.
  if (isSame) return { rest: rest.passing === null ? rest : now, moved: null };
  if (ours || rest === null) return { rest: now, moved: null };
  const maybePassing = foreign ?? position;
  if (maybePassing !== null && rest.passing !== maybePassing)
    return { rest: { ...rest, passing: maybePassing }, moved: null };
  if (!isSettled(rest) || isModeOnly(rest, state)) return { rest: now, moved: null };
  return { rest: now, moved: { from: nameOf(rest), to: nameOf(now) } };
}

const isSettled = ({ state }: Rest) => state !== "auto" && state !== "unknown";

const isModeOnly = (rest: Rest, state: string) =>
  rest.state === "position" && rest.position === null && state === "position";
