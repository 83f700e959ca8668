import type { Actuator } from "../../greenhouse/model.js";

/** What an actuator was last known to rest at, and a degree that may only be passing. */
export interface Rest {
  readonly state: string;
  readonly position: number | null;
  readonly passing: number | null;
}

export interface Seen {
  readonly rest: Rest | null;
  /** Set when somebody else moved it. */
  readonly moved: { readonly from: string; readonly to: string } | null;
}

const nameOf = ({ state, position }: Pick<Rest, "state" | "position">) =>
  position === null ? state : String(position);

/**
 * Judges one more read of an actuator. `ours` means a command of ours is open or its travel time is not over: then
 * whatever is read is taken for its doing. A degree counts only when two reads in a row show it, because a window on its
 * way shows degrees it does not stop at.
 */
export function seeActuator(
  rest: Rest | null,
  actuator: Pick<Actuator, "state" | "position">,
  ours: boolean,
): Seen {
  const { state, position } = actuator;
  if (state === null || state === "unknown") return { rest, moved: null };
  const now: Rest = { state, position, passing: null };
  if (ours || rest === null) return { rest: now, moved: null };
  if (rest.state === state && rest.position === position) return { rest: now, moved: null };
  if (position !== null && rest.passing !== position)
    return { rest: { ...rest, passing: position }, moved: null };
  const modeOnly = rest.state === "position" && rest.position === null && state === "position";
  if (rest.state === "auto" || modeOnly) return { rest: now, moved: null };
  return { rest: now, moved: { from: nameOf(rest), to: nameOf(now) } };
}
