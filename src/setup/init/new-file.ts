import { randomBytes } from "node:crypto";
import { link, open, readFile, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseDocument, isMap, isScalar } from "yaml";

/** File systems without hard links (FAT, some network mounts) answer with one of these. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/** Somebody else's file stands there. */
export class FileExists extends Error {
  override name = "FileExists" as const;

  constructor(path: string) {
    super(`${path} exists already and is never overwritten; move it away, or name another file with -c`);
  }
}

/** Makes a file appear with all its content at once, mode 600. Rejects with FileExists where there is one. */
export async function writeNew(path: string, text: string): Promise<void> {
  const draft = await drafted(path, text);
  try {
    await link(draft, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") throw new FileExists(path);
    if (!noLinks.has(code)) throw error;
    await writeWhole(path, text).catch((other: unknown) => {
      throw codeOf(other) === "EEXIST" ? new FileExists(path) : other;
    });
  } finally {
    await unlink(draft).catch(() => undefined);
  }
  await syncFolder(dirname(path));
}

/** Adds lines to the end of a file, or makes it, mode 600; what it held stays byte by byte. */
export async function addLines(path: string, lines: string): Promise<void> {
  const before = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (before === null) {
    await writeNew(path, lines);
    return;
  }
  const joint = before === "" || before.endsWith("\n") ? "" : "\n";
  // It holds a secret now, whoever could read it before.
  const draft = await drafted(path, `${before}${joint}${lines}`);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/** The names a secrets file defines; null when it is no list of `name: value` lines. */
export async function secretNames(path: string): Promise<ReadonlySet<string> | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  });
  const { contents, errors } = parseDocument(text);
  if (errors.length > 0) return null;
  if (contents === null || (isScalar(contents) && contents.value === null)) return new Set();
  if (!isMap(contents) || contents.flow === true) return null;
  return new Set(contents.items.map(({ key }) => String(isScalar(key) ? key.value : key)));
}

async function drafted(path: string, text: string): Promise<string> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  await writeWhole(draft, text);
  return draft;
}

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => null);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
