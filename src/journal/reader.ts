import type { Clock } from "../runtime/clock.js";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { type RecentCommand, RecentCommands } from "./history.js";
import { type HistoryParts, type JournalRecord, matches, type RecordFilter } from "./records.js";
import { scanJournal } from "./maintenance.js";
import { fileProblem, listSegments, readLines, type SegmentName } from "./segments.js";

/*
 * Reading needs no lock and changes nothing: it works beside the bridge, from another process, on a read-only disk.
 */

/**
 * Every file of the journal, oldest first. None where they cannot be listed, so that a bridge without a usable directory can start;
 * `listingProblem` tells that from an empty journal.
 */
const segmentsOf = (files: FileSystem, directory: string): Promise<readonly SegmentName[]> =>
  listSegments(files, directory).catch(() => []);

/** The records of one file. Broken lines are passed over; a file deleted meanwhile was too old to be missed. */
async function* recordsOf(files: FileSystem, { path }: SegmentName): AsyncGenerator<JournalRecord> {
  try {
    for await (const { records } of readLines(files, path)) yield* records;
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/**
 * The newest `limit` matching records, newest last. Files are read from the newest back, no further than needed; at most
 * twice `limit` records are in memory.
 */
export async function newestRecords(
  directory: string,
  filter: RecordFilter & { readonly limit: number },
  files: FileSystem = nodeFileSystem,
): Promise<readonly JournalRecord[]> {
  const { limit, sinceMs } = filter;
  let found: readonly JournalRecord[] = [];
  if (limit < 1) return found;
  for (const segment of (await segmentsOf(files, directory)).toReversed()) {
    let matching: JournalRecord[] = [];
    let anyInTime = sinceMs === undefined;
    for await (const record of recordsOf(files, segment)) {
      anyInTime ||= sinceMs !== undefined && Date.parse(record.at) >= sinceMs;
      if (!matches(record, filter)) continue;
      matching.push(record);
      if (matching.length > limit * 2) matching = matching.slice(-limit);
    }
    found = [...matching, ...found].slice(-limit);
    if (found.length >= limit || !anyInTime) break;
  }
  return found;
}

/** What earlier runs left open, for a program that does not write the journal itself. */
export async function readHistory(
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<HistoryParts> {
  return (await scanJournal(files, directory)).history.parts();
}

/**
 * Commands since `sinceMs` (epoch ms), over restarts. Files last written before then are left out, except the two
 * newest: their clock may have been wrong.
 */
export async function readRecentCommands(
  directory: string,
  sinceMs: number,
  files: FileSystem = nodeFileSystem,
): Promise<readonly RecentCommand[]> {
  const recent = new RecentCommands(sinceMs);
  const segments = await segmentsOf(files, directory);
  for (const [index, segment] of segments.entries()) {
    if (index < segments.length - 2 && (await writtenBefore(files, segment, sinceMs))) continue;
    for await (const record of recordsOf(files, segment)) recent.add(record);
  }
  return recent.list();
}

async function writtenBefore(files: FileSystem, { path }: SegmentName, at: number): Promise<boolean> {
  try {
    return (await files.facts(path)).modifiedAt < at;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return true;
    throw fileProblem(path, error);
  }
}

interface FollowOptions {
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
    await clock.wait(pollMs, signal).catch(() => undefined);
  } while (!signal.aborted);
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
      for await (const { records, isWhole, startAt, endAt } of readLines(files, path, place.offset)) {
        for (const record of records) {
          if (record.seq <= place.sequence) continue;
          place.sequence = record.seq;
          yield record;
        }
        place.offset = isWhole ? endAt : startAt;
      }
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
