import { type FileHandle, open } from "node:fs/promises";
import { platform } from "node:os";

/** The content of a file, or why there is none. `mode` is null where the system knows no permissions. */
export type FileContent =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly mode: number | null }
  | {
      readonly ok: false;
      readonly reason: "missing" | "directory" | "forbidden" | "too_large" | "unreadable";
    };

/** Reads a file of at most `limit` bytes; never rejects. */
export type ReadFile = (path: string, limit: number) => Promise<FileContent>;

const reasons: Readonly<Record<string, "missing" | "directory" | "forbidden">> = {
  ENOENT: "missing",
  ENOTDIR: "missing",
  EISDIR: "directory",
  EACCES: "forbidden",
  EPERM: "forbidden",
};

export const readFile: ReadFile = async (path, limit) => {
  try {
    const file = await open(path, "r");
    try {
      const facts = await file.stat();
      if (facts.isDirectory()) return { ok: false, reason: "directory" };
      const bytes = await readUpTo(file, limit + 1);
      if (bytes.length > limit) return { ok: false, reason: "too_large" };
      return { ok: true, bytes, mode: platform() === "win32" ? null : facts.mode & 0o777 };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { ok: false, reason: reasons[code] ?? "unreadable" };
  }
};

/** A pipe or device announces no size, so what counts is what comes. */
async function readUpTo(file: FileHandle, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let size = 0; size < most;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(65_536, most - size)));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
  return Buffer.concat(chunks);
}

/** Whether anybody but the owner may read or write a file of this mode. */
export const openToOthers = (mode: number | null): boolean => mode !== null && (mode & 0o077) !== 0;

/** Texts that stand for files which need not exist; everything else is read from where it lies. */
export const withTexts =
  (texts: Readonly<Record<string, string>>): ReadFile =>
  (path, limit) => {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    return text === undefined
      ? readFile(path, limit)
      : Promise.resolve({ ok: true, bytes: Buffer.from(text), mode: null });
  };
