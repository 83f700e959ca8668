import type { CommandTarget, JournalRecord } from "./records.js";
import type { CommandResult } from "./results.js";

export interface JournaledResult {
  readonly seq: number;
  readonly target: CommandTarget;
  /** False for what was refused before it was taken. */
  readonly isTaken: boolean;
  readonly result: CommandResult;
}

/**
 * Results the broker has not been known to have taken, oldest first, the newest `limit`: those after the last
 * `delivered` record. Some may have been published, so they are to be repeated as such.
 */
export function undeliveredResults(
  records: Iterable<JournalRecord>,
  limit: number,
): readonly JournaledResult[] {
  let waiting: JournaledResult[] = [];
  for (const record of records) {
    if (record.type === "delivered") waiting = waiting.filter(({ seq }) => seq > record.through);
    else if (record.type === "result" || (record.type === "refusal" && !isCut(record.result)))
      waiting.push({
        seq: record.seq,
        target: record.target ?? "actuator",
        isTaken: record.type === "result",
        result: record.result,
      });
    if (waiting.length > limit * 2) waiting = waiting.slice(-limit);
  }
  return waiting.slice(-limit);
}

/** An invented name was too long to be kept whole: where its refusal belongs is not known any more. */
const isCut = ({ controller, actuator }: CommandResult): boolean =>
  controller.endsWith("…") || actuator.endsWith("…");
