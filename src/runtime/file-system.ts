import { cameWithin, type Clock, TooLate } from "./clock.js";
import { ignored, nullIfFailed } from "./failures.js";
import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { chown, type FileHandle, link, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";

export interface FileFacts {
  readonly bytes: number;
  readonly modifiedAt: number;
  /** Identifies the file, not its name: another file may stand at a path than the one opened there. */
  readonly identity: string;
}

export interface OpenFile {
  /** Appends all bytes. Part of them may be written after a rejection. */
  write(bytes: Uint8Array): Promise<void>;
  /** Fills `into` from `position` on; 0 at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  truncate(bytes: number): Promise<void>;
  /** Syncs the content and its length, not the times. */
  datasync(): Promise<void>;
  sync(): Promise<void>;
  chmod(mode: number): Promise<void>;
  /** Synchronous, as the kernel knows the facts of an open file without asking the disk. */
  facts(): FileFacts;
  close(): Promise<void>;
}

/** The file operations that the journal needs, so that a test can fail the disk at any byte. Errors are Node's. */
export interface FileSystem {
  /** `r` read, `a` create or append, `wx` create new. */
  open(path: string, flags: "r" | "a" | "wx", mode?: number): Promise<OpenFile>;
  list(directory: string): Promise<readonly string[]>;
  facts(path: string): Promise<FileFacts>;
  /** Makes one directory, not its parents; resolves to whether it was new. */
  makeDirectory(path: string, mode: number): Promise<boolean>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes created, renamed and removed names in the directory survive a power cut. */
  syncDirectory(path: string): Promise<void>;
}

/** Errors of file systems without directory fsync (FAT, some network mounts), where nothing better exists. */
const noDirectorySync = new Set(["EINVAL", "EISDIR", "EPERM", "ENOTSUP", "EBADF"]);

export const nodeFileSystem: FileSystem = {
  open: openFile,
  list: (directory) => readdir(directory),
  facts: async (path) => factsOf(await stat(path)),
  makeDirectory,
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

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
/** Opening a pipe without a writer, or a line without a modem, would block one of the four file threads for ever. */
const neverWaits = (constants as { readonly O_NONBLOCK?: number }).O_NONBLOCK ?? 0;
const flagsOf = { r: O_RDONLY, a: O_WRONLY | O_APPEND | O_CREAT, wx: O_WRONLY | O_CREAT | O_EXCL } as const;

const openNow = (path: string, flags: keyof typeof flagsOf, mode?: number): Promise<FileHandle> =>
  open(path, flagsOf[flags] | neverWaits, mode);

/** Opens a file for reading; refuses a pipe, a device or a directory before anything waits for it. */
async function openToRead(path: string): Promise<FileHandle> {
  const handle = await openNow(path, "r");
  try {
    refuseOthers(path, await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A path leads to something else than a file; `kind` says what. */
class NotAFile extends Error {
  override name = "NotAFile" as const;
  readonly code: string;

  constructor(path: string, kind: string, code: string) {
    super(`${path} is a ${kind}, not a file`);
    this.code = code;
  }
}

function refuseOthers(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new NotAFile(path, "folder", "EISDIR");
  throw new NotAFile(path, stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : "device", "ENOTFILE");
}

/** The most bytes read at once; the program's own files are far smaller. */
const mostBytes = 64 * 1024 * 1024;

const tooLarge = (path: string, most: number): Error =>
  Object.assign(new Error(`${path} is larger than ${most / 1024 / 1024} MiB`), { code: "EFBIG" });

/** A file's content and facts. Rejects if it is no file, or has more than `most` bytes. */
export async function readWholeFile(
  path: string,
  most = mostBytes,
): Promise<{ readonly bytes: Buffer; readonly stats: Stats }> {
  const handle = await openToRead(path);
  try {
    const stats = await handle.stat();
    const chunks: Buffer[] = [];
    // Kernel files announce no size, so the bytes that come are counted.
    for (let size = 0; size <= most;) {
      const room = Math.max(4_096, Math.min(stats.size + 1 - size, 1_048_576));
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(room, most + 1 - size)));
      if (bytesRead === 0) return { bytes: Buffer.concat(chunks), stats };
      chunks.push(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
    throw tooLarge(path, most);
  } finally {
    await handle.close();
  }
}

export const readText = async (path: string, most?: number): Promise<string> =>
  (await readWholeFile(path, most)).bytes.toString("utf8");

/** At most `most` bytes of a file, for a process that ends before anything asynchronous could finish. */
export function readTextSync(path: string, most: number): string {
  const descriptor = openSync(path, O_RDONLY | neverWaits);
  try {
    refuseOthers(path, fstatSync(descriptor));
    const into = Buffer.alloc(most);
    return into.toString("utf8", 0, readSync(descriptor, into));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Makes a directory with its parents. Node's own recursive way loops for ever if one can neither be made nor exists
 * (`/proc/x`, or below a removed working directory); this one takes one step for each directory of the path.
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await makeDirectory(path, mode);
  } catch (error) {
    const above = dirname(path);
    if (errorCode(error) !== "ENOENT" || above === path) throw error;
    await makeDirectories(above, mode);
    await makeDirectory(path, mode);
  }
}

async function makeDirectory(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    // A read-only disk reports that before it reports that the directory exists.
    const isThere = await stat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (isThere) return false;
    throw error;
  }
}

async function openFile(path: string, flags: keyof typeof flagsOf, mode?: number): Promise<OpenFile> {
  const handle = flags === "r" ? await openToRead(path) : await openNow(path, flags, mode);
  return {
    write: async (bytes) => {
      for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done)).bytesWritten;
    },
    read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    truncate: (bytes) => handle.truncate(bytes),
    datasync: () => handle.datasync(),
    sync: () => handle.sync(),
    chmod: (fileMode) => handle.chmod(fileMode),
    // A thread would cost more than this call.
    facts: () => factsOf(fstatSync(handle.fd)),
    close: () => handle.close(),
  };
}

const factsOf = ({ size, mtimeMs, dev, ino }: Stats): FileFacts => ({
  bytes: size,
  modifiedAt: mtimeMs,
  identity: `${dev}:${ino}`,
});

/** Node's `code` of an error; empty for none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether this user lacks permission; the file itself may be fine. */
export const isForbidden = (code: string): boolean => code === "EACCES" || code === "EPERM";

/** Errors of file systems without hard links (FAT, some network mounts). */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

const privateMode = 0o600;

/** Marks a data directory in which `restore` has not finished. A bridge that starts there owns it and removes this. */
export const restoringName = "restoring";

/**
 * Replaces a file as a whole: after a power cut at any moment it holds the old content or the new. Rejects with the
 * file system's error and leaves the old file untouched.
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
    /** The new owner, if this user may change it. */
    readonly owner?: { readonly uid: number; readonly gid: number };
  } = {},
): Promise<void> {
  await withDraft(files, path, content, mode, async (draft) => {
    if (owner !== undefined) await chown(draft, owner.uid, owner.gid).catch(ignored);
    await files.rename(draft, path);
  });
  await files.syncDirectory(dirname(path));
}

/**
 * Creates a file with all its content at once; resolves to false if the path exists, which stays untouched. Rejects
 * with the file system's error.
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
      await unlink(draft).catch(ignored);
    });
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
  // The file exists with its whole content, so a failed sync is no failure to create it.
  await nodeFileSystem.syncDirectory(dirname(path)).catch(ignored);
  return true;
}

/** Writes the content to a draft, calls `place` to put it in place, and removes old drafts. */
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
    await files.remove(draft).catch(ignored);
    // Users know the file, not its draft.
    if (error instanceof Error) error.message = error.message.replaceAll(draft, path);
    throw error;
  }
}

/** Resolves to the time of the write by the file system's clock. */
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
    await files.remove(path).catch(ignored);
    throw error;
  } finally {
    await file.close();
  }
}

const leftoverAgeMs = 60_000;

/**
 * Removes drafts left by a power cut: those a minute older than ours by the file system's own clock. They are only
 * clutter, so failures are ignored.
 */
async function removeLeftovers(files: FileSystem, path: string, writtenAt: number): Promise<void> {
  const name = basename(path);
  const directory = dirname(path);
  for (const entry of await files.list(directory).catch(() => [])) {
    if (!entry.startsWith(`${name}.`) || !/^\.[0-9a-f]{12}\.tmp$/.test(entry.slice(name.length))) continue;
    const leftover = join(directory, entry);
    const facts = await files.facts(leftover).catch(nullIfFailed);
    if (facts !== null && writtenAt - facts.modifiedAt > leftoverAgeMs)
      await files.remove(leftover).catch(ignored);
  }
}

/** Operations on small text files. */
export interface Files {
  /** The text of a file; null if it does not exist. */
  read(path: string): Promise<string | null>;
  /** Changes whenever the file does; null if it does not exist. */
  version(path: string): Promise<string | null>;
  /** Replaces a file as a whole, readable by its owner only; durable when it resolves. */
  writePrivate(path: string, text: string): Promise<void>;
}

export const nodeFiles: Files = {
  read: (path) => readText(path).catch(absent),
  version: (path) => stat(path).then(({ mtimeMs, size, ino }) => `${mtimeMs}:${size}:${ino}`, absent),
  writePrivate: async (path, text) => {
    await makeDirectories(dirname(path), 0o700);
    await replaceFile(path, text);
  },
};

/** Saves a copy of the file elsewhere, with its present content or newer. Rejects if that is uncertain. */
export type KeepElsewhere = (name: string) => Promise<void>;

/**
 * The files of a running bridge. It makes no directory: if the data directory has gone, an empty one would be taken for
 * it. Texts read or written in `directory` are remembered, so that they can be written again when it is back.
 */
export class FilesOfRun implements Files {
  readonly #files: Pick<Files, "read" | "version" | "writePrivate">;
  readonly #directory: string;
  readonly #held = new Map<string, string>();
  readonly #keep: KeepElsewhere;
  readonly #inPlace: () => Promise<void>;

  /**
   * `keep` saves a written file elsewhere too, before it counts as written. `inPlace` rejects if another directory
   * stands in the place of ours.
   */
  constructor(
    directory: string,
    files: Files = { ...nodeFiles, writePrivate: replaceFile },
    keep: KeepElsewhere = () => Promise.resolve(),
    inPlace: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#directory = resolve(directory);
    this.#files = files;
    this.#keep = keep;
    this.#inPlace = inPlace;
  }

  readonly version = (path: string): Promise<string | null> => this.#files.version(path);

  readonly read = async (path: string): Promise<string | null> => {
    const text = await this.#files.read(path);
    if (text !== null) this.#hold(path, text);
    return text;
  };

  readonly writePrivate = async (path: string, text: string): Promise<void> => {
    this.#hold(path, text);
    await this.#inPlace();
    await this.#files.writePrivate(path, text);
    if (dirname(resolve(path)) === this.#directory) await this.#keep(basename(path));
  };

  /** Writes again what the directory held. A file that cannot be written now is written with its next change. */
  async writeAgain(): Promise<void> {
    await this.#inPlace();
    for (const [path, text] of this.#held) await this.#files.writePrivate(path, text).catch(ignored);
  }

  /** Files outside the directory, such as a token of another program, are not ours to write. */
  #hold(path: string, text: string): void {
    if (!relative(this.#directory, path).startsWith("..")) this.#held.set(path, text);
  }
}

/** A small text that outlives a run, readable by the bridge's user only. */
export interface TextFile {
  /** The text last written; null for none. */
  read(): Promise<string | null>;
  /** Durable when it resolves. */
  write(text: string): Promise<void>;
}

/** A small file of the data directory. */
export function textFile(dataDir: string, name: string, files: Files = nodeFiles): TextFile {
  const file = join(dataDir, name);
  return { read: () => files.read(file), write: (text: string) => files.writePrivate(file, text) };
}

/** A disk that works at all has answered within this time. */
const longestDiskMs = 3_000;
/** After the process stood still, timers fire before answers that arrived long ago. */
const onceMoreMs = 200;

/**
 * A small file for callers that must go on when the disk hangs: a read or write then rejects with TooLate. Until the
 * disk has answered, all others reject at once, as each would block a thread of everybody. The newest text is written
 * afterwards.
 */
export function withDeadline(file: TextFile, clock: Clock, ms = longestDiskMs): TextFile {
  let isSilent = false;
  let unwritten: string | null = null;
  const onAnswer = () => {
    const text = unwritten;
    unwritten = null;
    isSilent = text !== null;
    if (text !== null) void file.write(text).catch(ignored).finally(onAnswer);
  };
  const inTime = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (isSilent) throw new TooLate("the disk has not answered yet what it was asked before");
    const asked = ask();
    const isThere = (await cameWithin(clock, ms, asked)) || (await cameWithin(clock, onceMoreMs, asked));
    if (isThere) return asked;
    isSilent = true;
    void asked.catch(ignored).finally(onAnswer);
    throw new TooLate(`the disk has not answered for ${ms / 1_000} s`);
  };
  return {
    read: () => inTime(() => file.read()),
    write: (text) => {
      if (isSilent) unwritten = text;
      return inTime(() => file.write(text));
    },
  };
}

/** A file that nothing depends on: failures go to `onProblem`, and an unreadable file counts as none. */
export const bestEffortFile = (
  file: TextFile | undefined,
  onProblem: (error: unknown) => void,
): TextFile => ({
  read: async () =>
    file?.read().catch((error: unknown) => {
      onProblem(error);
      return null;
    }) ?? null,
  write: async (text) => file?.write(text).catch(onProblem),
});

function absent(error: unknown): null {
  if (errorCode(error) === "ENOENT") return null;
  throw error;
}
