import { errorCode } from "./file-system.js";

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
  STALLED: "the disk has not answered for a while; check the disk or SD card",
  CLOSED: "the bridge is shutting down",
};

/** Nothing was promised to be on disk. `message` is a sentence with the remedy, `code` Node's word or STALLED, CLOSED. */
export class JournalUnavailable extends Error {
  override name = "JournalUnavailable" as const;
  readonly code: string;

  constructor(directory: string, code: string, options?: { cause?: unknown }) {
    super(`The journal in ${directory} cannot be written: ${remedies[code] ?? `error ${code}`}.`, options);
    this.code = code;
  }
}

/** What any error of the file system means for the journal. */
export function unavailable(directory: string, error: unknown): JournalUnavailable {
  if (error instanceof JournalUnavailable) return error;
  return new JournalUnavailable(directory, errorCode(error) || "UNKNOWN", { cause: error });
}
