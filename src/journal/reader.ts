import type { Clock } from "../runtime/clock.js";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { historyOf } from "./history.js";
import { addToRecent, emptyRecent, type RecentCommand, recentOf } from "./recent-commands.js";
import { matches, type RecordFilter } from "./record-line.js";
import type { HistoryParts, JournalRecord } from "./records.js";
import { scanJournal } from "./recovery.js";
import { fileProblem, listSegments, type SegmentName } from "./segment-files.js";
import { type Block, readBlocks } from "./segment-reader.js";

/*
 * Reading needs no lock and changes nothing: it works beside the bridge, from another process, on a read-only disk.
 */

/**
 * Every file of the journal, oldest first. None where they cannot be listed, so that a bridge without a usable directory can start;
 * `listingProblem` tells that from an empty journal.
 */
const segmentsOf = (files: FileSystem, directory: string): Promise<readonly SegmentName[]> =>
  listSegments(files, directory).catch(() => []);

/** A file deleted between listing and reading was too old to be missed. */
async function* blocksOf(files: FileSystem, { path }: SegmentName): AsyncGenerator<Block> {
  try {
    yield* readBlocks(files, path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw fileProblem(path, error);
  }
}

/** Every matching record, oldest first, with one block of one file in memory. Broken lines are passed over. */
export async function* readRecords(
  directory: string,
  filter: RecordFilter = {},
  files: FileSystem = nodeFileSystem,
): AsyncGenerator<JournalRecord> {
  for (const segment of await segmentsOf(files, directory))
    for await (const { records } of blocksOf(files, segment))
      for (const record of records) if (matches(record, filter)) yield record;
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
  let found: readonly JournalRecord[] = [];
  if (filter.limit < 1) return found;
  for (const segment of (await segmentsOf(files, directory)).toReversed()) {
    const { matching, anyInTime } = await newestOf(files, segment, filter);
    found = [...matching, ...found].slice(-filter.limit);
    if (found.length >= filter.limit || !anyInTime) break;
  }
  return found.slice(-filter.limit);
}

async function newestOf(
  files: FileSystem,
  segment: SegmentName,
  filter: RecordFilter & { readonly limit: number },
) {
  const { sinceMs } = filter;
  let matching: JournalRecord[] = [];
  let anyInTime = sinceMs === undefined;
  for await (const { records } of blocksOf(files, segment))
    for (const record of records) {
      if (!anyInTime) anyInTime = matches(record, sinceMs === undefined ? {} : { sinceMs });
      if (!matches(record, filter)) continue;
      matching.push(record);
      if (matching.length > filter.limit * 2) matching = matching.slice(-filter.limit);
    }
  return { matching: matching.slice(-filter.limit), anyInTime };
}

/** What earlier runs left open, for a program that does not write the journal itself. */
export async function readHistory(
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<HistoryParts> {
  return historyOf((await scanJournal(files, directory)).history);
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
  const draft = emptyRecent(sinceMs);
  const segments = await segmentsOf(files, directory);
  for (const [index, segment] of segments.entries()) {
    if (index < segments.length - 2 && (await writtenBefore(files, segment, sinceMs))) continue;
    for await (const { records } of blocksOf(files, segment))
      for (const record of records) addToRecent(draft, record);
  }
  return recentOf(draft);
}

async function writtenBefore(files: FileSystem, { path }: SegmentName, at: number): Promise<boolean> {
  try {
    return (await files.facts(path)).modifiedAt < at;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return true;
    throw fileProblem(path, error);
  }
}

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
