import type { FileSystem, OpenFile } from "../runtime/file-system.js";
import { decodeLine, longestLineBytes } from "./record-line.js";
import type { JournalRecord } from "./records.js";

/** What one stretch of a file held. Offsets count from the start of the file. */
export interface Block {
  readonly records: readonly JournalRecord[];
  readonly unreadable: number;
  readonly foreign: number;
  /** False for the bytes after the last newline. */
  readonly terminated: boolean;
  /** After the last newline; a later read goes on here. */
  readonly endAt: number;
  /** After the last intact record, its newline not counted; the start of the read when there is none. */
  readonly goodEndAt: number;
}

interface Progress {
  rest: Buffer;
  /** Offset of `rest`. */
  at: number;
  goodEndAt: number;
  /** Offset of the line being read. */
  lineAt: number;
  /** Inside a line longer than any record, whose beginning was dropped. */
  skipping: boolean;
}

const chunkBytes = 256 * 1024;
const newline = 0x0a;

/**
 * The records of one file from offset `from`, in blocks. Bytes after the last newline come as a last block of their own
 * with `endAt` before them. Damage is counted, never thrown; errors of the file system are.
 */
export async function* readBlocks(files: FileSystem, path: string, from = 0): AsyncGenerator<Block> {
  const file = await files.open(path, "r");
  try {
    const progress: Progress = {
      rest: Buffer.alloc(0),
      at: from,
      lineAt: from,
      goodEndAt: from,
      skipping: false,
    };
    for await (const chunk of chunks(file, from)) {
      const block = takeLines(progress, chunk);
      if (block !== null) yield block;
    }
    if (progress.rest.length > 0 || progress.skipping) yield takeTail(progress);
  } finally {
    await file.close();
  }
}

async function* chunks(file: OpenFile, from: number): AsyncGenerator<Buffer> {
  for (let position = from; ;) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const read = await file.read(chunk, position);
    if (read === 0) return;
    position += read;
    yield chunk.subarray(0, read);
  }
}

function takeLines(progress: Progress, chunk: Buffer): Block | null {
  const last = chunk.lastIndexOf(newline);
  if (last === -1) {
    keep(progress, chunk);
    return null;
  }
  const bytes = Buffer.concat([progress.rest, chunk.subarray(0, last + 1)]);
  const records: JournalRecord[] = [];
  let unreadable = 0;
  let foreign = 0;
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    const skipped = progress.skipping;
    progress.skipping = false;
    const line = decodeLine(bytes.subarray(start, end));
    if (line.unreadable || skipped) unreadable += 1;
    if (line.goodBytes > 0) progress.goodEndAt = progress.at + start + line.goodBytes;
    foreign += line.foreign;
    for (const record of line.records) records.push(record);
    start = end + 1;
  }
  progress.at += bytes.length;
  progress.rest = Buffer.alloc(0);
  progress.lineAt = progress.at;
  const endAt = progress.at;
  keep(progress, chunk.subarray(last + 1));
  return { records, unreadable, foreign, terminated: true, endAt, goodEndAt: progress.goodEndAt };
}

function keep(progress: Progress, chunk: Buffer): void {
  if (!progress.skipping && progress.rest.length + chunk.length <= longestLineBytes) {
    progress.rest = Buffer.concat([progress.rest, chunk]);
    return;
  }
  progress.at += progress.rest.length + chunk.length;
  progress.rest = Buffer.alloc(0);
  progress.skipping = true;
}

function takeTail(progress: Progress): Block {
  const { records, foreign, unreadable, goodBytes } = decodeLine(progress.rest);
  const goodEndAt = goodBytes > 0 ? progress.at + goodBytes : progress.goodEndAt;
  const damaged = unreadable || progress.skipping;
  return {
    records,
    foreign,
    unreadable: damaged ? 1 : 0,
    terminated: false,
    endAt: progress.lineAt,
    goodEndAt,
  };
}
