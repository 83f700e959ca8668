import { basename, dirname, join } from "node:path";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { decodeLine, longestLineBytes } from "./record-line.js";
import type { JournalRecord } from "./records.js";

/** A file of the journal, named after the first sequence number it may hold. */
export interface SegmentName {
  readonly path: string;
  readonly first: number;
}

export const segmentMode = 0o640;

const pattern = /^journal-(\d{1,16})\.jsonl$/;
const corruptPattern = /^journal-\d{1,16}\.jsonl\.corrupt-\d+$/;

/** Padded so that a shell's `cat journal-*.jsonl` keeps the order. */
export const segmentPath = (directory: string, first: number): string =>
  join(directory, `journal-${String(first).padStart(12, "0")}.jsonl`);

/** Oldest first. */
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

const mostCopies = 9;

/**
 * Moves a corrupt file out of the way as `<path>.corrupt-<n>` and resolves with the new path. After nine the last one is
 * replaced, so that a fault repeating itself cannot fill the disk.
 */
export async function setAside(files: FileSystem, path: string): Promise<string> {
  const taken = new Set(await listCorrupt(files, dirname(path)));
  let n = 1;
  while (n < mostCopies && taken.has(`${path}.corrupt-${n}`)) n += 1;
  await files.rename(path, `${path}.corrupt-${n}`);
  return `${path}.corrupt-${n}`;
}

/** What one line of a file held, or the bytes behind its last newline. Offsets count from the start of the file. */
export interface Line {
  readonly records: readonly JournalRecord[];
  /** Intact records of a type this version does not know. */
  readonly foreign: number;
  readonly unreadable: boolean;
  /** False for the bytes behind the last newline. */
  readonly isWhole: boolean;
  /** Where a later read goes on. */
  readonly endAt: number;
  /** Behind the last intact record in it, its newline not counted; null without one. */
  readonly goodEndAt: number | null;
}

const chunkBytes = 256 * 1024;
const newline = 0x0a;

/**
 * The lines of one file from offset `from`, with one stretch of it in memory. Damage is told, never thrown. Errors of the
 * file system are thrown as JournalUnreadable, but for ENOENT: a file that has just gone is a matter of its own.
 */
export async function* readLines(files: FileSystem, path: string, from = 0): AsyncGenerator<Line> {
  try {
    const file = await files.open(path, "r");
    try {
      let [rest, restAt, lineAt]: [Buffer, number, number] = [Buffer.alloc(0), from, from];
      for (;;) {
        const chunk = Buffer.allocUnsafe(chunkBytes);
        const read = await file.read(chunk, restAt + rest.length);
        if (read === 0) break;
        const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
        let start = 0;
        for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
          yield lineOf(bytes.subarray(start, end), restAt + start, lineAt, true);
          start = end + 1;
          lineAt = restAt + start;
        }
        rest = bytes.subarray(start);
        // Of a line longer than any record the beginning is dropped.
        if (rest.length > longestLineBytes) [rest, start] = [Buffer.alloc(0), bytes.length];
        restAt += start;
      }
      if (lineAt < restAt + rest.length) yield lineOf(rest, restAt, lineAt, false);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fileProblem(path, error);
  }
}

/** `bytes` begin at `at`, and the line, whose beginning may have been dropped, at `lineAt`. */
function lineOf(bytes: Buffer, at: number, lineAt: number, isWhole: boolean): Line {
  const { records, foreign, unreadable, goodBytes } = decodeLine(bytes);
  return {
    records,
    foreign,
    unreadable: unreadable || lineAt < at,
    isWhole,
    endAt: isWhole ? at + bytes.length + 1 : lineAt,
    goodEndAt: goodBytes > 0 ? at + goodBytes : null,
  };
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

/** What an error met in one file means for the journal. */
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
