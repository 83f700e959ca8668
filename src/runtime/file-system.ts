import { fstatSync } from "node:fs";
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";

export interface FileFacts {
  readonly bytes: number;
  readonly modifiedAt: number;
  /** 0 once the file was deleted under an open handle. */
  readonly links: number;
}

export interface OpenFile {
  /** Writes at the end; may write fewer bytes than given. Resolves with how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Fills `into` from `position` on; 0 at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  truncate(bytes: number): Promise<void>;
  /** The content and its length, not the times. */
  datasync(): Promise<void>;
  sync(): Promise<void>;
  chmod(mode: number): Promise<void>;
  facts(): Promise<FileFacts>;
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
    write: async (bytes) => (await handle.write(bytes, 0, bytes.length, null)).bytesWritten,
    read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    truncate: (bytes) => handle.truncate(bytes),
    datasync: () => handle.datasync(),
    sync: () => handle.sync(),
    chmod: (fileMode) => handle.chmod(fileMode),
    // The kernel knows them of an open file without asking the disk, and a thread costs more than the call.
    facts: () => Promise.resolve().then(() => factsOf(fstatSync(handle.fd))),
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

/** Writes everything, however the file system splits it. */
export async function writeFully(file: OpenFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += await file.write(done === 0 ? bytes : bytes.subarray(done));
}
