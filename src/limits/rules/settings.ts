import type { Entry } from "./entry.js";

/** How limits are configured, for as long as the program runs. */
export interface LimitSettings {
  /** What the configuration limits actuators by, before anything happened there; by lane, of those that it limits. */
  readonly limitsAtFirst: ReadonlyMap<string, Entry>;
  /** The same of every actuator, for one that something limits from now on. */
  readonly unlimited: ReadonlyMap<string, Entry>;
  /** Lanes whose commands and movements guards look at. */
  readonly watched: ReadonlySet<string>;
  /** By `weather/<name>`, or a controller's id or code: the lanes with guards that look at something of it. */
  readonly watchers: ReadonlyMap<string, ReadonlySet<string>>;
  /** How old a value of the platform may be, ms. */
  readonly staleAfterMs: number;
  /** The same of the configured `weather`, by its names. */
  readonly weatherStaleAfterMs: ReadonlyMap<string, number>;
  /** When this run began. */
  readonly startedAt: number;
  /** An id of this run, with which those of what rules send begin. */
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

/** Lanes with guards that look at something of the controller, whether they name it by its id or by its code. */
export function watchersOf(
  { watchers }: Pick<LimitSettings, "watchers">,
  { id, code }: { readonly id: string; readonly code: string },
): Iterable<string> {
  const own = watchers.get(code) ?? [];
  return id === code ? own : new Set([...own, ...(watchers.get(id) ?? [])]);
}
