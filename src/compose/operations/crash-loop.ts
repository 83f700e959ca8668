import type { RecordedStart } from "../../journal/history-parts.js";
import type { Journal } from "../../journal/journal.js";
import type { RecordBody } from "../../journal/records.js";
import type { Configuration } from "../../config/schema.js";
import type { BridgeSurroundings } from "../bridge-parts.js";
import type { LiveSettings } from "../live-settings.js";
import { takeLastError } from "./process-guard.js";

export const crashesUntilReadOnly = 5;
export const crashWindowMs = 600_000;

/**
 * How many runs in a row ended without saying so, within the last ten minutes. `starts` is oldest first and without the run
 * that asks; a clean stop ends the row.
 */
export function crashesBefore(starts: readonly RecordedStart[], now: number): number {
  let crashes = 0;
  for (const { at, stopped } of [...starts].reverse()) {
    // A start in the future was written under another time; it cannot be told how long ago that was.
    const agoMs = now - Date.parse(at);
    if (stopped || !(agoMs <= crashWindowMs && agoMs >= -crashWindowMs)) break;
    crashes += 1;
  }
  return crashes;
}

export interface Life {
  /** Notes that this run ended as it was asked to. */
  stopped(): Promise<void>;
}

type Around = Pick<BridgeSurroundings, "clock" | "log" | "version"> & {
  readonly configuration: Pick<Configuration, "data_dir">;
};

/** Notes the start in the journal and how the last run ended; makes this one read-only when too many ended badly. */
export async function beginLife(journal: Journal, around: Around, live: LiveSettings): Promise<Life> {
  const { clock, log, version, configuration } = around;
  const note = (body: RecordBody) => journal.append(body, { durable: true }).catch(() => undefined);
  const crashes = crashesBefore(journal.history().starts, clock.now());
  const lastError = takeLastError(configuration.data_dir);
  if (lastError !== null) await note(lastError);
  if (crashes >= crashesUntilReadOnly) {
    live.forceReadOnly("crash_loop");
    log.error(
      { crashes },
      "the last runs all ended without being asked to, so this one is read-only and refuses commands. Find the cause in the log; stopping the bridge once in order (SIGTERM) ends this",
    );
  }
  await note({ type: "start", version, read_only: live.current.commands.read_only });
  return {
    stopped: async () => {
      await note({ type: "stop", reason: "asked to" });
    },
  };
}
