import { mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";

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
  writePrivate,
};

function absent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}

async function writePrivate(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
