import { basename, dirname, join } from "node:path";
import { errorCode, type FileSystem, nodeFileSystem, writeFully } from "../runtime/file-system.js";
import { aboutKey } from "./history.js";
import { encodeLine } from "./record-line.js";
import type { JournalRecord } from "./records.js";
import { readBlocks } from "./segment-reader.js";

/** A file of the journal, named after the first sequence number it may hold. */
export interface SegmentName {
  readonly path: string;
  readonly first: number;
}

const pattern = /^journal-(\d{1,16})\.jsonl$/;
const corruptPattern = /^journal-\d{1,16}\.jsonl\.corrupt-\d+$/;

/** Padded so that a shell's `cat journal-*.jsonl` keeps the order. */
export const segmentPath = (directory: string, first: number): string =>
  join(directory, `journal-${String(first).padStart(12, "0")}.jsonl`);

export async function listSegments(files: FileSystem, directory: string): Promise<readonly SegmentName[]> {
  const found: SegmentName[] = [];
  for (const name of await files.list(directory)) {
    const first = Number(pattern.exec(name)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(first)) found.push({ path: join(directory, name), first });
  }
  return found.sort((a, b) => a.first - b.first);
}

/** Files set aside as wholly corrupt, oldest first. */
export async function listCorrupt(files: FileSystem, directory: string): Promise<readonly string[]> {
  const names = (await files.list(directory)).filter((name) => corruptPattern.test(name));
  return names.sort().map((name) => join(directory, name));
}

export interface SegmentSize extends SegmentName {
  readonly bytes: number;
  readonly modifiedAt: number;
}

/** A flood fills these: what was sent before is kept as if they were always full. */
const newest = 2;

/**
 * The files to delete, oldest first. The last of `segments` is being written and never among them. Age alone deletes
 * only while the clock is trusted: a clock ten years ahead must not empty the journal. For their size none are deleted
 * while some may still be stripped.
 */
export function segmentsToDelete(
  segments: readonly SegmentSize[],
  clock: { readonly now: number; readonly trusted: boolean },
  limits: Pick<JournalLimits, "fileBytes" | "totalBytes" | "ageMs" | "youngMs">,
  isStripped: (path: string) => boolean = () => true,
): readonly SegmentSize[] {
  const older = segmentsToStrip(segments);
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

/** Those that no start has to read. */
export const segmentsToStrip = (segments: readonly SegmentSize[]): readonly SegmentSize[] =>
  segments.slice(0, -newest);

const fileMode = 0o640;

/**
 * Rewrites an older file of the journal without what was refused, only tried or never sent, so that no flood of that pushes
 * commands that were sent out of the journal. Resolves with its new length; a file of which nothing is left is removed. One with
 * lines that cannot be read stays as it is.
 */
export async function stripFile(files: FileSystem, path: string): Promise<number> {
  const { bytes } = await files.facts(path);
  const unsent = await unsentIn(files, path);
  if (unsent === null) return bytes;
  const copy = `${path}.stripped`;
  const written = await copyKept(files, path, copy, unsent);
  if (written === 0) {
    await files.remove(copy);
    await files.remove(path);
  } else if (written < bytes) await files.rename(copy, path);
  else await files.remove(copy);
  return Math.min(written, bytes);
}

/** Keys of commands that ended without a POST; null where a line cannot be read. */
async function unsentIn(files: FileSystem, path: string): Promise<ReadonlySet<string> | null> {
  const unsent = new Set<string>();
  for await (const { records, unreadable, foreign } of readBlocks(files, path)) {
    if (unreadable + foreign > 0) return null;
    for (const record of records)
      if (record.type === "result" && record.result.sent_at === null && isUnsent.has(record.result.outcome))
        unsent.add(`${aboutKey(record)} ${record.result.id}`);
  }
  return unsent;
}

const isUnsent: ReadonlySet<string> = new Set(["refused", "dry_run", "superseded"]);

async function copyKept(
  files: FileSystem,
  from: string,
  to: string,
  unsent: ReadonlySet<string>,
): Promise<number> {
  await files.remove(to).catch(ifThere);
  const file = await files.open(to, "wx", fileMode);
  try {
    let written = 0;
    for await (const { records } of readBlocks(files, from)) {
      const lines = Buffer.concat(records.filter((one) => isKept(one, unsent)).map(encodeLine));
      await writeFully(file, lines);
      written += lines.length;
    }
    await file.sync();
    return written;
  } finally {
    await file.close();
  }
}

function ifThere(error: unknown): void {
  if (errorCode(error) !== "ENOENT") throw error;
}

/** A checkpoint counts only at the head of the newest file. */
function isKept(record: JournalRecord, unsent: ReadonlySet<string>): boolean {
  const { type } = record;
  if (type === "refusal" || type === "refusals_counted" || type === "carried") return false;
  if (type === "result") return !unsent.has(`${aboutKey(record)} ${record.result.id}`);
  if ("id" in record && typeof record.id === "string" && "controller" in record)
    return !unsent.has(`${aboutKey(record)} ${record.id}`);
  return true;
}

const mostCopies = 9;

/**
 * Moves a corrupt file out of the way as `<path>.corrupt-<n>` and resolves with the new path. After nine the last one is
 * replaced, so that a fault repeating itself cannot fill the disk.
 */
export async function setAside(files: FileSystem, path: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const aside = `${path}.corrupt-${n}`;
    if (n < mostCopies && (await exists(files, aside))) continue;
    await files.rename(path, aside);
    return aside;
  }
}

async function exists(files: FileSystem, path: string): Promise<boolean> {
  try {
    await files.facts(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

const remedies: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of the path is a file, not a directory; name the data directory of the bridge",
  EACCES: "it may not be read; do this as the bridge's user, or give permission to read the directory",
  EPERM: "it may not be read; do this as the bridge's user, or give permission to read the directory",
  ELOOP: "a symbolic link in the path leads to itself; correct that link",
  EISDIR: "a directory is where a file of the journal should be; move it away",
  EIO: "the disk reports input/output errors; replace the disk or SD card",
  ESTALE: "the network disk has gone; check that it is mounted",
};

/** Records are there that cannot be read. `message` is a sentence with the remedy, `code` Node's word. */
export class JournalUnreadable extends Error {
  override name = "JournalUnreadable" as const;
  readonly code: string;

  constructor(directory: string, cause: unknown, file?: string) {
    const code = errorCode(cause) || "UNKNOWN";
    const which = file === undefined ? "" : ` (${file})`;
    super(`The journal in ${directory} cannot be read${which}: ${remedies[code] ?? `error ${code}`}.`, {
      cause,
    });
    this.code = code;
  }
}

/** What an error met in one file means for the journal. A file that has just gone is a matter of its own. */
export const fileProblem = (path: string, error: unknown): unknown =>
  error instanceof JournalUnreadable || errorCode(error) === "ENOENT"
    ? error
    : new JournalUnreadable(dirname(path), error, basename(path));

/** Why the files of the journal cannot even be listed; null where they can, also when there is no directory yet. */
export async function listingProblem(
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<JournalUnreadable | null> {
  try {
    await listSegments(files, directory);
    return null;
  } catch (error) {
    return errorCode(error) === "ENOENT" ? null : new JournalUnreadable(directory, error);
  }
}

export interface JournalLimits {
  /** A file this large is closed and a new one begun. */
  readonly fileBytes: number;
  readonly totalBytes: number;
  readonly ageMs: number;
  /** Files written to within this time are kept although the total is passed, up to twice the total. */
  readonly youngMs: number;
  /** While the disk cannot be written, how often to try. */
  readonly retryMs: number;
  /** A record waiting longer than this for the disk makes the journal unavailable. */
  readonly stallMs: number;
  /** Records waiting for the disk at once; more are refused. */
  readonly waiting: number;
}

const day = 86_400_000;

export const journalLimits: JournalLimits = {
  fileBytes: 5 * 1024 * 1024,
  totalBytes: 50 * 1024 * 1024,
  ageMs: 90 * day,
  youngMs: day,
  retryMs: 15_000,
  stallMs: 10_000,
  waiting: 20_000,
};
