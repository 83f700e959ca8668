import type { Entry } from "./entry.js";
import type { LimitSources } from "./guards.js";

/** What limits look at outside of the book, and how they are configured. */
export interface LimitWorld extends LimitSources {
  /** What the configuration limits actuators by, before anything happened there; by lane, of those that it limits. */
  readonly limitsAtFirst: ReadonlyMap<string, Entry>;
  /** The same of every actuator, for one that something limits from now on. */
  readonly unlimited: ReadonlyMap<string, Entry>;
  /** Lanes whose commands and movements guards look at. */
  readonly watched: ReadonlySet<string>;
  /** Lanes with guards that look at something of the controller. */
  readonly watchersOf: (code: string) => Iterable<string>;
  /** How far the platform's clock is ahead, ms; null while that is not known. */
  readonly clockSkewMs: () => number | null;
  /** Whether the bridge has begun to send what rules ask for. */
  readonly mayRulesSend: () => boolean;
  readonly newId: () => string;
}

/** Nothing is limited. */
export const unlimited: LimitWorld = {
  limitsAtFirst: new Map(),
  unlimited: new Map(),
  watched: new Set(),
  watchersOf: () => [],
  controller: () => undefined,
  staleAfterMs: Infinity,
  weatherStaleAfterMs: () => null,
  readOnly: () => ({ commands: false, rules: false }),
  startedAt: 0,
  clockSkewMs: () => 0,
  mayRulesSend: () => false,
  newId: () => "",
};
