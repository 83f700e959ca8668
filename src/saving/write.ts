import { msg, type Text, TextError } from "../language/text.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { access, chown, constants, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import {
  errorCode,
  type FileSystem,
  makeDirectories,
  nodeFileSystem,
  replaceFile,
} from "../runtime/file-system.js";
import { forGroup, forOwner, privateModeIn } from "../runtime/permissions.js";

/* Writes changed files to disk; at every moment the file is the old one or the new one. */

/** Former versions kept of each file. */
const mostKept = 10;

/** A file cannot be written; the message is a sentence with a remedy. */
export class NotWritten extends TextError {
  override name = "NotWritten" as const;
}

const forbidden = msg`this user may not write it; give the file and its folder to the user of the bridge, or copy the YAML into it by hand`;
const mountedAlone = msg`it is mounted by itself, as a single file of a container, which cannot be replaced; mount its folder, or copy the YAML into it by hand`;
const sentences: Readonly<Record<string, Text>> = {
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: msg`it lies on a disk that is mounted read-only; copy the YAML into it by hand`,
  EBUSY: mountedAlone,
  ENOSPC: msg`the disk is full; nothing was changed`,
  EDQUOT: msg`the disk is full for this user; nothing was changed`,
  ENOENT: msg`the folder has gone; nothing was changed`,
};

const sentenceOf = (file: string, error: unknown): Text => {
  const code = errorCode(error);
  const reason =
    sentences[code] ?? msg`the disk refused it (${code === "" ? String(error) : code}); nothing was changed`;
  return msg`${file} cannot be written: ${reason}`;
};

/** The file behind a link, which is the one to replace. */
const targetOf = (file: string): Promise<string> => realpath(file).catch(() => file);

/** Why the file could not be replaced, as far as known in advance; null where nothing is in the way. */
export async function writingProblem(file: string): Promise<Text | null> {
  const target = await targetOf(file);
  try {
    const [own, folder] = [await stat(target), await stat(dirname(target))];
    if (own.dev !== folder.dev) return msg`${file} cannot be written: ${mountedAlone}`;
    await access(target, constants.W_OK);
    await access(dirname(target), constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return sentenceOf(file, error);
  }
}

interface Given {
  readonly file: string;
  readonly text: string;
  /** For a new file, or one that holds secrets from now on. */
  readonly isSecret?: boolean;
  /** The file whose owner a new one gets, and whose group may read it if that may read this one. */
  readonly like?: string;
}

/** Replaces or creates a file. Owner and mode stay, and a link still leads to it. Rejects with NotWritten. */
export async function writeText(
  { file, text, isSecret = false, like }: Given,
  files: FileSystem = nodeFileSystem,
): Promise<void> {
  const target = await targetOf(file);
  try {
    const facts = await stat(target).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT" && isSecret) return null;
      throw error;
    });
    const other = facts === null && like !== undefined ? await stat(like).catch(nullIfFailed) : null;
    const mode = facts === null ? await newModeIn(dirname(target), other) : facts.mode & 0o777;
    const owner = facts ?? other;
    await replaceFile(target, text, { mode, files, ...(owner !== null && { owner }) });
  } catch (error) {
    throw new NotWritten(sentenceOf(file, error), { cause: error });
  }
}

interface Facts {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** The mode of a new secret file. A file that others may read says nothing about its group. */
async function newModeIn(folder: string, like: Pick<Facts, "mode"> | null): Promise<number> {
  const isForGroup = like !== null && (like.mode & 0o044) === 0o040;
  return isForGroup ? forGroup : privateModeIn(folder);
}

const nameOfKept = (file: string): RegExp => {
  const name = basename(file, extname(file)).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${name}\\.\\d{4}-\\d\\d-\\d\\dT[\\d-]+Z\\.ya?ml$`);
};

interface Former {
  readonly file: string;
  /** The content to keep. */
  readonly text: string;
  readonly folder: string;
  readonly now: number;
  /** Kept copies that must not be removed, whatever their age. */
  readonly needed?: readonly string[];
}

type Owner = Pick<Facts, "uid" | "gid">;

/** Makes the folder of kept copies. It belongs to the owner of the data directory, or of the file if that is new too. */
async function makeFolder(folder: string, ofFile: Owner | null): Promise<void> {
  const above = dirname(folder);
  const owner = await stat(above).catch(nullIfFailed);
  if (owner === null) {
    await makeDirectories(above, 0o700);
    await handOver(above, ofFile);
  }
  if (await nodeFileSystem.makeDirectory(folder, 0o700)) await handOver(folder, owner ?? ofFile);
}

/** Another user than root may not do that, and need not. */
const handOver = async (path: string, owner: Owner | null): Promise<void> => {
  if (owner !== null) await chown(path, owner.uid, owner.gid).catch(ignored);
};

/** The folder of the data directory that holds former copies of the configuration. */
export const formerFolder = "backups";

/**
 * Keeps a file's content before a change, and of each file the newest ten. The copy has owner and mode of the file, and
 * a new folder the owner of the folder above: root may save what a service has to read. Rejects with NotWritten.
 */
export async function keepFormer(
  { file, text, folder, now, needed = [] }: Former,
  files: FileSystem = nodeFileSystem,
): Promise<string> {
  const at = new Date(now).toISOString().replace(/[:.]/g, "-");
  const extension = extname(file) || ".yaml";
  const kept = join(folder, `${basename(file, extname(file))}.${at}${extension}`);
  try {
    const facts = await stat(file).catch(nullIfFailed);
    await makeFolder(folder, facts);
    const mode = facts === null ? forOwner : facts.mode & 0o777;
    await replaceFile(kept, text, { mode, files, ...(facts !== null && { owner: facts }) });
  } catch (error) {
    throw new NotWritten(sentenceOf(kept, error), { cause: error });
  }
  const pattern = nameOfKept(file);
  const isFormer = (name: string) => pattern.test(name) && name !== basename(kept);
  const names = (await files.list(folder).catch(() => [])).filter(isFormer).toSorted();
  // The new copy always stays, even after the clock was set back.
  for (const name of names.slice(0, Math.max(0, names.length - (mostKept - 1))))
    if (!needed.includes(join(folder, name))) await files.remove(join(folder, name)).catch(ignored);
  return kept;
}
