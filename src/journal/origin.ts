import { join } from "node:path";
import { errorCode, nodeFileSystem, readText, replaceFile } from "../runtime/file-system.js";
import { listSegments } from "./segments.js";

/*
 * Where a cluster keeps the journal, the files of a data directory are a copy. It is as old as the last time that this member owned the
 * account. Whoever took it for the journal itself would miss locks, leases and commands since.
 */

const originName = "journal-is-copy-of";

export class NotItsJournal extends Error {
  override name = "NotItsJournal" as const;
}

/** What the journal in this data directory is a copy of; null where it is the journal itself. */
async function originOf(dataDir: string): Promise<string | null> {
  try {
    return (await readText(join(dataDir, originName))).trim();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Rejects with the file system's error where the origin cannot be read. Rejects with NotItsJournal where the journal in this directory
 * is a copy of something else, or where it is the original and is to become a copy of `name`.
 */
export async function checkOrigin(dataDir: string, name: string | null): Promise<void> {
  const origin = await originOf(dataDir);
  if (origin === name) return;
  if (name === null)
    throw new NotItsJournal(
      `The journal in ${dataDir} is a copy of that of the cluster (${origin ?? ""}), and may be old. Put the key cluster back; ` +
        "or, where the cluster is given up, write its journal into a new data directory with `journal export DIR`.",
    );
  const segments = await listSegments(nodeFileSystem, join(dataDir, "journal"));
  if (segments.length > 0)
    throw new NotItsJournal(
      `The data directory ${dataDir} has a journal that is not that of the cluster (${name}). Where it is to go on there, ` +
        "run `journal import` on one machine; where it is not, move the directory away.",
    );
}

export const markOrigin = (dataDir: string, name: string): Promise<void> =>
  replaceFile(join(dataDir, originName), `${name}\n`);
