import type { Logger } from "../runtime/log.js";
import {
  errorCode,
  type FileFacts,
  type FileSystem,
  type OpenFile,
  writeFully,
} from "../runtime/file-system.js";
import { addToHistory, emptyHistory, type HistoryDraft, historyOf, openKey } from "./history.js";
import { DirectoryInUse } from "./lock.js";
import { encodeLine } from "./record-line.js";
import type { About, HistoryParts, JournalDamaged, JournalRecord, RecordBody, Stamp } from "./records.js";
import { prepareDirectory, repairJournal, type Scan, scanJournal } from "./recovery.js";
import {
  type JournalLimits,
  JournalUnreadable,
  listCorrupt,
  listSegments,
  type SegmentName,
  segmentPath,
  type SegmentSize,
  segmentsToDelete,
  segmentsToStrip,
  stripFile,
} from "./segment-files.js";

const fileMode = 0o640;

/** The file being written. After one failed write or fsync it takes nothing more: what it holds is then unknown. */
export class Segment {
  readonly name: SegmentName;
  readonly #file: OpenFile;
  /** Some file systems count no links at all. */
  readonly #countsLinks: boolean;
  #bytes: number;
  #failure: { readonly cause: Error; readonly doubtful: boolean } | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  private constructor(name: SegmentName, file: OpenFile, { bytes, links }: FileFacts) {
    this.name = name;
    this.#file = file;
    this.#bytes = bytes;
    this.#countsLinks = links > 0;
  }

  static async open(files: FileSystem, name: SegmentName): Promise<Segment> {
    const file = await files.open(name.path, "a", fileMode);
    return new Segment(name, file, await file.facts());
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** An fsync failed. The kernel may then have dropped the pages and report success next time, so never ask again. */
  get doubtful(): boolean {
    return this.#failure?.doubtful ?? false;
  }

  /** Appends whole lines in one write. */
  async write(lines: Uint8Array): Promise<void> {
    this.#check();
    try {
      await writeFully(this.#file, lines);
    } catch (cause) {
      throw this.#fail(cause, false);
    }
    this.#check();
    this.#bytes += lines.length;
  }

  /** On disk: everything written before the call. Calls made while one fsync runs share the next. */
  sync(): Promise<void> {
    this.#next ??= this.#syncAfter(this.#running);
    return this.#next;
  }

  async #syncAfter(running: Promise<void> | null): Promise<void> {
    await running?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = null;
    this.#check();
    try {
      const [, { links }] = await Promise.all([this.#file.datasync(), this.#file.facts()]);
      if (this.#countsLinks && links === 0)
        throw Object.assign(new Error("the file was deleted"), { code: "ENOENT" });
    } catch (cause) {
      throw this.#fail(cause, true);
    }
  }

  #fail(error: unknown, doubtful: boolean): Error {
    const cause = error instanceof Error ? error : new Error("the file cannot be written", { cause: error });
    this.#failure ??= { cause, doubtful };
    return cause;
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure.cause;
  }

  /** Waits for fsyncs under way; never rejects, the file is done with either way. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next]);
    await this.#file.close().catch(() => undefined);
  }
}

/** A record before it has its number. */
export interface Draft {
  readonly stamp: Omit<Stamp, "seq">;
  readonly body: RecordBody;
}

export interface Written {
  /** In the order of the drafts. */
  readonly sequences: readonly number[];
  /** Resolves when these records are on disk. */
  readonly sync: () => Promise<void>;
}

export interface StoreSettings {
  readonly files: FileSystem;
  readonly limits: JournalLimits;
  readonly log: Logger;
  readonly admit?: (() => Promise<void>) | undefined;
  readonly stamp: () => Omit<Stamp, "seq">;
  /** For ages of files: epoch ms, and whether to believe it. */
  readonly clock: () => { readonly now: number; readonly trusted: boolean };
}

const mostCorruptFiles = 5;

/** The files of one journal directory. One call at a time, except `sync`; rejections are the file system's errors. */
export class SegmentStore {
  readonly #directory: string;
  readonly #settings: StoreSettings;
  #current: Segment | null = null;
  #closing: Promise<void> = Promise.resolve();
  #sequence = 0;
  #olderBytes = 0;
  #history: HistoryDraft = emptyHistory();
  #unreadable = 0;
  #hasRead = false;
  #unread: Error | null = null;
  /** Files that hold only what is worth keeping, as far as this run knows. */
  readonly #stripped = new Set<string>();
  #stripping: Promise<void> | null = null;
  #isClosed = false;
  /** An fsync of the newest file failed; nothing more goes into it. */
  #beginNew = false;

  constructor(directory: string, settings: StoreSettings) {
    this.#directory = directory;
    this.#settings = settings;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get bytes(): number {
    return this.#olderBytes + (this.#current?.bytes ?? 0);
  }

  /** Broken lines in the files read at the last recovery. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** Why records are there that this run does not know: it could not read them at first, or another process wrote them since. */
  get unread(): Error | null {
    return this.#unread;
  }

  get history(): HistoryParts {
    return historyOf(this.#history);
  }

  /** Whether a command was taken and has no result, as far as could be written. */
  isOpen(about: About, id: string): boolean {
    return this.#history.open.has(openKey(about, id));
  }

  /**
   * Reads the files, repairs them and opens the one to go on with. Reading comes first: on a read-only disk the history
   * is known although this rejects. Resolves with what was broken, or null.
   */
  async recover(): Promise<JournalDamaged | null> {
    const { files } = this.#settings;
    this.#beginNew ||= this.#current?.doubtful ?? false;
    this.#letGo();
    await this.#closing;
    const barred = await this.#barred();
    const scan = await this.#scan();
    this.#sequence = Math.max(this.#sequence, scan.sequence);
    this.#history = scan.history;
    this.#unreadable = scan.unreadable;
    if (barred !== null) throw barred;
    await prepareDirectory(files, this.#directory);
    const { current, truncatedBytes, corruptFiles } = await repairJournal(files, this.#directory, scan);
    if (current !== null && !this.#beginNew) this.#current = await Segment.open(files, current);
    await this.#prune();
    if (scan.unreadable === 0 && truncatedBytes === 0 && corruptFiles.length === 0) return null;
    const { unreadable } = scan;
    return {
      type: "journal_damaged",
      unreadable,
      truncated_bytes: truncatedBytes,
      corrupt_files: corruptFiles,
    };
  }

  /** Why no file may be changed. Asked before the files are read, so that nobody writes to them in between. */
  async #barred(): Promise<Error | null> {
    try {
      await this.#settings.admit?.();
      return null;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error instanceof DirectoryInUse) this.#unread ??= error;
      return error;
    }
  }

  async #scan(): Promise<Scan> {
    try {
      const scan = await scanJournal(this.#settings.files, this.#directory);
      this.#hasRead = true;
      return scan;
    } catch (error) {
      // Where no directory ever was there is nothing to know.
      if (!this.#hasRead && errorCode(error) !== "ENOTDIR")
        this.#unread ??=
          error instanceof JournalUnreadable ? error : new JournalUnreadable(this.#directory, error);
      throw error;
    }
  }

  /** Appends the drafts in one write. After a rejection `recover` comes before anything else. */
  async write(drafts: readonly Draft[]): Promise<Written> {
    const segment = await this.#writable();
    const records = drafts.map((draft) => this.#number(draft));
    await segment.write(Buffer.concat(records.map(encodeLine)));
    for (const record of records) addToHistory(this.#history, record);
    return { sequences: records.map(({ seq }) => seq), sync: () => segment.sync() };
  }

  /** Sequence numbers of records that could not be written are not used again. */
  #number({ stamp, body }: Draft): JournalRecord {
    this.#sequence += 1;
    return { seq: this.#sequence, ...stamp, ...body };
  }

  async #writable(): Promise<Segment> {
    const current = this.#current;
    if (current !== null && current.bytes > 0 && current.bytes < this.#settings.limits.fileBytes)
      return current;
    const segment = current?.bytes === 0 ? current : await this.#begin();
    const body = { type: "carried" as const, ...this.history };
    await segment.write(encodeLine(this.#number({ stamp: this.#settings.stamp(), body })));
    await this.#prune();
    return segment;
  }

  async #begin(): Promise<Segment> {
    const { files } = this.#settings;
    const first = this.#sequence + 1;
    const segment = await Segment.open(files, { path: segmentPath(this.#directory, first), first });
    this.#letGo();
    this.#current = segment;
    this.#beginNew = false;
    await files.syncDirectory(this.#directory);
    return segment;
  }

  #letGo(): void {
    const old = this.#current;
    this.#current = null;
    if (old !== null) this.#closing = Promise.all([this.#closing, old.close()]).then(() => undefined);
  }

  async #prune(): Promise<void> {
    const { totalBytes } = this.#settings.limits;
    await this.#deleteSome();
    if (this.bytes <= totalBytes) return;
    this.#stripping ??= this.#strip();
    // Where more is written than is stripped meanwhile, writing has to wait: the disk is not the journal's alone.
    if (this.bytes > 2 * totalBytes) await this.#stripping;
  }

  async #deleteSome(): Promise<void> {
    const { files, limits, log, clock } = this.#settings;
    try {
      const segments = await this.#sizes();
      const doomed = segmentsToDelete(segments, clock(), limits, (path) => this.#stripped.has(path));
      for (const { path } of doomed) {
        await removed(files, path);
        this.#stripped.delete(path);
      }
      for (const path of (await listCorrupt(files, this.#directory)).slice(0, -mostCorruptFiles))
        await removed(files, path);
      this.#olderBytes = segments
        .slice(doomed.length)
        .reduce((sum, { path, bytes }) => (path === this.#current?.name.path ? sum : sum + bytes), 0);
    } catch (error) {
      log.warn({ err: error }, "old journal files could not be deleted; the journal goes on");
    }
  }

  /** Makes room beside the writing, oldest files first, until there is enough or nothing more to strip. */
  async #strip(): Promise<void> {
    const { files, limits, log } = this.#settings;
    while (!this.#isClosed && this.bytes > limits.totalBytes) {
      const segments = await this.#sizes().catch(() => []);
      const next = segmentsToStrip(segments).find(({ path }) => !this.#stripped.has(path));
      if (next === undefined) break;
      this.#stripped.add(next.path);
      try {
        this.#olderBytes -= next.bytes - (await stripFile(files, next.path));
      } catch (error) {
        log.warn({ err: error, path: next.path }, "an old journal file could not be made smaller; it stays");
      }
    }
    if (!this.#isClosed) await this.#deleteSome();
    this.#stripping = null;
  }

  async #sizes(): Promise<readonly SegmentSize[]> {
    const { files } = this.#settings;
    const names = await listSegments(files, this.#directory);
    return Promise.all(names.map(async (name) => ({ ...name, ...(await files.facts(name.path)) })));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stripping;
    await this.#current?.sync().catch(() => undefined);
    this.#letGo();
    await this.#closing;
  }
}

/** Two may have found the same file too old. */
const removed = (files: FileSystem, path: string): Promise<void> =>
  files.remove(path).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
