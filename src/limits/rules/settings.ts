import type { Entry } from "./entry.js";

/** The configuration of limits, fixed for the whole run. */
export interface LimitSettings {
  /** Limits by lane, at the start, of actuators that the configuration limits. */
  readonly limitsAtFirst: ReadonlyMap<string, Entry>;
  /** The same for every actuator, for when something limits it. */
  readonly unlimited: ReadonlyMap<string, Entry>;
  /** Lanes whose commands and movements guards look at. */
  readonly watched: ReadonlySet<string>;
  /** Lanes by what their guards look at: `weather/<name>`, or a controller's id or code. */
  readonly watchers: ReadonlyMap<string, ReadonlySet<string>>;
  /** The greatest age of a platform's value, in ms. */
  readonly staleAfterMs: number;
  /** The same for each configured `weather`, by name. */
  readonly weatherStaleAfterMs: ReadonlyMap<string, number>;
  /** When this run began. */
  readonly startedAt: number;
  /** An id of this run, with which ids of rules' commands begin. */
  readonly run: string;
}

export const nothingLimited: LimitSettings = {
  limitsAtFirst: new Map(),
  unlimited: new Map(),
  watched: new Set(),
  watchers: new Map(),
  staleAfterMs: Infinity,
  weatherStaleAfterMs: new Map(),
  startedAt: 0,
  run: "",
};

/** Lanes with guards that look at the controller, by its id or its code. */
export function watchersOf(
  { watchers }: Pick<LimitSettings, "watchers">,
  { id, code }: { readonly id: string; readonly code: string },
): Iterable<string> {
  const own = watchers.get(code) ?? [];
  return id === code ? own : new Set([...own, ...(watchers.get(id) ?? [])]);
}
