import { nullIfFailed } from "../runtime/failures.js";
import { join } from "node:path";
import { isSegmentName, segmentMode } from "../journal/segments.js";
import { errorCode, type FileSystem, replaceFile } from "../runtime/file-system.js";
import type { StreamEntry } from "./ports.js";

/** The files that the entries of a stream add up to. */
export interface Content {
  /** Files of the journal by name. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Small files by name. */
  readonly notes: ReadonlyMap<string, Buffer>;
  readonly imported: Import;
}

/** How far `journal import` got: before it is whole, the stream has only the oldest part of a journal. */
export type Import = "none" | "begun" | "whole";

/** The subject of entries that begin or end an import. */
export const importSubject = "import";

export const importOf = ({ operation }: Pick<StreamEntry, "operation"> = { operation: "none" }): Import =>
  operation === "begun" || operation === "whole" ? operation : "none";

/** Safely below the size above which a NATS server refuses messages by default. */
export const chunkBytes = 512 * 1024;

/** At least one chunk, as an empty file is one too. */
export function chunksOf(bytes: Uint8Array): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += chunkBytes)
    chunks.push(bytes.subarray(at, at + chunkBytes));
  return chunks;
}

const subjectPattern = /^(file|note)\.(.+)$/;

/** The journal file that an entry is about; null for other entries. */
export function segmentOf({ subject }: Pick<StreamEntry, "subject">): string | null {
  const [, kind, name] = subjectPattern.exec(subject) ?? [];
  return kind === "file" ? (name ?? null) : null;
}

const cutPattern = /^truncate (\d+)$/;
const partPattern = /^part (\d+)\/(\d+)$/;

/** Folds the entries in their order. A replacement that lacks a part was never finished, so it replaces nothing. */
export async function contentOf(entries: AsyncIterable<StreamEntry>): Promise<Content> {
  const files = new Map<string, Buffer[]>();
  const notes = new Map<string, Buffer[]>();
  const parts = new Map<string, Buffer[]>();
  let imported: Import = "none";
  for await (const { subject, operation, data } of entries) {
    const [, kind, name] = subjectPattern.exec(subject) ?? [];
    if (subject === importSubject) imported = importOf({ operation });
    if (name === undefined) continue;
    const into = kind === "file" ? files : notes;
    const [, cut] = cutPattern.exec(operation) ?? [];
    const [, part, count] = partPattern.exec(operation) ?? [];
    if (cut !== undefined) into.set(name, [Buffer.concat(into.get(name) ?? []).subarray(0, Number(cut))]);
    else if (part === undefined) append(into, name, data);
    else {
      const soFar = part === "1" ? [] : (parts.get(subject) ?? []);
      parts.set(subject, [...soFar, Buffer.from(data)]);
      if (part === count && soFar.length === Number(count) - 1) into.set(name, parts.get(subject) ?? []);
    }
  }
  return { files: whole(files), notes: whole(notes), imported };
}

function append(into: Map<string, Buffer[]>, name: string, data: Uint8Array): void {
  const chunks = into.get(name) ?? [];
  chunks.push(Buffer.from(data));
  into.set(name, chunks);
}

const whole = (chunks: ReadonlyMap<string, readonly Buffer[]>): ReadonlyMap<string, Buffer> =>
  new Map([...chunks].map(([name, bytes]) => [name, Buffer.concat(bytes)]));

/** Makes a journal's files match `content`, without touching those that do already. */
export async function writeSegments(
  files: FileSystem,
  directory: string,
  content: ReadonlyMap<string, Buffer>,
): Promise<void> {
  for (const name of await files.list(directory))
    if (isSegmentName(name) && !content.has(name)) await files.remove(join(directory, name));
  for (const [name, bytes] of content)
    if (isSegmentName(name)) await replaceIfOther(files, join(directory, name), bytes, segmentMode);
}

export async function replaceIfOther(
  files: FileSystem,
  path: string,
  bytes: Buffer,
  mode: number,
): Promise<void> {
  if (!bytes.equals((await readWhole(files, path)) ?? Buffer.from([0])))
    await replaceFile(path, bytes, { mode, files });
}

/** Null where there is no such file. */
export async function readWhole(files: FileSystem, path: string): Promise<Buffer | null> {
  try {
    const { bytes } = await files.facts(path);
    const file = await files.open(path, "r");
    try {
      const into = Buffer.alloc(bytes);
      for (let done = 0; done < bytes;) {
        const read = await file.read(into.subarray(done), done);
        if (read === 0) return into.subarray(0, done);
        done += read;
      }
      return into;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Bytes of each file, from its beginning, that are known to be right here. */
export type Lengths = ReadonlyMap<string, number>;

/**
 * Continues files whose beginnings are right: replaces what is behind those with what came. False if a file is shorter.
 */
export async function goOnWith(
  files: FileSystem,
  directory: string,
  lengths: Lengths,
  came: ReadonlyMap<string, readonly Uint8Array[]>,
): Promise<boolean> {
  const names = new Set([
    ...(await files.list(directory)).filter(isSegmentName),
    ...lengths.keys(),
    ...came.keys(),
  ]);
  for (const name of names) {
    const path = join(directory, name);
    const length = lengths.get(name);
    const more = came.get(name) ?? [];
    const there = await files.facts(path).catch(nullIfFailed);
    if ((there?.bytes ?? 0) < (length ?? 0)) return false;
    if (length === undefined && more.length === 0) await files.remove(path);
    else if (there?.bytes !== length || more.length > 0) {
      const begun = ((await readWhole(files, path)) ?? Buffer.alloc(0)).subarray(0, length ?? 0);
      await replaceIfOther(files, path, Buffer.concat([begun, ...more]), segmentMode);
    }
  }
  return true;
}
