import { msg, row, type Text, TextError } from "../../language/text.js";
import { nullIfFailed } from "../../runtime/failures.js";
import { access, constants, readdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isMap, isScalar, parseDocument } from "yaml";
import { createFile, errorCode, readText, replaceFile } from "../../runtime/file-system.js";
import { forGroup, privateModeIn, userName } from "../../runtime/permissions.js";

/** Another file is there already. */
export class FileExists extends TextError {
  override name = "FileExists" as const;

  constructor(path: string) {
    super(msg`${path} exists already and is never overwritten; move it away, or name another file with -c`);
  }
}

/** A file or its folder cannot be used; says which and what to do. */
class PlaceUnusable extends TextError {
  override name = "PlaceUnusable" as const;
}

const forbidden = msg`this user may not write there; give permission, or name another place with -c`;
const remedies: Readonly<Record<string, Text>> = {
  ENOENT: msg`this folder does not exist; make it first, or name another place with -c`,
  ENOTDIR: msg`a part of this path is a file, not a folder; name another place with -c`,
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: msg`the disk is mounted read-only; name another place with -c`,
  ENOSPC: msg`the disk is full; free some space on it`,
  EISDIR: msg`a folder is where a file should be; move it away, or name another place with -c`,
};

/** `place`: a file or folder. Errors that are not the file system's are returned unchanged. */
function unusable(place: string, error: unknown): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  return new PlaceUnusable(row`${place}: ${remedies[code] ?? msg`it cannot be used (${code})`}`, {
    cause: error,
  });
}

/** Rejects with PlaceUnusable if no new file can be made in the folder. */
export async function mustTakeFiles(folder: string): Promise<void> {
  try {
    await readdir(folder);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(folder, error);
  }
}

/**
 * Makes a file appear at once with all its content, mode 600, or 640 in a folder whose new files are for its group.
 * Rejects with FileExists if there is one, or PlaceUnusable.
 */
export async function writeNew(path: string, text: string): Promise<void> {
  const mode = await privateModeIn(dirname(path));
  const isNew = await createFile(path, text, mode).catch((error: unknown) => {
    throw unusable(dirname(path), error);
  });
  if (!isNew) throw new FileExists(path);
}

/**
 * Adds lines to the end of a file, or makes it. Its content stays byte by byte, and owner and group stay. Rejects with
 * PlaceUnusable.
 */
export async function addLines(path: string, lines: string): Promise<void> {
  const before = await textIn(path);
  if (before === null) {
    await writeNew(path, lines);
    return;
  }
  const { uid, gid, mode } = await stat(path);
  // The file holds a secret now, whatever its mode was. A group that root let read it is a service's and may go on.
  const isForGroup = (mode & 0o040) !== 0 && uid === 0 && gid !== 0;
  const wanted = isForGroup ? forGroup : await privateModeIn(dirname(path));
  const owner = { uid, gid };
  await replaceFile(path, withLines(before, lines), { mode: wanted, owner }).catch((error: unknown) => {
    throw unusable(dirname(path), error);
  });
}

/** A text with more lines at its end. */
export function withLines(before: string | null, lines: string): string {
  const joint = before === null || before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before ?? ""}${joint}${lines}`;
}

/** Null if there is no file. */
export async function textIn(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw unusable(path, error);
  });
}

/**
 * The data folder of a configuration below /etc: the folder of the same name below /var/lib, which a package makes.
 * Null if there is none, and the data are beside the configuration.
 */
export async function stateFolderOf(file: string): Promise<string | null> {
  const [, name] = /^\/etc\/([^/]+)$/.exec(dirname(resolve(file))) ?? [];
  if (name === undefined) return null;
  const folder = `/var/lib/${name}`;
  const isThere = await stat(folder).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
  return isThere ? folder : null;
}

/** The name of the data directory's owner if it is another user, such as a package's service when root asks. */
export async function ownerBeside(dataDir: string): Promise<string | null> {
  const facts = await stat(dataDir).catch(nullIfFailed);
  return facts === null || facts.uid === process.getuid?.() ? null : userName(facts.uid);
}

/** The names in a secrets file; null if it is no list of `name: value` lines. Rejects with PlaceUnusable. */
export async function secretNames(path: string): Promise<ReadonlySet<string> | null> {
  const text = (await textIn(path)) ?? "";
  const { contents, errors } = parseDocument(text);
  if (errors.length > 0) return null;
  if (contents === null || (isScalar(contents) && contents.value === null)) return new Set();
  if (!isMap(contents) || contents.flow === true) return null;
  return new Set(contents.items.map(({ key }) => String(isScalar(key) ? key.value : key)));
}
