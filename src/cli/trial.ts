import type { Configuration } from "../config/schema.js";
import type { PlatformState } from "../greenhouse/model.js";

/* Whether a bridge comes up by settings that were saved. */

/** So long it has. */
export const trialMs = 60_000;
/** What failed has to run so long afterwards. */
const calmMs = 20_000;

/** What is seen of a run at the end of its trial. */
export interface Sighting {
  /** How long the run under way has been complete, ms; null where it is not. */
  readonly runsForMs: number | null;
  /** The error of the newest run that ended by one; null where none did. */
  readonly error: string | null;
  readonly http: Configuration["http"];
  readonly isPageOpen: boolean;
  readonly wasPageOpen: boolean;
  readonly platform: PlatformState | null;
  readonly platformBefore: PlatformState | null;
  /** The keys that were changed. */
  readonly keys: readonly string[];
}

const reached: ReadonlySet<PlatformState | null> = new Set<PlatformState | null>(["online", "degraded"]);

/**
 * Why the settings are taken back; null where the bridge has come up. A broker that is away is no reason, as brokers come back;
 * a platform is one only where its settings were changed and it was reached before.
 */
export function notComeUp(seen: Sighting): string | null {
  if (seen.runsForMs === null || (seen.error !== null && seen.runsForMs < calmMs))
    return `the bridge did not start by them${seen.error === null ? "" : ` (${seen.error})`}`;
  if (seen.http !== false && seen.wasPageOpen && !seen.isPageOpen)
    return `the page could not be opened at ${seen.http.host}, port ${seen.http.port}`;
  const isOfPlatform = seen.keys.some((key) => key.startsWith("platform."));
  if (isOfPlatform && reached.has(seen.platformBefore) && !reached.has(seen.platform))
    return seen.platform === "unauthorized"
      ? "the platform refuses the credential"
      : "the platform is not reached any more";
  return null;
}
