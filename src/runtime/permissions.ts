import { nullIfFailed } from "./failures.js";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readText } from "./file-system.js";

/* Who may read a file with secrets, and which commands allow it. */

/** The setgid bit: new files belong to the folder's group, so a package's service can read what root writes there. */
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
  /** Owner of the folder that contains it. */
  readonly folderOwner: number;
}

export interface User {
  readonly number: number;
  readonly name: string;
  readonly group: string;
}

const plain = /^[\w@%+=:,./-]+$/;
const quoted = (path: string): string => (plain.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The commands that let the user read a file or enter a folder. */
export function remedyFor({ path, isFolder, owner, folderOwner }: Place, user: User): string {
  const it = quoted(path);
  if (owner === user.number) return `chmod ${isFolder ? "u+rx" : "600"} ${it}`;
  if (folderOwner === user.number && !isFolder) return `sudo chown ${user.name} ${it}`;
  return `sudo chgrp ${user.group} ${it} && sudo chmod ${isFolder ? "g+rx" : "640"} ${it}`;
}

/** The name of a number in a list of users or groups; the number itself if it has none, as in a container. */
const nameIn = (list: string, number: number): Promise<string> =>
  readText(list).then(
    (lines) => new RegExp(`^([^:]+):[^:]*:${number}:`, "m").exec(lines)?.[1] ?? String(number),
    () => String(number),
  );

export const userName = (number: number): Promise<string> => nameIn("/etc/passwd", number);

/** The user to be allowed to read a file, and the commands for that; null if unknown. */
export async function readingRemedy(
  path: string,
): Promise<{ readonly who: string; readonly how: string } | null> {
  const [number, group] = [process.getuid?.(), process.getgid?.()];
  if (number === undefined || group === undefined) return null;
  const user = { number, name: await userName(number), group: await nameIn("/etc/group", group) };
  const place = await firstClosed(resolve(path));
  return place === null ? null : { who: user.name, how: remedyFor(place, user) };
}

/** The file itself, or the uppermost folder on its path that cannot be entered. */
async function firstClosed(path: string): Promise<Place | null> {
  const folder = dirname(path);
  const facts = await stat(path).catch(nullIfFailed);
  if (facts === null) return folder === path ? null : firstClosed(folder);
  const { uid: folderOwner } = await stat(folder);
  return { path, isFolder: facts.isDirectory(), owner: facts.uid, folderOwner };
}
