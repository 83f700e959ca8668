import { randomBytes } from "node:crypto";
import { fstatSync } from "node:fs";
import { chown, link, mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface FileFacts {
  readonly bytes: number;
  readonly modifiedAt: number;
  /** 0 once the file was deleted under an open handle. */
  readonly links: number;
}

export interface OpenFile {
  /** Writes everything at the end. A part may be there after a rejection. */
  write(bytes: Uint8Array): Promise<void>;
  /** Fills `into` from `position` on; 0 at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  truncate(bytes: number): Promise<void>;
  /** The content and its length, not the times. */
  datasync(): Promise<void>;
  sync(): Promise<void>;
  chmod(mode: number): Promise<void>;
  /** The kernel knows them of an open file without asking the disk. */
  facts(): FileFacts;
  close(): Promise<void>;
}

/** The few file operations the journal needs, so that a test can take away the disk at any byte. Errors are Node's. */
export interface FileSystem {
  /** `r` read, `a` create or append, `wx` create new. */
  open(path: string, flags: "r" | "a" | "wx", mode?: number): Promise<OpenFile>;
  list(directory: string): Promise<readonly string[]>;
  facts(path: string): Promise<FileFacts>;
  /** With its parents; resolves with whether it was new. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes created, renamed and removed names in it survive a power cut. */
  syncDirectory(path: string): Promise<void>;
}

/** File systems without directory fsync (FAT, some network mounts) answer with one of these; nothing better exists there. */
const noDirectorySync = new Set(["EINVAL", "EISDIR", "EPERM", "ENOTSUP", "EBADF"]);

export const nodeFileSystem: FileSystem = {
  open: openFile,
  list: (directory) => readdir(directory),
  facts: async (path) => factsOf(await stat(path)),
  makeDirectory: async (path, mode) => (await mkdir(path, { recursive: true, mode })) !== undefined,
  rename,
  remove: unlink,
  syncDirectory: async (path) => {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } catch (error) {
      if (!noDirectorySync.has(errorCode(error))) throw error;
    } finally {
      await handle.close();
    }
  },
};

async function openFile(path: string, flags: string, mode?: number): Promise<OpenFile> {
  const handle = await open(path, flags, mode);
  return {
    write: async (bytes) => {
      for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done)).bytesWritten;
    },
    read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    truncate: (bytes) => handle.truncate(bytes),
    datasync: () => handle.datasync(),
    sync: () => handle.sync(),
    chmod: (fileMode) => handle.chmod(fileMode),
    // A thread costs more than the call.
    facts: () => factsOf(fstatSync(handle.fd)),
    close: () => handle.close(),
  };
}

const factsOf = (stats: { size: number; mtimeMs: number; nlink: number }): FileFacts => ({
  bytes: stats.size,
  modifiedAt: stats.mtimeMs,
  links: stats.nlink,
});

/** Node's `code` of an error, empty when it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** File systems without hard links (FAT, some network mounts) answer with one of these. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

const privateMode = 0o600;

/**
 * Replaces `path` as a whole: after a power cut at any moment it holds the old content or the new. Rejects with the file
 * system's error, the old file untouched.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  {
    mode = privateMode,
    files = nodeFileSystem,
    owner,
  }: {
    readonly mode?: number;
    readonly files?: FileSystem;
    /** Whose it becomes, where this user may hand it over. */
    readonly owner?: { readonly uid: number; readonly gid: number };
  } = {},
): Promise<void> {
  await withDraft(files, path, content, mode, async (draft) => {
    if (owner !== undefined) await chown(draft, owner.uid, owner.gid).catch(() => undefined);
    await files.rename(draft, path);
  });
  await files.syncDirectory(dirname(path));
}

/**
 * Makes a file appear with all its content at once; false where something stands there already, which is never touched.
 * Rejects with the file system's error.
 */
export async function createFile(path: string, text: string, mode = privateMode): Promise<boolean> {
  try {
    await withDraft(nodeFileSystem, path, text, mode, async (draft) => {
      try {
        await link(draft, path);
      } catch (error) {
        if (!noLinks.has(errorCode(error))) throw error;
        await writeNew(nodeFileSystem, path, text, mode);
      }
      await unlink(draft).catch(() => undefined);
    });
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
  // The file stands there whole, so it would be wrong to report that it could not be made.
  await nodeFileSystem.syncDirectory(dirname(path)).catch(() => undefined);
  return true;
}

/** Writes the content aside and has it put in its place; what is left of it afterwards is removed. */
async function withDraft(
  files: FileSystem,
  path: string,
  content: string | Uint8Array,
  mode: number,
  place: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const writtenAt = await writeNew(files, draft, content, mode);
    await place(draft);
    await removeLeftovers(files, path, writtenAt);
  } catch (error) {
    await files.remove(draft).catch(() => undefined);
    // The reader of the message knows the file and not its draft.
    if (error instanceof Error) error.message = error.message.replaceAll(draft, path);
    throw error;
  }
}

/** Resolves with when the file system says that it was written. */
async function writeNew(
  files: FileSystem,
  path: string,
  content: string | Uint8Array,
  mode: number,
): Promise<number> {
  const file = await files.open(path, "wx", mode);
  try {
    await file.chmod(mode);
    await file.write(Buffer.from(content));
    await file.sync();
    return file.facts().modifiedAt;
  } catch (error) {
    await files.remove(path).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

const leftoverAgeMs = 60_000;

/**
 * Removes the drafts of writes that a power cut ended: those a minute older than ours by the file system's own clock.
 * They are only clutter, so nothing depends on it.
 */
async function removeLeftovers(files: FileSystem, path: string, writtenAt: number): Promise<void> {
  const name = basename(path);
  const directory = dirname(path);
  for (const entry of await files.list(directory).catch(() => [])) {
    if (!entry.startsWith(`${name}.`) || !/^\.[0-9a-f]{12}\.tmp$/.test(entry.slice(name.length))) continue;
    const leftover = join(directory, entry);
    const facts = await files.facts(leftover).catch(() => null);
    if (facts !== null && writtenAt - facts.modifiedAt > leftoverAgeMs)
      await files.remove(leftover).catch(() => undefined);
  }
}

/** The few things this folder asks of a disk. */
export interface Files {
  /** The text of a file; null when there is none. */
  read(path: string): Promise<string | null>;
  /** Changes whenever the file does; null when there is none. */
  version(path: string): Promise<string | null>;
  /** Replaces a file as a whole, readable by its owner only; durable when it resolves. */
  writePrivate(path: string, text: string): Promise<void>;
}

export const nodeFiles: Files = {
  read: (path) => readFile(path, "utf8").catch(absent),
  version: (path) => stat(path).then(({ mtimeMs, size, ino }) => `${mtimeMs}:${size}:${ino}`, absent),
  writePrivate: async (path, text) => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, text);
  },
};

/** A small file of the data directory. */
export function textFile(dataDir: string, name: string, files = nodeFiles) {
  const file = join(dataDir, name);
  return { read: () => files.read(file), write: (text: string) => files.writePrivate(file, text) };
}

function absent(error: unknown): null {
  if (errorCode(error) === "ENOENT") return null;
  throw error;
}
