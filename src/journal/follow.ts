import type { Clock } from "../runtime/clock.js";
import { errorCode, nodeFileSystem, type FileSystem } from "./file-system.js";
import { matches, type RecordFilter } from "./record-filter.js";
import type { JournalRecord } from "./records.js";
import { listSegments } from "./segment-names.js";
import { readBlocks } from "./segment-reader.js";

export interface FollowOptions {
  readonly clock: Clock;
  readonly filter?: RecordFilter;
  /** Only records after this sequence number: 0 for all, the last one shown to go on from there. */
  readonly after: number;
  readonly pollMs?: number;
  readonly files?: FileSystem;
}

/** Where reading goes on: in which file, from which byte. */
interface Place {
  first: number;
  offset: number;
  sequence: number;
}

/**
 * Records as another process writes them, in order, each once, over rotation and restarts; waits for a directory that
 * does not exist yet. Ends when the signal aborts.
 */
export async function* followRecords(
  directory: string,
  { clock, filter = {}, after, pollMs = 500, files = nodeFileSystem }: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<JournalRecord> {
  const place: Place = { first: 0, offset: 0, sequence: after };
  do {
    for await (const record of newRecords(files, directory, place)) if (matches(record, filter)) yield record;
  } while (await waited(clock, pollMs, signal));
}

/** False when the signal ended the wait. */
async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.wait(ms, signal);
    return true;
  } catch {
    return false;
  }
}

async function* newRecords(
  files: FileSystem,
  directory: string,
  place: Place,
): AsyncGenerator<JournalRecord> {
  try {
    // Listed before reading: once a newer file exists, nothing more is written to the older one.
    const segments = await listSegments(files, directory);
    for (const [index, { path, first }] of segments.entries()) {
      const next = segments[index + 1];
      if (first < place.first || (next !== undefined && next.first <= place.sequence)) continue;
      if (first > place.first) Object.assign(place, { first, offset: 0 });
      if ((await files.facts(path)).bytes < place.offset) place.offset = 0;
      for await (const { records, endAt } of readBlocks(files, path, place.offset)) {
        for (const record of records) {
          if (record.seq <= place.sequence) continue;
          place.sequence = record.seq;
          yield record;
        }
        place.offset = endAt;
      }
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
