import { dirname } from "node:path";
import { errorCode, type FileSystem, writeFully } from "../runtime/file-system.js";
import { History } from "./history.js";
import { longestLineBytes } from "./record-line.js";
import { fileProblem, listSegments, readLines, type SegmentName, setAside } from "./segments.js";

/** No record is shorter, so a stretch of lost bytes held at most one sequence number per this many. */
const shortestRecordBytes = 100;
const directoryMode = 0o700;

interface ScannedSegment extends SegmentName {
  readonly bytes: number;
  readonly intact: number;
  /** A torn last line is not counted; it is cut off. */
  readonly unreadable: number;
  /** After the last newline, and after the last intact record. */
  readonly endAt: number;
  readonly goodEndAt: number;
}

export interface Scan {
  /** The highest sequence number that may have been used. */
  readonly sequence: number;
  readonly history: History;
  /** Newest last; only those read, from the newest checkpoint on. */
  readonly segments: readonly ScannedSegment[];
  readonly unreadable: number;
}

interface Repair {
  /** The file to go on with; null when a new one must be begun. */
  readonly current: SegmentName | null;
  readonly truncatedBytes: number;
  readonly corruptFiles: readonly string[];
}

/** Reads what the journal knows; changes nothing, so it also serves a read-only disk. */
export async function scanJournal(files: FileSystem, directory: string): Promise<Scan> {
  const names = await listSegments(files, directory).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
  const history = new History();
  const segments: ScannedSegment[] = [];
  let sequence = 0;
  for (const name of names.slice(await newestCheckpoint(files, names))) {
    const { segment, last } = await scanSegment(files, name, history);
    segments.push(segment);
    const lost = Math.ceil((segment.bytes - segment.goodEndAt - 1) / shortestRecordBytes);
    sequence = Math.max(sequence, Math.max(last, name.first - 1) + Math.max(lost, 0));
  }
  const unreadable = segments.reduce((sum, segment) => sum + segment.unreadable, 0);
  return { sequence, history, segments, unreadable };
}

/** Index of the newest file that begins with what all older ones have to say. */
async function newestCheckpoint(files: FileSystem, names: readonly SegmentName[]): Promise<number> {
  for (const [index, { path }] of [...names.entries()].slice(1).toReversed())
    for await (const { records } of readLines(files, path)) {
      if (records[0]?.type === "carried") return index;
      break;
    }
  return 0;
}

async function scanSegment(files: FileSystem, name: SegmentName, history: History) {
  const { bytes } = await files.facts(name.path).catch((error: unknown) => {
    throw fileProblem(name.path, error);
  });
  const segment = { ...name, bytes, intact: 0, unreadable: 0, endAt: 0, goodEndAt: 0 };
  let last = 0;
  for await (const line of readLines(files, name.path)) {
    for (const record of line.records) {
      history.add(record);
      last = Math.max(last, record.seq);
    }
    segment.intact += line.records.length + line.foreign;
    if (line.isWhole && line.unreadable) segment.unreadable += 1;
    segment.endAt = line.endAt;
    segment.goodEndAt = line.goodEndAt ?? segment.goodEndAt;
  }
  return { segment, last };
}

/**
 * Makes the directory where there is none, sets wholly corrupt files aside, cuts a torn last line off the newest one, and
 * brings what was read to the disk: a run that was killed may have left it in the kernel's memory, and what is acted on now
 * must outlive a power cut.
 */
export async function repairJournal(
  files: FileSystem,
  directory: string,
  { segments }: Scan,
): Promise<Repair> {
  if (await files.makeDirectory(directory, directoryMode)) await files.syncDirectory(dirname(directory));
  const corruptFiles: string[] = [];
  let isDurable = true;
  for (const segment of segments)
    if (isWhollyCorrupt(segment)) corruptFiles.push(await setAside(files, segment.path));
    else isDurable = await isOnDisk(files, segment);
  if (segments.length > 0) await files.syncDirectory(directory);
  const newest = segments.at(-1);
  if (newest === undefined || isWhollyCorrupt(newest) || !isDurable)
    return { current: null, truncatedBytes: 0, corruptFiles };
  const truncatedBytes = await cutTornTail(files, newest);
  return { current: newest, truncatedBytes, corruptFiles };
}

/** False when it cannot be: the next file then begins with what this one had to say. */
async function isOnDisk(files: FileSystem, { path }: SegmentName): Promise<boolean> {
  const file = await files.open(path, "a");
  try {
    return await file.sync().then(
      () => true,
      () => false,
    );
  } finally {
    await file.close();
  }
}

/** A first line that was torn by a power cut is short and has no newline; anything else without a record is damage. */
const isWhollyCorrupt = ({ bytes, intact, endAt }: ScannedSegment): boolean =>
  intact === 0 && bytes > 0 && (endAt > 0 || bytes > longestLineBytes);

async function cutTornTail(files: FileSystem, segment: ScannedSegment): Promise<number> {
  if (segment.endAt === segment.bytes) return 0;
  const keep = Math.max(segment.endAt, segment.goodEndAt);
  const file = await files.open(segment.path, "a");
  try {
    await file.truncate(keep);
    if (keep > segment.endAt) await writeFully(file, Buffer.from("\n"));
    await file.sync();
  } finally {
    await file.close();
  }
  return segment.bytes - keep;
}
