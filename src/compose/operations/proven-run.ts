import type { RecordBody } from "../../journal/records.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import type { LiveSettings } from "../live-settings.js";

/** A run this old is not one of a crash loop, whatever ends it later. */
export const provenMs = 900_000;
/** The word in the journal for a run that grew as old as that. */
export const ranWell = "ran_well";
export const crashLoop = "crash_loop";

/** Whether a run that began at `startedAt` has shown that it works (monotonic ms). */
export const isProven = (startedAt: number, now: number): boolean => now - startedAt >= provenMs;

export interface ProvenRunPorts {
  readonly startedAt: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly live: Pick<LiveSettings, "readOnlyBecause">;
  readonly note: (record: RecordBody) => void;
  readonly onNews: () => void;
}

/**
 * Notes that this run works, once it does: a clock that is set back must not make the next start take it for a crash. A bridge that
 * nobody visits takes commands again from then on.
 */
export async function awaitProven(
  { startedAt, clock, log, live, note, onNews }: ProvenRunPorts,
  signal: AbortSignal,
): Promise<void> {
  const wasCareful = live.readOnlyBecause === crashLoop;
  while (!isProven(startedAt, clock.monotonic())) {
    await clock.wait(startedAt + provenMs - clock.monotonic(), signal).catch(() => undefined);
    if (signal.aborted) return;
  }
  note({ type: "event", event: ranWell, severity: "info", message: "This run has worked for 15 minutes." });
  if (!wasCareful) return;
  log.warn(
    {},
    "the bridge has run for 15 minutes after a crash loop: it is no longer read-only for that. Find the cause in the log",
  );
  onNews();
}
