import { ignored } from "../runtime/failures.js";
import type { Clock } from "../runtime/clock.js";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { type RecentCommand, RecentCommands } from "./recent.js";
import {
  type Checkpoint,
  type JournalRecord,
  matches,
  mayHold,
  type RecordFilter,
  withoutMemory,
} from "./records.js";
import { isWanted, Timeline, type TimelineEntry, type TimelineFilter } from "./timeline.js";
import { scanJournal } from "./retention.js";
import {
  fileProblem,
  type Line,
  listingProblem,
  listSegments,
  readLines,
  type SegmentName,
} from "./segments.js";

/*
 * Reads the journal without a lock and without changes: beside the bridge, from another process, on a read-only disk.
 */

/**
 * Every file of the journal, oldest first. None where they cannot be listed, so that a bridge without a usable
 * directory can start; `listingProblem` distinguishes that from an empty journal.
 */
const segmentsOf = (files: FileSystem, directory: string): Promise<readonly SegmentName[]> =>
  listSegments(files, directory).catch(() => []);

/**
 * Lines from byte `from` on, or of the whole file if it became shorter. A file deleted meanwhile was too old to be
 * missed.
 */
async function* linesFrom(
  files: FileSystem,
  { path }: SegmentName,
  from = 0,
  isAsked?: (line: Buffer) => boolean,
): AsyncGenerator<Line> {
  try {
    const isThere = from === 0 || (await files.facts(path)).bytes >= from;
    yield* readLines(files, path, isThere ? from : 0, isAsked);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** The records of one file; broken lines are skipped. */
async function* recordsOf(
  files: FileSystem,
  segment: SegmentName,
  isAsked?: (line: Buffer) => boolean,
): AsyncGenerator<JournalRecord> {
  for await (const { records } of linesFrom(files, segment, 0, isAsked)) yield* records;
}

/**
 * The newest `limit` matching records, newest last. It reads files from the newest back, as far as needed, and holds at
 * most twice `limit` records.
 */
export async function newestRecords(
  directory: string,
  filter: RecordFilter & { readonly limit: number },
  files: FileSystem = nodeFileSystem,
): Promise<readonly JournalRecord[]> {
  const { limit, sinceMs, types } = filter;
  let found: readonly JournalRecord[] = [];
  if (limit < 1) return found;
  const isOfTypes = mayHold(types);
  for (const segment of (await segmentsOf(files, directory)).toReversed()) {
    let matching: JournalRecord[] = [];
    let anyInTime = sinceMs === undefined;
    // A file without any record in time is the last to be read.
    const isAsked = (line: Buffer) => !anyInTime || isOfTypes(line);
    for await (const record of recordsOf(files, segment, isAsked)) {
      anyInTime ||= sinceMs !== undefined && Date.parse(record.at) >= sinceMs;
      if (!matches(record, filter)) continue;
      matching.push(withoutMemory(record));
      if (matching.length > limit * 2) matching = matching.slice(-limit);
    }
    found = [...matching, ...found].slice(-limit);
    if (found.length >= limit || !anyInTime) break;
  }
  return found;
}

/**
 * The newest `limit` wanted entries of the timeline, newest last, and the rest of the oldest record's entries. `next`:
 * the number before which the next page begins; null where nothing older is wanted.
 */
export async function newestEntries(
  directory: string,
  filter: TimelineFilter & { readonly limit: number },
  files: FileSystem = nodeFileSystem,
): Promise<TimelinePage> {
  const { limit, sinceMs } = filter;
  let found: readonly TimelineEntry[] = [];
  for (const segment of (await segmentsOf(files, directory)).toReversed()) {
    const timeline = new Timeline();
    const wanted: TimelineEntry[] = [];
    let anyInTime = sinceMs === undefined;
    for await (const record of recordsOf(files, segment)) {
      anyInTime ||= sinceMs !== undefined && Date.parse(record.at) >= sinceMs;
      for (const entry of timeline.entries(record)) if (isWanted(entry, filter)) wanted.push(entry);
    }
    const page = pageOf([...wanted, ...found], limit);
    if (page.next !== null) return page;
    found = page.entries;
    if (!anyInTime) break;
  }
  return { entries: found, next: null };
}

interface TimelinePage {
  readonly entries: readonly TimelineEntry[];
  readonly next: number | null;
}

function pageOf(found: readonly TimelineEntry[], limit: number): TimelinePage {
  const oldest = found.at(-limit)?.seq ?? 0;
  const entries = found.filter(({ seq }) => seq >= oldest);
  return { entries, next: entries.length < found.length ? oldest : null };
}

/** The repeated questions about the journal in `directory`. */
export const journalReader = (directory: string) => ({
  past: (filter: Parameters<typeof newestRecords>[1]) => newestRecords(directory, filter),
  /** Rejects with JournalUnreadable where the files cannot be listed, as that is no empty journal. */
  timeline: async (filter: Parameters<typeof newestEntries>[1]) => {
    const problem = await listingProblem(directory);
    if (problem !== null) throw problem;
    return newestEntries(directory, filter);
  },
});

/** What earlier runs left open, for a program that does not write the journal itself. */
export async function readHistory(
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<Checkpoint> {
  return (await scanJournal(files, directory)).history.parts();
}

/**
 * Commands since `sinceMs` (epoch ms), across restarts. Files last written earlier are skipped, except the two newest,
 * whose clock may have been wrong.
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
  /** Only records after this sequence number; 0 for all. */
  readonly after: number;
  readonly pollMs?: number;
  readonly files?: FileSystem;
}

/**
 * Records in order, each once, as another process writes them, across rotation and restarts. Waits for a directory that
 * does not exist yet. Ends when the signal aborts.
 */
export async function* followRecords(
  directory: string,
  { clock, filter = {}, after, pollMs = 500, files = nodeFileSystem }: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<JournalRecord> {
  /** Where reading continues: file, byte, and last record. */
  let place = 0;
  let offset = 0;
  let sequence = after;
  do {
    // Listed before reading: once a newer file exists, nothing more is written to the older one.
    const segments = await listSegments(files, directory);
    for (const [index, segment] of segments.entries()) {
      const next = segments[index + 1];
      if (segment.first < place || (next !== undefined && next.first <= sequence)) continue;
      if (segment.first > place) [place, offset] = [segment.first, 0];
      for await (const { records, isWhole, startAt, endAt } of linesFrom(files, segment, offset)) {
        for (const record of records) {
          if (record.seq <= sequence) continue;
          sequence = record.seq;
          if (matches(record, filter)) yield record;
        }
        offset = isWhole ? endAt : startAt;
      }
    }
    await clock.wait(pollMs, signal).catch(ignored);
  } while (!signal.aborted);
}
