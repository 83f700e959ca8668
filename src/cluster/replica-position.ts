import { join } from "node:path";
import { type FileSystem, replaceFile } from "../runtime/file-system.js";
import type { StreamState } from "./ports.js";
import { type Import, readWhole } from "./stream-content.js";

/*
 * The files of a data directory are a copy of the stream, up to an acknowledged entry. If the servers lose acknowledged
 * entries, the stream has less than that. Then the journal must be restored from the copy, not the other way round.
 */

export interface Copy {
  /** When the stream was made, as in its state. */
  readonly created: string;
  /** The number of the newest entry in the copy. */
  readonly last: number;
}

const copyName = "journal-copied-up-to";

/** Null if it was not recorded. */
export async function readCopy(files: FileSystem, dataDir: string): Promise<Copy | null> {
  const text = await readWhole(files, join(dataDir, copyName));
  const [, last, created] = /^(\d{1,15}) (\S+)\n$/.exec(text?.toString("utf8") ?? "") ?? [];
  return created === undefined ? null : { created, last: Number(last) };
}

export const writeCopy = (files: FileSystem, dataDir: string, { created, last }: Copy): Promise<void> =>
  replaceFile(join(dataDir, copyName), `${last} ${created}\n`, { files });

/** What must be known of the stream before an account is taken up. */
export interface StreamFound extends StreamState {
  readonly imported: Import;
}

/** Says how the stream has less than this copy; null if it has all of it. */
export function lossOf(copy: Copy | null, { created, last, imported }: StreamFound): string | null {
  if (copy === null) return null;
  // An import into a new stream has decided which journal counts.
  if (copy.created !== created)
    return imported === "whole"
      ? null
      : "the stream of the journal was lost, and what stands there was made anew";
  return last < copy.last
    ? `the stream of the journal ends at entry ${last}, and ${copy.last} was acknowledged`
    : null;
}

/** Says what to do after a loss. */
export const lossRefusal = (loss: string, account: string, dataDir: string): string =>
  `The NATS servers have lost records of ${account}: ${loss}. This member does not run the account, and leaves the copy in ${dataDir} as it is. ` +
  "Go by the runbook in docs/cluster.md; or, where those records are not to come back, move that directory away.";
