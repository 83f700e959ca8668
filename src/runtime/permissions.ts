import { nullIfFailed } from "./failures.js";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readText } from "./file-system.js";

/* Who may read a file with secrets, and what lets somebody read it. */

/** What is new in such a folder belongs to the folder's group: so a package hands what root writes to its service. */
const setGroupId = 0o2000;

export const forOwner = 0o600;
export const forGroup = 0o640;

/** The mode of a file with secrets in this folder. */
export const privateModeIn = (folder: string): Promise<number> =>
  stat(folder).then(
    ({ mode }) => ((mode & setGroupId) === 0 ? forOwner : forGroup),
    () => forOwner,
  );

export interface Place {
  readonly path: string;
  readonly isFolder: boolean;
  readonly owner: number;
  /** Of the folder that it lies in. */
  readonly folderOwner: number;
}

export interface User {
  readonly number: number;
  readonly name: string;
  readonly group: string;
}

const plain = /^[\w@%+=:,./-]+$/;
const quoted = (path: string): string => (plain.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The commands that let the user read a file, or enter a folder. */
export function remedyFor({ path, isFolder, owner, folderOwner }: Place, user: User): string {
  const it = quoted(path);
  if (owner === user.number) return `chmod ${isFolder ? "u+rx" : "600"} ${it}`;
  if (folderOwner === user.number && !isFolder) return `sudo chown ${user.name} ${it}`;
  return `sudo chgrp ${user.group} ${it} && sudo chmod ${isFolder ? "g+rx" : "640"} ${it}`;
}

/** The name of a number in a list of users or groups; the number where it has none, as in a container. */
const nameIn = (list: string, number: number): Promise<string> =>
  readText(list).then(
    (lines) => new RegExp(`^([^:]+):[^:]*:${number}:`, "m").exec(lines)?.[1] ?? String(number),
    () => String(number),
  );

export const userName = (number: number): Promise<string> => nameIn("/etc/passwd", number);

/** Who is let read a file that this user may not read, and by which commands; null where that cannot be told. */
export async function readingRemedy(
  path: string,
): Promise<{ readonly who: string; readonly how: string } | null> {
  const [number, group] = [process.getuid?.(), process.getgid?.()];
  if (number === undefined || group === undefined) return null;
  const user = { number, name: await userName(number), group: await nameIn("/etc/group", group) };
  const place = await firstClosed(resolve(path));
  return place === null ? null : { who: user.name, how: remedyFor(place, user) };
}

/** The file itself, or the uppermost folder on the way to it that cannot be entered. */
async function firstClosed(path: string): Promise<Place | null> {
  const folder = dirname(path);
  const facts = await stat(path).catch(nullIfFailed);
  if (facts === null) return folder === path ? null : firstClosed(folder);
  const { uid: folderOwner } = await stat(folder);
  return { path, isFolder: facts.isDirectory(), owner: facts.uid, folderOwner };
}
