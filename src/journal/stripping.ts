import { errorCode, type FileSystem, writeFully } from "./file-system.js";
import { aboutKey } from "./history.js";
import { encodeLine } from "./record-line.js";
import type { JournalRecord } from "./records.js";
import { readBlocks } from "./segment-reader.js";

const fileMode = 0o640;

/**
 * Rewrites an older file of the journal without what was refused, only tried or never sent, so that no flood of that pushes
 * commands that were sent out of the journal. Resolves with its new length; a file of which nothing is left is removed. One with
 * lines that cannot be read stays as it is.
 */
export async function stripFile(files: FileSystem, path: string): Promise<number> {
  const { bytes } = await files.facts(path);
  const unsent = await unsentIn(files, path);
  if (unsent === null) return bytes;
  const copy = `${path}.stripped`;
  const written = await copyKept(files, path, copy, unsent);
  if (written === 0) {
    await files.remove(copy);
    await files.remove(path);
  } else if (written < bytes) await files.rename(copy, path);
  else await files.remove(copy);
  return Math.min(written, bytes);
}

/** Keys of commands that ended without a POST; null where a line cannot be read. */
async function unsentIn(files: FileSystem, path: string): Promise<ReadonlySet<string> | null> {
  const unsent = new Set<string>();
  for await (const { records, unreadable, foreign } of readBlocks(files, path)) {
    if (unreadable + foreign > 0) return null;
    for (const record of records)
      if (record.type === "result" && record.result.sent_at === null && isUnsent.has(record.result.outcome))
        unsent.add(`${aboutKey(record)} ${record.result.id}`);
  }
  return unsent;
}

const isUnsent: ReadonlySet<string> = new Set(["refused", "dry_run", "superseded"]);

async function copyKept(
  files: FileSystem,
  from: string,
  to: string,
  unsent: ReadonlySet<string>,
): Promise<number> {
  await files.remove(to).catch(ifThere);
  const file = await files.open(to, "wx", fileMode);
  try {
    let written = 0;
    for await (const { records } of readBlocks(files, from)) {
      const lines = Buffer.concat(records.filter((one) => isKept(one, unsent)).map(encodeLine));
      await writeFully(file, lines);
      written += lines.length;
    }
    await file.sync();
    return written;
  } finally {
    await file.close();
  }
}

function ifThere(error: unknown): void {
  if (errorCode(error) !== "ENOENT") throw error;
}

/** A checkpoint counts only at the head of the newest file. */
function isKept(record: JournalRecord, unsent: ReadonlySet<string>): boolean {
  const { type } = record;
  if (type === "refusal" || type === "refusals_counted" || type === "carried") return false;
  if (type === "result") return !unsent.has(`${aboutKey(record)} ${record.result.id}`);
  if ("id" in record && typeof record.id === "string" && "controller" in record)
    return !unsent.has(`${aboutKey(record)} ${record.id}`);
  return true;
}
