import type { FileSystem } from "./file-system.js";
import { errorCode } from "./file-system.js";

const mostCopies = 9;

/**
 * Moves a corrupt file out of the way as `<path>.corrupt-<n>` and resolves with the new path. After nine the last one is
 * replaced, so that a fault repeating itself cannot fill the disk.
 */
export async function setAside(files: FileSystem, path: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const aside = `${path}.corrupt-${n}`;
    if (n < mostCopies && (await exists(files, aside))) continue;
    await files.rename(path, aside);
    return aside;
  }
}

async function exists(files: FileSystem, path: string): Promise<boolean> {
  try {
    await files.facts(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
