import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { errorCode, type FileSystem, nodeFileSystem, writeFully } from "./file-system.js";
import { setAside } from "./segment-files.js";

export interface DurableFileOptions {
  /** Permission bits from the first moment on; 0o600 when absent. */
  readonly mode?: number;
  readonly files?: FileSystem;
}

const largestJsonBytes = 16 * 1024 * 1024;

/**
 * Replaces `path` as a whole: after a power cut at any moment it holds the old content or the new. Rejects with the file
 * system's error, the old file untouched.
 */
export async function writeFileDurably(
  path: string,
  data: string | Uint8Array,
  { mode = 0o600, files = nodeFileSystem }: DurableFileOptions = {},
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const writtenAt = await writeNew(files, temporary, Buffer.from(data), mode);
    await files.rename(temporary, path);
    await files.syncDirectory(dirname(path));
    await removeLeftovers(files, path, writtenAt);
  } catch (error) {
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
}

async function writeNew(files: FileSystem, path: string, data: Uint8Array, mode: number): Promise<number> {
  const file = await files.open(path, "wx", mode);
  try {
    await file.chmod(mode);
    await writeFully(file, data);
    await file.sync();
    return (await file.facts()).modifiedAt;
  } finally {
    await file.close();
  }
}

const leftoverAgeMs = 60_000;

/** Temporary files of writes that a power cut ended; a minute older than ours by the file system's own clock. */
async function removeLeftovers(files: FileSystem, path: string, writtenAt: number): Promise<void> {
  const [name, directory] = [basename(path), dirname(path)];
  for (const entry of await files.list(directory)) {
    if (!entry.startsWith(`${name}.`) || !/^\.[0-9a-f]{12}\.tmp$/.test(entry.slice(name.length))) continue;
    const leftover = join(directory, entry);
    try {
      if (writtenAt - (await files.facts(leftover)).modifiedAt > leftoverAgeMs) await files.remove(leftover);
    } catch {
      // Another process may have finished with it meanwhile; it is only clutter either way.
    }
  }
}

export type JsonFile =
  | { readonly state: "read"; readonly value: unknown }
  | { readonly state: "missing" }
  /** `keptAs` is where the broken file was moved, null when it could not be moved. */
  | { readonly state: "corrupt"; readonly keptAs: string | null }
  | { readonly state: "unusable"; readonly code: string };

/**
 * A cache that may be missing, broken or unreadable without stopping anything; never rejects. The value is whatever the
 * JSON holds, to be checked by the caller. A broken file is kept as `<path>.corrupt-<n>`.
 */
export async function readJsonFile(path: string, files: FileSystem = nodeFileSystem): Promise<JsonFile> {
  let text: string | null;
  try {
    text = await readText(files, path);
  } catch (error) {
    const code = errorCode(error);
    return code === "ENOENT" ? { state: "missing" } : { state: "unusable", code };
  }
  try {
    if (text !== null) return { state: "read", value: JSON.parse(text) as unknown };
  } catch {
    // Not JSON: kept below.
  }
  return { state: "corrupt", keptAs: await setAside(files, path).catch(() => null) };
}

/** null when it is too long to be one of ours. */
async function readText(files: FileSystem, path: string): Promise<string | null> {
  const file = await files.open(path, "r");
  try {
    const { bytes } = await file.facts();
    if (bytes > largestJsonBytes) return null;
    const content = Buffer.alloc(bytes);
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes; done += read)
      read = await file.read(content.subarray(done), done);
    return content.toString("utf8", 0, done);
  } finally {
    await file.close();
  }
}
