import { errorCode, type FileSystem, replaceFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import { dirname } from "node:path";
import { History } from "./history.js";
import { commandKey, type JournalRecord } from "./records.js";
import {
  encodeLine,
  listCorrupt,
  listSegments,
  longestLineBytes,
  readLines,
  segmentMode,
  type SegmentName,
  setAside,
} from "./segments.js";

/** The shortest possible record: a stretch of lost bytes held at most one sequence number per so many. */
const shortestRecordBytes = 100;
const directoryMode = 0o700;

interface ScannedSegment extends SegmentName {
  readonly bytes: number;
  readonly intact: number;
  /** Broken lines, without a torn last line, which is cut off. */
  readonly unreadable: number;
  /** The end of the last newline, and of the last intact record. */
  readonly endAt: number;
  readonly goodEndAt: number;
  /** The highest sequence number that it may have used. */
  readonly sequence: number;
  readonly newest: Newest | null;
}

export interface Scan {
  readonly history: History;
  /** Files that were read, from the newest checkpoint on; newest last. */
  readonly segments: readonly ScannedSegment[];
  /** The newest record in these files. */
  readonly newest: Newest | null;
}

/** The newest record's number, and its run. */
export type Newest = Pick<JournalRecord, "seq" | "boot">;

interface Repair {
  /** The file to continue; null where a new one has to begin. */
  readonly current: SegmentName | null;
  readonly truncatedBytes: number;
  readonly corruptFiles: readonly string[];
}

/** Reads the journal without changes, so it works on a read-only disk. */
export async function scanJournal(files: FileSystem, directory: string): Promise<Scan> {
  const names = await listSegments(files, directory);
  const history = new History();
  const segments: ScannedSegment[] = [];
  for (const name of names.slice(await newestCheckpoint(files, names)))
    segments.push(await scanSegment(files, name, history));
  const newest = segments.reduce<Newest | null>((known, segment) => newerOf(known, segment.newest), null);
  return { history, segments, newest };
}

/** Index of the newest file that begins with a checkpoint. */
async function newestCheckpoint(files: FileSystem, names: readonly SegmentName[]): Promise<number> {
  for (const [index, { path }] of [...names.entries()].slice(1).toReversed())
    for await (const { records } of readLines(files, path)) {
      if (records[0]?.type === "carried") return index;
      break;
    }
  return 0;
}

const newerOf = (one: Newest | null, other: Newest | null): Newest | null =>
  other !== null && other.seq >= (one?.seq ?? 0) ? other : one;

async function scanSegment(files: FileSystem, name: SegmentName, history: History): Promise<ScannedSegment> {
  let bytes = 0;
  let intact = 0;
  let unreadable = 0;
  let endAt = 0;
  let goodEndAt = 0;
  let newest: Newest | null = null;
  for await (const line of readLines(files, name.path)) {
    for (const record of line.records) {
      history.add(record);
      newest = newerOf(newest, { seq: record.seq, boot: record.boot });
    }
    bytes = line.endAt;
    intact += line.records.length + line.foreign;
    if (line.isWhole && line.unreadable) unreadable += 1;
    if (line.isWhole) endAt = line.endAt;
    goodEndAt = line.goodEndAt ?? goodEndAt;
  }
  const lost = Math.max(0, Math.ceil((bytes - goodEndAt - 1) / shortestRecordBytes));
  const sequence = Math.max(name.first - 1, newest?.seq ?? 0) + lost;
  return { ...name, bytes, intact, unreadable, endAt, goodEndAt, sequence, newest };
}

/**
 * Makes a missing directory, sets wholly corrupt files aside and cuts torn last lines off. It also syncs the files: a
 * killed run may have left records in the kernel's memory only, and what is acted on must survive a power cut.
 */
export async function repairJournal(
  files: FileSystem,
  directory: string,
  { segments }: Scan,
): Promise<Repair> {
  if (await files.makeDirectory(directory, directoryMode)) await files.syncDirectory(dirname(directory));
  const corruptFiles: string[] = [];
  let current: SegmentName | null = null;
  let isDurable = true;
  let truncatedBytes = 0;
  for (const segment of segments) {
    current = isWhollyCorrupt(segment) ? null : segment;
    if (current === null) corruptFiles.push(await setAside(files, segment.path));
    else {
      const keep = Math.max(segment.endAt, segment.goodEndAt);
      isDurable = (await bringToDisk(files, segment, keep)) && isDurable;
      truncatedBytes += segment.bytes - keep;
    }
  }
  if (segments.length > 0) await files.syncDirectory(directory);
  return { current: isDurable ? current : null, truncatedBytes, corruptFiles };
}

/** Syncs the first `keep` bytes, which end with a whole record; false where the disk fails. */
async function bringToDisk(
  files: FileSystem,
  { path, bytes, endAt }: ScannedSegment,
  keep: number,
): Promise<boolean> {
  const file = await files.open(path, "a");
  try {
    if (keep < bytes) await file.truncate(keep);
    if (keep > endAt) await file.write(Buffer.from("\n"));
    return await file.sync().then(
      () => true,
      () => false,
    );
  } finally {
    await file.close();
  }
}

/** Whether a file without any record is damaged. A first line torn by a power cut is short and has no newline. */
const isWhollyCorrupt = ({ bytes, intact, endAt }: ScannedSegment): boolean =>
  intact === 0 && bytes > 0 && (endAt > 0 || bytes > longestLineBytes);

interface SegmentSize extends SegmentName {
  readonly bytes: number;
  readonly modifiedAt: number;
}

export interface RetentionLimits {
  /** A file of this size is closed and a new one begun. */
  readonly fileBytes: number;
  readonly totalBytes: number;
  readonly ageMs: number;
  /** Files written within this time are kept beyond the total, up to twice the total. */
  readonly youngMs: number;
}

/**
 * The newest files, which count as full: a flood would fill them, so older commands are kept as if it had. A start
 * reads only these.
 */
const newest = 2;
const mostCorruptFiles = 5;

/**
 * The files to delete, oldest first, never the last, which is being written. Age counts only with a trusted clock, as
 * one ten years ahead must not empty the journal. Size counts only when nothing more can be stripped.
 */
export function segmentsToDelete(
  segments: readonly SegmentSize[],
  clock: { readonly now: number; readonly trusted: boolean },
  limits: RetentionLimits,
  isStripped: (path: string) => boolean = () => true,
): readonly SegmentSize[] {
  const older = segments.slice(0, -newest);
  const bySize = older.every(({ path }) => isStripped(path));
  let total = older.reduce((sum, segment) => sum + segment.bytes, newest * limits.fileBytes);
  const doomed: SegmentSize[] = [];
  for (const segment of segments.slice(0, -1)) {
    const age = clock.now - segment.modifiedAt;
    const isOver = total > limits.totalBytes && (age > limits.youngMs || total > 2 * limits.totalBytes);
    const tooOld = clock.trusted && age > limits.ageMs;
    if (!(bySize && isOver) && !tooOld) break;
    doomed.push(segment);
    total -= segment.bytes;
  }
  return doomed;
}

const neverSent: ReadonlySet<string> = new Set(["refused", "dry_run", "superseded"]);

const neverKept: ReadonlySet<string> = new Set([
  ...["refusal", "refusals_counted", "carried"],
  // The records of the members say the same.
  ...["group_taken", "group_ended"],
]);

/** Key of the command that a record is about; null for none. */
function keyOf(record: JournalRecord): string | null {
  if (record.type === "result") return commandKey(record, record.result.id);
  return "id" in record && typeof record.id === "string" ? commandKey(record, record.id) : null;
}

/**
 * Rewrites an older file without refused, dry-run or unsent commands, so that a flood of these does not push sent
 * commands out of the journal. Checkpoints go too, as they count only in the newest file. Resolves to the new length
 * and removes an empty file. A file with unreadable lines stays as it is.
 */
async function stripFile(files: FileSystem, path: string): Promise<number> {
  const { bytes } = await files.facts(path);
  const unsent = new Set<string | null>();
  for await (const { records, unreadable, foreign } of readLines(files, path)) {
    if (unreadable || foreign > 0) return bytes;
    for (const one of records)
      if (one.type === "result" && one.result.sent_at === null && neverSent.has(one.result.outcome))
        unsent.add(keyOf(one));
  }
  const kept: Buffer[] = [];
  for await (const { records } of readLines(files, path))
    for (const one of records)
      if (!neverKept.has(one.type) && !unsent.has(keyOf(one))) kept.push(encodeLine(one));
  const content = Buffer.concat(kept);
  if (content.length === 0) await files.remove(path);
  else if (content.length < bytes) await replaceFile(path, content, { mode: segmentMode, files });
  return Math.min(content.length, bytes);
}

/** Two deletions at once may have found the same file too old. */
const remove = (files: FileSystem, path: string): Promise<void> =>
  files.remove(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });

export interface RetentionParts {
  readonly directory: string;
  readonly files: FileSystem;
  readonly limits: RetentionLimits;
  readonly log: Logger;
  /** For ages of files: epoch ms, and whether the clock is trusted. */
  readonly clock: () => { readonly now: number; readonly trusted: boolean };
  /** The file being written. */
  readonly current: () => { readonly path: string; readonly bytes: number } | null;
}

/** Keeps the files of a journal within their limits. What cannot be deleted or stripped is logged and stays. */
export class Retention {
  readonly #parts: RetentionParts;
  /** Files already stripped by this run. */
  readonly #stripped = new Set<string>();
  #olderBytes = 0;
  #stripping: Promise<void> | null = null;
  /** Whether there may be more to strip since the last look. */
  #isDue = false;
  #isClosed = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Size of all files. */
  get bytes(): number {
    return this.#olderBytes + (this.#parts.current()?.bytes ?? 0);
  }

  async prune(): Promise<void> {
    const { totalBytes } = this.#parts.limits;
    await this.#deleteSome();
    if (this.bytes <= totalBytes) return;
    this.#isDue = true;
    this.#stripping ??= this.#strip();
    // If more is written than stripped, writing has to wait, as others use the disk too.
    if (this.bytes > 2 * totalBytes) await this.#stripping;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stripping;
  }

  async #deleteSome(): Promise<void> {
    const { directory, files, limits, log, clock, current } = this.#parts;
    try {
      const segments = await this.#sizes();
      const doomed = segmentsToDelete(segments, clock(), limits, (path) => this.#stripped.has(path));
      const corrupt = await listCorrupt(files, directory);
      for (const path of [...doomed.map((one) => one.path), ...corrupt.slice(0, -mostCorruptFiles)]) {
        await remove(files, path);
        this.#stripped.delete(path);
      }
      const older = segments.slice(doomed.length).filter(({ path }) => path !== current()?.path);
      this.#olderBytes = older.reduce((sum, { bytes }) => sum + bytes, 0);
    } catch (error) {
      log.warn({ reason: String(error) }, "old journal files could not be deleted; the journal goes on");
    }
  }

  /** Strips the oldest files, beside the writing, until there is enough room or nothing more to strip. */
  async #strip(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      await this.#stripAll();
      await this.#deleteSome();
    }
    this.#stripping = null;
  }

  async #stripAll(): Promise<void> {
    const { files, limits, log } = this.#parts;
    while (!this.#isClosed && this.bytes > limits.totalBytes) {
      const segments = await this.#sizes().catch(() => []);
      const next = segments.slice(0, -newest).find(({ path }) => !this.#stripped.has(path));
      if (next === undefined) break;
      this.#stripped.add(next.path);
      try {
        this.#olderBytes -= next.bytes - (await stripFile(files, next.path));
      } catch (error) {
        log.warn(
          { reason: String(error), path: next.path },
          "an old journal file could not be made smaller; it stays",
        );
      }
    }
  }

  async #sizes(): Promise<readonly SegmentSize[]> {
    const { files, directory } = this.#parts;
    const names = await listSegments(files, directory);
    return Promise.all(names.map(async (name) => ({ ...name, ...(await files.facts(name.path)) })));
  }
}
