import { join } from "node:path";
import { errorCode, nodeFileSystem, readText, replaceFile } from "../runtime/file-system.js";
import { listSegments } from "./segments.js";

/*
 * In a cluster the files of a data directory are a copy of the journal, as old as this member's last ownership. Read as
 * the journal itself they would lack later locks, leases and commands.
 */

const originName = "journal-is-copy-of";

export class NotItsJournal extends Error {
  override name = "NotItsJournal" as const;
}

/** The original of the journal in this directory; null where it is the original itself. */
async function originOf(dataDir: string): Promise<string | null> {
  try {
    return (await readText(join(dataDir, originName))).trim();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Checks that the journal here is the original (`name` null) or a copy of `name`. Rejects with NotItsJournal otherwise,
 * and with the file system's error where the origin cannot be read.
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
