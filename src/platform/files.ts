import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "../runtime/durable-file.js";
import { errorCode } from "../runtime/file-system.js";

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

function absent(error: unknown): null {
  if (errorCode(error) === "ENOENT") return null;
  throw error;
}
