import { onTestFinished } from "vitest";
import { Journal, type JournalOptions } from "../../../src/journal/journal.js";
import { newestRecords } from "../../../src/journal/reader.js";
import type { JournalRecord } from "../../../src/journal/records.js";
import { VirtualClock } from "../../support/virtual-clock.js";
import { capturedLog } from "./captured-log.js";

export const stillClock = (startAt = Date.UTC(2026, 4, 1, 6)) => new VirtualClock(startAt);

export async function openJournal(
  directory: string,
  options: Partial<JournalOptions> = {},
): Promise<Journal> {
  const journal = await Journal.open(directory, { clock: stillClock(), log: capturedLog().log, ...options });
  onTestFinished(() => journal.close());
  return journal;
}

/** All but the checkpoints at the heads of files. */
export async function recordsIn(directory: string): Promise<readonly JournalRecord[]> {
  const records = await newestRecords(directory, { limit: Number.POSITIVE_INFINITY });
  return records.filter(({ type }) => type !== "carried");
}
