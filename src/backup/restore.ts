import { msg, row, type Text } from "../language/text.js";
import { chown, lstat, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ignored } from "../runtime/failures.js";
import {
  createFile,
  errorCode,
  makeDirectories,
  nodeFileSystem,
  readWholeFile,
  replaceFile,
  restoringName,
} from "../runtime/file-system.js";
import { secretsBeside } from "../config/load.js";
import { privateModeIn } from "../runtime/permissions.js";
import { secretValues, withSecrets } from "../saving/secrets.js";
import { writeText } from "../saving/write.js";
import { isBackupName } from "./backup-name.js";
import { NotRestored, type Opened, textOf } from "./open-backup.js";
import { bridgePlan, type Plan } from "./plans.js";

/*
 * Restores a backup where no bridge is yet. The configuration is written last: nothing runs before, and an interrupted
 * restore can be repeated.
 */

/** Restores a bridge. Rejects with NotRestored where something exists already; that is never touched. */
export const restore = (opened: Opened, file: string, dataDir: string): Promise<void> =>
  carryOut(bridgePlan(opened, resolve(file), resolve(dataDir)));

/** Carries out a plan. Rejects with NotRestored where something exists already; that is never touched. */
export async function carryOut(plan: Plan): Promise<void> {
  try {
    await write(plan);
  } catch (error) {
    throw notRestored(error, plan.texts.at(-1)?.path ?? "");
  }
}

async function write({ data, texts, secrets }: Plan): Promise<void> {
  const last = texts.at(-1)?.path ?? "";
  const exists = new NotRestored(msg`${last} exists and is never overwritten; move it away`);
  if (await isThere(last)) throw exists;
  for (const { path, bytes } of texts.slice(0, -1))
    if (await isOther(path, bytes))
      throw new NotRestored(msg`${path} exists and says something else; move it away`);
  // Fails before anything is written.
  if (secrets !== null) await mergedSecrets(secrets);
  for (const { path } of texts) await makeDirectories(dirname(path), 0o700);
  const marks = data.map(({ folder }) => join(folder, restoringName));
  const others = [...texts.map(({ path }) => path), ...marks, secretsBeside(last)];
  for (const { folder, files } of data)
    await restoreData(new Map([...files].filter(([path]) => !others.includes(path))), folder, others);
  // Further secrets may have been saved while the data were written.
  const merged = secrets === null ? null : await mergedSecrets(secrets);
  if (merged !== null) await writeText({ ...merged, isSecret: true });
  for (const { path } of texts) await dropDrafts(path);
  for (const { path, bytes } of texts) {
    const isMade = await createFile(path, textOf(bytes), await privateModeIn(dirname(path)));
    if (!isMade && path === last) throw exists;
  }
  for (const mark of marks) await rm(mark, { force: true });
}

/** Removes half-written files of an interrupted restore. */
async function dropDrafts(path: string): Promise<void> {
  const names = await readdir(dirname(path));
  const drafts = names.filter((name) => ofDraft.test(name) && name.replace(ofDraft, "") === basename(path));
  for (const name of drafts) await rm(join(dirname(path), name), { force: true });
}

/** The file of secrets with those of the backup added; null where it has them already. */
async function mergedSecrets({
  file,
  more,
}: NonNullable<Plan["secrets"]>): Promise<{ readonly file: string; readonly text: string } | null> {
  const before = await readWholeFile(file).then(
    ({ bytes }) => bytes.toString("utf8"),
    (error: unknown) => {
      if (errorCode(error) === "ENOENT") return "";
      throw error;
    },
  );
  const known = secretValues(before);
  const added = new Map([...more].filter(([name]) => known?.has(name) !== true));
  const other = [...more].find(([name, value]) => known?.has(name) === true && known.get(name) !== value);
  if (other !== undefined)
    throw new NotRestored(
      msg`${file} has another value for ${other[0]} than the backup; rename it there, and in the configuration that uses it`,
    );
  if (added.size === 0) return null;
  const text = known === null ? null : withSecrets(before, added);
  if (text === null) throw new NotRestored(msg`${file} is not a list of "name: value" lines`);
  return { file, text };
}

/**
 * Writes the data into the folder itself, which may be a mount, a link, or all that this user may write. Existing files
 * are not touched.
 */
async function restoreData(
  data: ReadonlyMap<string, Uint8Array>,
  dataDir: string,
  others: readonly string[],
): Promise<void> {
  await makeDirectories(dataDir, 0o700);
  const drafts = await draftsIn(dataDir, data, others);
  const mark = join(dataDir, restoringName);
  const owner = await stat(dataDir);
  await replaceFile(mark, "", { owner });
  for (const draft of drafts) await rm(draft, { force: true });
  for (const [path, bytes] of data) {
    await makeOwned(dirname(path), owner);
    await replaceFile(path, bytes, { mode: await privateModeIn(dirname(path)), owner });
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Makes a folder; made by root, it belongs to the owner of the data. */
async function makeOwned(folder: string, { uid, gid }: Owner): Promise<void> {
  if (await isThere(folder)) return;
  await makeOwned(dirname(folder), { uid, gid });
  await nodeFileSystem.makeDirectory(folder, 0o700);
  await chown(folder, uid, gid).catch(ignored);
  await nodeFileSystem.syncDirectory(dirname(folder));
}

/** A folder that the file system itself makes. */
const ofMount = "lost+found";
const ofDraft = /\.[0-9a-f]{12}\.tmp$/;

/**
 * Half-written files of an interrupted restore. Rejects with NotRestored for any other file, except unchanged files of
 * this backup: a bridge that ran there would have changed them.
 */
async function draftsIn(
  dataDir: string,
  data: ReadonlyMap<string, Uint8Array>,
  others: readonly string[],
): Promise<readonly string[]> {
  const mark = join(dataDir, restoringName);
  const isMarked = await isThere(mark);
  const drafts: string[] = [];
  for (const path of await pathsIn(dataDir)) {
    const whole = path.replace(ofDraft, "");
    if (others.includes(path) || isBackupName(basename(path))) continue;
    const bytes = isMarked ? data.get(path) : undefined;
    if (bytes !== undefined && !(await isOther(path, bytes))) continue;
    const isDraft =
      path !== whole && (whole === mark || (isMarked && [...data.keys(), ...others].includes(whole)));
    if (!isDraft)
      throw new NotRestored(
        msg`${dataDir} holds data already; move it away, or name another folder with --data-dir`,
      );
    drafts.push(path);
  }
  return drafts;
}

/** Paths of all files, without folders. */
async function pathsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const paths = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return entry.name === ofMount ? [] : pathsIn(path);
  });
  return (await Promise.all(paths)).flat();
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    },
  );

const isOther = (path: string, bytes: Uint8Array): Promise<boolean> =>
  readWholeFile(path).then(
    ({ bytes: there }) => !there.equals(bytes),
    (error: unknown) => {
      if (errorCode(error) === "ENOENT") return false;
      if (error instanceof Error && "syscall" in error) throw error;
      return true;
    },
  );

const forbidden = msg`this user may not write there; restore as the user of the bridge, or as root`;
const remedies: Readonly<Record<string, Text>> = {
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: msg`the disk is mounted read-only; name another place with -c and --data-dir`,
  ENOSPC: msg`the disk is full; free some space on it`,
  EDQUOT: msg`the disk is full; free some space on it`,
};

/** Turns an error of the file system into NotRestored; any other error is returned as it is. */
function notRestored(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  const path = "path" in error && typeof error.path === "string" ? error.path.replace(ofDraft, "") : file;
  const code = errorCode(error);
  return new NotRestored(row`${path}: ${remedies[code] ?? msg`it cannot be used (${code})`}`, {
    cause: error,
  });
}
