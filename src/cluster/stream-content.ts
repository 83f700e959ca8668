import { join } from "node:path";
import { isSegmentName, segmentMode } from "../journal/segments.js";
import { errorCode, type FileSystem, replaceFile } from "../runtime/file-system.js";
import type { StreamEntry } from "./ports.js";

/** What the entries of a stream come to. */
export interface Content {
  /** The files of the journal by name. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Small files that go with it. */
  readonly notes: ReadonlyMap<string, Buffer>;
}

/** Larger messages are refused by a server as it comes. */
export const chunkBytes = 512 * 1024;

/** At least one, as an empty file is one too. */
export function chunksOf(bytes: Uint8Array): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += chunkBytes)
    chunks.push(bytes.subarray(at, at + chunkBytes));
  return chunks;
}

const subjectPattern = /^(file|note)\.(.+)$/;
const cutPattern = /^truncate (\d+)$/;
const partPattern = /^part (\d+)\/(\d+)$/;

/** Folds the entries in their order. A replacement of which a part is missing was never finished, so it replaces nothing. */
export async function contentOf(entries: AsyncIterable<StreamEntry>): Promise<Content> {
  const files = new Map<string, Buffer[]>();
  const notes = new Map<string, Buffer[]>();
  const parts = new Map<string, Buffer[]>();
  for await (const { subject, operation, data } of entries) {
    const [, kind, name] = subjectPattern.exec(subject) ?? [];
    if (name === undefined) continue;
    const into = kind === "file" ? files : notes;
    const [, cut] = cutPattern.exec(operation) ?? [];
    const [, part, count] = partPattern.exec(operation) ?? [];
    if (cut !== undefined) into.set(name, [Buffer.concat(into.get(name) ?? []).subarray(0, Number(cut))]);
    else if (part === undefined) into.set(name, [...(into.get(name) ?? []), Buffer.from(data)]);
    else {
      const soFar = part === "1" ? [] : (parts.get(subject) ?? []);
      parts.set(subject, [...soFar, Buffer.from(data)]);
      if (part === count && soFar.length === Number(count) - 1) into.set(name, parts.get(subject) ?? []);
    }
  }
  return { files: whole(files), notes: whole(notes) };
}

const whole = (chunks: ReadonlyMap<string, readonly Buffer[]>): ReadonlyMap<string, Buffer> =>
  new Map([...chunks].map(([name, bytes]) => [name, Buffer.concat(bytes)]));

/** Makes the files of a journal what they are to be, and touches none that is that already. */
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
