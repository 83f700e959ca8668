import { msg, TextError } from "../language/text.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { errorCode, type FileFacts, type FileSystem, type OpenFile } from "../runtime/file-system.js";
import { History } from "./history.js";
import { DirectoryInUse } from "./lock.js";
import { encodeLine, JournalUnreadable, segmentMode, type SegmentName, segmentPath } from "./segments.js";
import type { JournalRecord, RecordBody, Stamp } from "./records.js";
import {
  type Newest,
  repairJournal,
  Retention,
  type RetentionParts,
  type Scan,
  scanJournal,
} from "./retention.js";

/**
 * The file being written. After one failed write or fsync its content is unknown and it accepts nothing more. The same
 * holds where another file, or none, is at its path, as nobody would find what is written.
 */
class AppendFile {
  readonly name: SegmentName;
  readonly #files: FileSystem;
  readonly #file: OpenFile;
  /** Null where the file system gives the path another identity than the open file. */
  readonly #identity: string | null;
  /** Its present length. */
  bytes: number;
  #failure: { readonly cause: Error; readonly doubtful: boolean } | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  private constructor(files: FileSystem, name: SegmentName, file: OpenFile, named: FileFacts | null) {
    const { bytes, identity } = file.facts();
    this.name = name;
    this.#files = files;
    this.#file = file;
    this.bytes = bytes;
    this.#identity = named?.identity === identity ? identity : null;
  }

  static async open(files: FileSystem, name: SegmentName): Promise<AppendFile> {
    const file = await files.open(name.path, "a", segmentMode);
    const named = await files.facts(name.path).catch(nullIfFailed);
    return new AppendFile(files, name, file, named);
  }

  /**
   * Whether an fsync failed. The kernel may then have dropped the pages and report success next time, so fsync is never
   * repeated.
   */
  get doubtful(): boolean {
    return this.#failure?.doubtful ?? false;
  }

  /** Appends whole lines in one write. */
  async write(lines: Uint8Array): Promise<void> {
    this.#check();
    const isInPlace = this.#isInPlace();
    // The promise is awaited below.
    isInPlace.catch(ignored);
    try {
      await this.#file.write(lines);
      await isInPlace;
    } catch (cause) {
      await this.#takeBack(lines.length).catch(ignored);
      throw this.#fail(cause, false);
    }
    this.#check();
    this.bytes += lines.length;
  }

  /**
   * Removes what a failed write left: a whole line of a refused record would make the next start end that command once
   * more.
   */
  async #takeBack(written: number): Promise<void> {
    const { bytes } = this.#file.facts();
    if (bytes > this.bytes && bytes <= this.bytes + written) await this.#file.truncate(this.bytes);
  }

  /** Rejects where the path no longer leads to this file. */
  async #isInPlace(): Promise<void> {
    const { identity } = await this.#files.facts(this.name.path);
    if (this.#identity === null || this.#identity === identity) return;
    throw Object.assign(new Error("another file is in its place"), { code: "ENOENT" });
  }

  /** Resolves when everything written before the call is on disk. Calls made during one fsync share the next. */
  sync(): Promise<void> {
    this.#next ??= this.#syncAfter(this.#running);
    return this.#next;
  }

  async #syncAfter(running: Promise<void> | null): Promise<void> {
    await running?.catch(ignored);
    this.#running = this.#next;
    this.#next = null;
    this.#check();
    try {
      await this.#file.datasync();
      await this.#isInPlace();
    } catch (cause) {
      throw this.#fail(cause, true);
    }
  }

  #fail(error: unknown, doubtful: boolean): Error {
    const cause =
      error instanceof Error ? error : new TextError(msg`the file cannot be written`, { cause: error });
    this.#failure ??= { cause, doubtful };
    return cause;
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure.cause;
  }

  /** Waits for fsyncs under way. Never rejects, as the file is finished either way. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next]);
    await this.#file.close().catch(ignored);
  }
}

/** A record before it gets its number. */
export interface Draft {
  readonly stamp: Omit<Stamp, "seq">;
  readonly body: RecordBody;
}

export interface Written {
  /** In the order of the drafts. */
  readonly sequences: readonly number[];
  /** Its `sync` resolves when these records are on disk. */
  readonly file: Pick<AppendFile, "sync">;
}

/**
 * Compares the files with what this run (`boot`) knows; `known` is its newest record, null before it has read any.
 * `behind`: the files lack some, for instance in an empty folder or older copy. `foreign`: another process has written
 * since; or before, where there was no directory when this run began.
 */
export function standingOfFiles(
  known: Newest | null,
  found: Newest | null,
  boot: string,
): "complete" | "behind" | "foreign" {
  if (known === null) return "complete";
  const through = found?.seq ?? 0;
  if (through < known.seq) return "behind";
  return through === known.seq || found?.boot === boot ? "complete" : "foreign";
}

/** For an empty or missing directory. */
const nothingFound: Newest = { seq: 0, boot: "" };

/** How many bytes of its own records a run holds, to write lost ones again. */
const mostHeldBytes = 256 * 1024;

interface WriterParts extends Omit<RetentionParts, "directory" | "current"> {
  readonly admit?: (() => Promise<void>) | undefined;
  readonly boot: string;
  readonly isCopy?: boolean | undefined;
  readonly stamp: () => Omit<Stamp, "seq">;
  /** Called once, when there is a `readProblem`. */
  readonly onUnread: () => void;
  /** Called when this run's records had to be written again. */
  readonly onWrittenAgain: () => void;
}

/** There are records that this run neither wrote nor read. */
class WrittenByOthers extends Error {
  override name = "WrittenByOthers" as const;

  constructor(directory: string) {
    super(
      `Another process has written in the journal in ${directory} since this run did, as where the disk was in another computer. ` +
        "Restart the bridge, which then goes by what is there.",
    );
  }
}

/** The files of one journal directory. One call at a time, except `sync`; rejections are the file system's errors. */
export class JournalWriter {
  readonly #directory: string;
  readonly #parts: WriterParts;
  readonly retention: Retention;
  /** What earlier runs and this one have left open, up to the last readable record. */
  history = new History();
  /** Number of the newest record. */
  sequence = 0;
  /** Broken lines in the files at the last recovery. */
  unreadable = 0;
  /**
   * Why there are records that this run does not know: it could not read them at first, or another process wrote them
   * since.
   */
  readProblem: Error | null = null;
  #current: AppendFile | null = null;
  #closing: Promise<void> = Promise.resolve();
  #hasRead = false;
  /** An fsync of the newest file failed, so nothing more goes into it. */
  #beginNew = false;
  /** Size of the checkpoint in the newest file. */
  #carriedBytes = 0;
  /** The newest record read or written by this run, and its own newest lines with their numbers. */
  #newest: Newest | null = null;
  #held: { readonly seq: number; readonly line: Uint8Array }[] = [];
  #heldBytes = 0;

  constructor(directory: string, parts: WriterParts) {
    this.#directory = directory;
    this.#parts = parts;
    const current = () =>
      this.#current === null ? null : { ...this.#current.name, bytes: this.#current.bytes };
    this.retention = new Retention({ ...parts, directory, current });
  }

  /**
   * Reads and repairs the files, and opens the one to continue. Reading comes first, so the history is known even where
   * this rejects, as on a read-only disk. Resolves to the damage found; null for none.
   */
  async recover(): Promise<Extract<RecordBody, { type: "journal_damaged" }> | null> {
    const { files } = this.#parts;
    this.#beginNew ||= this.#current?.doubtful ?? false;
    this.#letGo();
    await this.#closing;
    const barred = await this.#refusal();
    const scan = await this.#scan();
    this.sequence = Math.max(this.sequence, ...scan.segments.map(({ sequence }) => sequence));
    const { isCopy = false, boot } = this.#parts;
    const standing = isCopy ? "complete" : standingOfFiles(this.#newest, scan.newest, boot);
    if (standing === "foreign") this.#unread(new WrittenByOthers(this.#directory));
    const isBehind = standing === "behind";
    if (!isBehind) {
      this.history = scan.history;
      this.#newest = scan.newest ?? nothingFound;
    }
    this.unreadable = scan.segments.reduce((sum, segment) => sum + segment.unreadable, 0);
    if (barred !== null) throw barred;
    const { current, truncatedBytes, corruptFiles } = await repairJournal(files, this.#directory, scan);
    if (isBehind) await this.#writeAgain(scan.newest?.seq ?? 0);
    else if (current !== null && !this.#beginNew) this.#current = await AppendFile.open(files, current);
    await this.retention.prune();
    const { unreadable } = this;
    if (unreadable === 0 && truncatedBytes === 0 && corruptFiles.length === 0) return null;
    const damage = { unreadable, truncated_bytes: truncatedBytes, corrupt_files: corruptFiles };
    return { type: "journal_damaged", ...damage };
  }

  /**
   * Begins a new file with a checkpoint, as that one counts. Then it writes the newest records that the files lack into
   * a file before it, for people and to recognise repeated ids.
   */
  async #writeAgain(foundThrough: number): Promise<void> {
    const { files, log, onWrittenAgain } = this.#parts;
    const directory = this.#directory;
    const lacking = this.#held.filter(({ seq }) => seq > foundThrough);
    const file = await this.#beginCarrying(null);
    const [oldest] = lacking;
    if (oldest !== undefined) {
      const before = await AppendFile.open(files, {
        path: segmentPath(directory, oldest.seq),
        first: oldest.seq,
      });
      try {
        await before.write(Buffer.concat(lacking.map(({ line }) => line)));
        await before.sync();
      } finally {
        await before.close();
      }
    }
    await file.sync();
    await files.syncDirectory(directory);
    log.warn(
      { directory, records: lacking.length },
      "the journal came back without its newest records: what the bridge knows is written there again",
    );
    onWrittenAgain();
  }

  #hold(records: readonly JournalRecord[], lines: readonly Uint8Array[]): void {
    const last = records.at(-1);
    if (last !== undefined) this.#newest = { seq: last.seq, boot: last.boot };
    for (const [index, { seq }] of records.entries()) {
      const line = lines[index] ?? new Uint8Array();
      this.#held.push({ seq, line });
      this.#heldBytes += line.length;
    }
    let gone = 0;
    while (this.#heldBytes > mostHeldBytes && gone < this.#held.length)
      this.#heldBytes -= this.#held[gone++]?.line.length ?? 0;
    if (gone > 0) this.#held = this.#held.slice(gone);
  }

  /**
   * Why no file may be changed; null where files may be. Asked before reading, so that no other process writes in
   * between.
   */
  async #refusal(): Promise<Error | null> {
    try {
      await this.#parts.admit?.();
      return null;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error instanceof DirectoryInUse) this.#unread(error);
      return error;
    }
  }

  async #scan(): Promise<Scan> {
    try {
      const scan = await scanJournal(this.#parts.files, this.#directory);
      this.#hasRead = true;
      return scan;
    } catch (error) {
      // Where no directory ever was, there is nothing to know.
      if (errorCode(error) === "ENOTDIR") this.#newest ??= nothingFound;
      else if (!this.#hasRead)
        this.#unread(
          error instanceof JournalUnreadable ? error : new JournalUnreadable(this.#directory, error),
        );
      throw error;
    }
  }

  #unread(problem: Error): void {
    if (this.readProblem !== null) return;
    this.readProblem = problem;
    this.#parts.onUnread();
  }

  /** Appends the drafts in one write. After a rejection `recover` has to be called first. */
  async write(drafts: readonly Draft[]): Promise<Written> {
    const current = this.#current;
    const most = Math.max(this.#parts.limits.fileBytes, 2 * this.#carriedBytes);
    const hasRoom = current !== null && current.bytes > 0 && current.bytes < most;
    const file = hasRoom ? current : await this.#beginCarrying(current);
    const records: JournalRecord[] = [];
    const lines: Uint8Array[] = [];
    const sequences: number[] = [];
    for (const { stamp, body } of drafts) {
      // Numbers of records that could not be written are not used again.
      const seq = ++this.sequence;
      const record = { seq, ...stamp, ...body };
      records.push(record);
      lines.push(encodeLine(record));
      sequences.push(seq);
    }
    await file.write(Buffer.concat(lines));
    this.#hold(records, lines);
    for (const record of records) this.history.add(record);
    return { sequences, file };
  }

  /** Begins a file with a checkpoint of what older ones still have to say. */
  async #beginCarrying(current: AppendFile | null): Promise<AppendFile> {
    const file = current?.bytes === 0 ? current : await this.#begin();
    const seq = ++this.sequence;
    const checkpoint = {
      seq,
      ...this.#parts.stamp(),
      type: "carried" as const,
      ...this.history.parts(),
    };
    await file.write(encodeLine(checkpoint));
    this.#newest = { seq, boot: checkpoint.boot };
    this.history.add(checkpoint);
    this.#carriedBytes = file.bytes;
    await this.retention.prune();
    return file;
  }

  async #begin(): Promise<AppendFile> {
    const { files } = this.#parts;
    const first = this.sequence + 1;
    const file = await AppendFile.open(files, { path: segmentPath(this.#directory, first), first });
    this.#letGo();
    this.#current = file;
    this.#beginNew = false;
    await files.syncDirectory(this.#directory);
    return file;
  }

  #letGo(): void {
    const old = this.#current;
    this.#current = null;
    if (old !== null) this.#closing = Promise.all([this.#closing, old.close()]).then(() => undefined);
  }

  async close(): Promise<void> {
    await this.retention.close();
    await this.#current?.sync().catch(ignored);
    this.#letGo();
    await this.#closing;
  }
}
