import { errorCode } from "./file-system.js";
import { DirectoryInUse } from "./lock.js";
import { JournalUnreadable } from "./unreadable.js";

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; free some space on it",
  EDQUOT: "the disk quota is used up; free some space or raise the quota",
  EROFS: "the disk is mounted read-only; a worn SD card does this too, check it and mount it read-write",
  EACCES: "the bridge may not write there; give its user write permission to the directory",
  EPERM: "the bridge may not write there; give its user write permission to the directory",
  EIO: "the disk reports input/output errors; replace the disk or SD card",
  ENOENT: "the directory has gone; check that its disk is mounted",
  ENOTDIR: "a part of the path is a file, not a directory; move that file away or change data_dir",
  EEXIST: "a file is where the directory should be; move that file away or change data_dir",
  EMFILE: "too many files are open; raise the open-files limit of the bridge",
  ENFILE: "too many files are open on this machine",
  ESTALE: "the network disk has gone; check that it is mounted",
  IN_USE: "another bridge works in the data directory; stop that one, then restart this one",
  STALLED: "the disk has not answered for a while; check the disk or SD card",
  CLOSED: "the bridge is shutting down",
};

/** Nothing was promised to be on disk. `message` is a sentence with the remedy, `code` Node's word or IN_USE, STALLED, CLOSED. */
export class JournalUnavailable extends Error {
  override name = "JournalUnavailable" as const;
  readonly code: string;

  constructor(directory: string, code: string, options?: { cause?: unknown }) {
    // What cannot even be read is told with the remedy for reading.
    const unread = options?.cause instanceof JournalUnreadable ? options.cause.message : null;
    super(
      unread ?? `The journal in ${directory} cannot be written: ${remedies[code] ?? `error ${code}`}.`,
      options,
    );
    this.code = code;
  }
}

/** What any error of the file system means for the journal. */
export function unavailable(directory: string, error: unknown): JournalUnavailable {
  if (error instanceof JournalUnavailable) return error;
  if (error instanceof DirectoryInUse) return new JournalUnavailable(directory, "IN_USE", { cause: error });
  return new JournalUnavailable(directory, errorCode(error) || "UNKNOWN", { cause: error });
}
