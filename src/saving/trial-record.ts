import { readdir, realpath, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { type ReturnedSettings } from "../page/protocol.js";
import { keptText, msg, type Text, textFrom, textOf } from "../language/text.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { errorCode, type FileSystem, nodeFileSystem, readText, replaceFile } from "../runtime/file-system.js";
import { NotWritten } from "./write.js";

/*
 * The record of a change on trial, beside the configuration, until the bridge is known to come up with it. It is
 * written before the configuration, so that a start after a kill or power cut can undo the change.
 */

/** A translatable text. */
const kept = z.union([z.string(), z.looseObject({})]).transform((given): Text => textFrom(given));
const path = z.string().nullable();
const identity = z.object({
  pid: z.int(),
  started: path,
  namespace: path,
  kernel: path,
  host: z.string(),
});

const trialRecord = z.object({
  kept: z.object({ file: path, secrets: path }),
  /** Etags of the files: before the first change, and after each. */
  etags: z.array(z.string()).min(2),
  keys: z.array(z.string()),
  difference: z.string(),
  /** The process that saved the change, or took it over. */
  by: identity,
  /** How often the program started with these settings. */
  starts: z.int(),
  /** The state before the change. */
  platform: z.string().nullable(),
  /** Absent where an older version wrote the record. */
  broker: z.string().nullish(),
  wasPageOpen: z.boolean(),
  /** Data directory of the former configuration. */
  dataDir: z.string(),
  /** Why it is being undone; null while it is not. */
  reason: kept.nullable(),
  /** Set once somebody edited the files by hand; then they stay as they are. */
  by_hand: z.boolean().optional(),
});

export type TrialRecord = Readonly<z.infer<typeof trialRecord>>;

const ending = ".trial";

/** The record's path, beside the file that a link leads to. */
async function recordOf(file: string): Promise<string> {
  const target = await realpath(file).catch(() => file);
  return join(dirname(target), `.${basename(target)}${ending}`);
}

/** Null where there is no record, or none that can be read. */
export async function readTrial(file: string): Promise<TrialRecord | null> {
  const text = await recordOf(file).then(readText).catch(nullIfFailed);
  return text === null ? null : parsedAs(trialRecord, text);
}

/** Rejects with NotWritten. */
export async function writeTrial(
  file: string,
  record: TrialRecord,
  files: FileSystem = nodeFileSystem,
): Promise<void> {
  const at = await recordOf(file);
  const reason = record.reason === null ? null : keptText(record.reason);
  await replaceFile(at, JSON.stringify({ ...record, reason }), { files }).catch((error: unknown) => {
    throw new NotWritten(
      msg`${at} cannot be written (${errorCode(error) || textOf(error)}); nothing was changed`,
      {
        cause: error,
      },
    );
  });
}

export async function removeTrial(file: string, files: FileSystem = nodeFileSystem): Promise<void> {
  const at = await recordOf(file);
  await files.remove(at).catch(ignored);
  await files.syncDirectory(dirname(at)).catch(ignored);
}

/** The configurations of a folder that are on trial. */
export async function filesOnTrial(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): readonly string[] => []);
  return names.flatMap((name) =>
    name.startsWith(".") && name.endsWith(ending) ? [join(folder, name.slice(1, -ending.length))] : [],
  );
}

const returnedSettings = z.object({
  at: z.string(),
  reason: kept,
  difference: z.string(),
  etag: z.string().optional(),
  by_hand: z.boolean().optional(),
});

/**
 * `etag`: of the restored file, or of a hand-edited one that is not in force; absent in records of earlier versions.
 */
export interface KeptReturned extends ReturnedSettings {
  readonly etag?: string | undefined;
}

const returnedFile = (dataDir: string): string => join(dataDir, "settings-returned.json");

/** The settings that were last undone; null for none, or when others have come up since. */
export async function readReturned(dataDir: string): Promise<KeptReturned | null> {
  const text = await readText(returnedFile(dataDir)).catch(nullIfFailed);
  return text === null ? null : parsedAs(returnedSettings, text);
}

export const writeReturned = (dataDir: string, returned: KeptReturned): Promise<void> =>
  replaceFile(returnedFile(dataDir), JSON.stringify({ ...returned, reason: keptText(returned.reason) }));

export const removeReturned = (dataDir: string): Promise<void> =>
  unlink(returnedFile(dataDir)).catch(ignored);

function parsedAs<Value>(schema: z.ZodType<Value>, text: string): Value | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
