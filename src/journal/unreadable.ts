import { basename, dirname } from "node:path";
import { errorCode, nodeFileSystem, type FileSystem } from "./file-system.js";
import { listSegments } from "./segment-names.js";

const remedies: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of the path is a file, not a directory; name the data directory of the bridge",
  EACCES: "it may not be read; do this as the bridge's user, or give permission to read the directory",
  EPERM: "it may not be read; do this as the bridge's user, or give permission to read the directory",
  ELOOP: "a symbolic link in the path leads to itself; correct that link",
  EISDIR: "a directory is where a file of the journal should be; move it away",
  EIO: "the disk reports input/output errors; replace the disk or SD card",
  ESTALE: "the network disk has gone; check that it is mounted",
};

/** Records are there that cannot be read. `message` is a sentence with the remedy, `code` Node's word. */
export class JournalUnreadable extends Error {
  override name = "JournalUnreadable" as const;
  readonly code: string;

  constructor(directory: string, cause: unknown, file?: string) {
    const code = errorCode(cause) || "UNKNOWN";
    const which = file === undefined ? "" : ` (${file})`;
    super(`The journal in ${directory} cannot be read${which}: ${remedies[code] ?? `error ${code}`}.`, {
      cause,
    });
    this.code = code;
  }
}

/** What an error met in one file means for the journal. A file that has just gone is a matter of its own. */
export const fileProblem = (path: string, error: unknown): unknown =>
  error instanceof JournalUnreadable || errorCode(error) === "ENOENT"
    ? error
    : new JournalUnreadable(dirname(path), error, basename(path));

/** Why the files of the journal cannot even be listed; null where they can, also when there is no directory yet. */
export async function listingProblem(
  directory: string,
  files: FileSystem = nodeFileSystem,
): Promise<JournalUnreadable | null> {
  try {
    await listSegments(files, directory);
    return null;
  } catch (error) {
    return errorCode(error) === "ENOENT" ? null : new JournalUnreadable(directory, error);
  }
}
