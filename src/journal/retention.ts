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
  /** The highest sequence number that may have been used in it. */
  readonly sequence: number;
  readonly newest: Newest | null;
}

export interface Scan {
  readonly history: History;
  /** Newest last; only those read, from the newest checkpoint on. */
  readonly segments: readonly ScannedSegment[];
  /** The newest record in them. */
  readonly newest: Newest | null;
}

/** Which record is the newest, and whose. */
export type Newest = Pick<JournalRecord, "seq" | "boot">;

interface Repair {
  /** The file to go on with; null when a new one must be begun. */
  readonly current: SegmentName | null;
  readonly truncatedBytes: number;
  readonly corruptFiles: readonly string[];
}

/** Reads what the journal knows; changes nothing, so it also serves a read-only disk. */
export async function scanJournal(files: FileSystem, directory: string): Promise<Scan> {
  const names = await listSegments(files, directory);
  const history = new History();
  const segments: ScannedSegment[] = [];
  for (const name of names.slice(await newestCheckpoint(files, names)))
    segments.push(await scanSegment(files, name, history));
  const newest = segments.reduce<Newest | null>((known, segment) => newerOf(known, segment.newest), null);
  return { history, segments, newest };
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
 * Makes the directory where there is none, sets wholly corrupt files aside, cuts torn last lines off the others, and
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

/** Its first `keep` bytes, which end with a whole record. False when the disk does not take it. */
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

/** A first line that was torn by a power cut is short and has no newline; anything else without a record is damage. */
const isWhollyCorrupt = ({ bytes, intact, endAt }: ScannedSegment): boolean =>
  intact === 0 && bytes > 0 && (endAt > 0 || bytes > longestLineBytes);

interface SegmentSize extends SegmentName {
  readonly bytes: number;
  readonly modifiedAt: number;
}

export interface RetentionLimits {
  /** A file this large is closed and a new one begun. */
  readonly fileBytes: number;
  readonly totalBytes: number;
  readonly ageMs: number;
  /** Files written to within this time are kept although the total is passed, up to twice the total. */
  readonly youngMs: number;
}

/** A flood fills these: what was sent before is kept as if they were always full. No start has to read the others. */
const newest = 2;
const mostCorruptFiles = 5;

/**
 * The files to delete, oldest first. The last of `segments` is being written and never among them. Age alone deletes
 * only while the clock is trusted: a clock ten years ahead must not empty the journal. For their size none are deleted
 * while some may still be stripped.
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
  // The records of the members say it too.
  ...["group_taken", "group_ended"],
]);

/** The command a record is about; null where it is about none. */
function keyOf(record: JournalRecord): string | null {
  if (record.type === "result") return commandKey(record, record.result.id);
  return "id" in record && typeof record.id === "string" ? commandKey(record, record.id) : null;
}

/**
 * Rewrites an older file without what was refused, only tried or never sent, so that no flood of that pushes commands that
 * were sent out of the journal. A checkpoint goes too: it counts only at the head of the newest file. Resolves with the new
 * length; a file of which nothing is left is removed. One with lines that cannot be read stays as it is.
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

/** Two may have found the same file too old. */
const remove = (files: FileSystem, path: string): Promise<void> =>
  files.remove(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });

export interface RetentionParts {
  readonly directory: string;
  readonly files: FileSystem;
  readonly limits: RetentionLimits;
  readonly log: Logger;
  /** For ages of files: epoch ms, and whether to believe it. */
  readonly clock: () => { readonly now: number; readonly trusted: boolean };
  /** The file being written. */
  readonly current: () => { readonly path: string; readonly bytes: number } | null;
}

/** Keeps the files of a journal within their limits. What cannot be deleted or stripped is logged and stays. */
export class Retention {
  readonly #parts: RetentionParts;
  /** Files that hold only what is worth keeping, as far as this run knows. */
  readonly #stripped = new Set<string>();
  #olderBytes = 0;
  #stripping: Promise<void> | null = null;
  /** There may be more to strip than when it was looked for last. */
  #isDue = false;
  #isClosed = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** Of all files. */
  get bytes(): number {
    return this.#olderBytes + (this.#parts.current()?.bytes ?? 0);
  }

  async prune(): Promise<void> {
    const { totalBytes } = this.#parts.limits;
    await this.#deleteSome();
    if (this.bytes <= totalBytes) return;
    this.#isDue = true;
    this.#stripping ??= this.#strip();
    // Where more is written than is stripped meanwhile, writing has to wait: the disk is not the journal's alone.
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

  /** Makes room beside the writing, oldest files first, until there is enough or nothing more to strip. */
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
