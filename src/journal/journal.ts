import { msg, type Text, TextError } from "../language/text.js";
import { randomBytes } from "node:crypto";
import { type Clock, clockAgrees } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { errorCode, type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import { openAtStart } from "./history.js";
import { DirectoryInUse } from "./lock.js";
import type { About, Durable, Checkpoint, JournalRecord, RecordBody, Stamp } from "./records.js";
import type { RetentionLimits } from "./retention.js";
import { JournalUnreadable } from "./segments.js";
import { type Draft, JournalWriter, type Written } from "./writer.js";

/** Remedies for a data directory that cannot be written, by Node's error code or our own. */
export const diskRemedies: Readonly<Record<string, Text>> = {
  ENOSPC: msg`the disk is full; free some space on it`,
  EDQUOT: msg`the disk quota is used up; free some space or raise the quota`,
  EROFS: msg`the disk is mounted read-only; a worn SD card does this too, check it and mount it read-write`,
  EACCES: msg`the bridge may not write there; give its user write permission to the directory`,
  EPERM: msg`the bridge may not write there; give its user write permission to the directory`,
  EIO: msg`the disk reports input/output errors; replace the disk or SD card`,
  ENOENT: msg`the directory has gone; check that its disk is mounted, or put the directory back`,
  BENEATH: msg`the disk that it lies on is not mounted; mount it, or restart the bridge to begin anew in the folder that shows in its place`,
  ENOTDIR: msg`a part of the path is a file, not a directory; move that file away or change data_dir`,
  EEXIST: msg`a file is where the directory should be; move that file away or change data_dir`,
  EMFILE: msg`too many files are open; raise the open-files limit of the bridge`,
  ENFILE: msg`too many files are open on this machine`,
  ESTALE: msg`the network disk has gone; check that it is mounted`,
  IN_USE: msg`another bridge works in the data directory; stop that one, then restart this one`,
  STALLED: msg`the disk has not answered for a while; check the disk or SD card`,
  NATS: msg`the NATS servers of the cluster do not acknowledge it; check them and the network`,
  NOT_OWNER: msg`another member of the cluster runs this account now`,
  CLOSED: msg`the bridge is shutting down`,
};

/**
 * Nothing was promised to be on disk. `message` is a sentence with the remedy; `code` is Node's, or IN_USE, STALLED,
 * CLOSED.
 */
export class JournalUnavailable extends TextError {
  override name = "JournalUnavailable" as const;
  readonly code: string;

  constructor(directory: string, code: string, options?: { cause?: unknown }) {
    // An unreadable journal has a sentence of its own.
    const unread = options?.cause instanceof JournalUnreadable ? options.cause.text : null;
    super(
      unread ??
        msg`The journal in ${directory} cannot be written: ${diskRemedies[code] ?? msg`error ${code}`}.`,
      options,
    );
    this.code = code;
  }
}

/** Facts for the log; no stack for known disk errors, where it would only distract. */
function factsOf({ code, cause }: JournalUnavailable) {
  const isKnown = Object.hasOwn(diskRemedies, code) || cause instanceof JournalUnreadable;
  return isKnown ? { code, reason: cause instanceof Error ? String(cause) : null } : { code, err: cause };
}

/** Turns an error of the file system into one of the journal. */
function unavailable(directory: string, error: unknown): JournalUnavailable {
  if (error instanceof JournalUnavailable) return error;
  if (error instanceof DirectoryInUse) return new JournalUnavailable(directory, "IN_USE", { cause: error });
  return new JournalUnavailable(directory, errorCode(error) || "UNKNOWN", { cause: error });
}

interface Waiting extends Draft {
  readonly durable: Durable;
  /** 0 until the record is written. */
  seq: number;
  readonly resolve: (sequence: number) => void;
  readonly reject: (reason: JournalUnavailable) => void;
}

/** A time in which records cannot be written. */
interface Outage {
  readonly error: JournalUnavailable;
  readonly since: string;
  readonly lost: number;
  readonly triedAt: number;
}

const tryAgainMs = 1_000;
const mostPerWrite = 1_000;

interface JournalLimits extends RetentionLimits {
  /** How often to try again while the disk cannot be written. */
  readonly retryMs: number;
  /** A record that waits longer than this makes the journal unavailable. */
  readonly stallMs: number;
  /** While a record waits longer than this, no command begins. */
  readonly lateMs: number;
  /** The most records that wait for the disk; further ones are refused. */
  readonly waiting: number;
}

const day = 86_400_000;

export const journalLimits: JournalLimits = {
  fileBytes: 5 * 1024 * 1024,
  totalBytes: 50 * 1024 * 1024,
  ageMs: 90 * day,
  youngMs: day,
  retryMs: 15_000,
  stallMs: 10_000,
  lateMs: Infinity,
  waiting: 20_000,
};

/** Append-only record of everything about commands. One process at a time writes it (see lock.ts). */
export class Journal {
  readonly boot: string;
  readonly directory: string;
  /** The file system that holds it. */
  readonly files: FileSystem;
  readonly #options: JournalOptions;
  readonly #kernel: string | null;
  readonly #limits: JournalLimits;
  readonly #writer: JournalWriter;
  readonly #closed = new AbortController();
  readonly #waiting = new Set<Waiting>();
  #queue: Waiting[] = [];
  /** Records about the journal itself, which are written before any others. */
  #own: Draft[] = [];
  #outage: Outage | null = null;
  #lastError: JournalFacts["lastError"] = null;
  #retrying = false;
  #draining: Promise<void> | null = null;
  /** Resolves when everything written durably so far is on disk; rejects where that failed. */
  #synced: Promise<void> = Promise.resolve();
  #listener: ((record: JournalRecord) => void) | null = null;
  #clockSkewMs: () => number | null = () => null;
  /** The record that has waited too long. */
  #late: Waiting | null = null;
  #endWatch: (() => void) | null = null;
  #onUnread: (() => void) | null = null;
  #onWrittenAgain: (() => void) | null = null;

  private constructor(directory: string, options: JournalOptions) {
    this.directory = directory;
    this.boot = options.boot ?? randomBytes(8).toString("hex");
    this.#kernel = options.kernel ?? null;
    this.files = options.files ?? nodeFileSystem;
    this.#options = options;
    this.#limits = { ...journalLimits, ...options.limits };
    this.#writer = new JournalWriter(directory, {
      files: this.files,
      limits: this.#limits,
      log: options.log,
      admit: options.admit,
      boot: this.boot,
      isCopy: options.isCopy,
      stamp: () => this.#stamp(),
      onUnread: () => this.#onUnread?.(),
      onWrittenAgain: () => this.#onWrittenAgain?.(),
      clock: () => ({ now: options.clock.now(), trusted: clockAgrees(this.#clockSkewMs()) === true }),
    });
  }

  /**
   * Reads and repairs `directory`, and makes it where missing. Never rejects: with an unusable directory the journal is
   * unavailable, says why in `state()`, and tries again by itself.
   */
  static async open(directory: string, options: JournalOptions): Promise<Journal> {
    const journal = new Journal(directory, options);
    try {
      await journal.#recover();
    } catch (error) {
      journal.#onFailure(error, []);
    }
    return journal;
  }

  /** What earlier runs and this one have left open, up to the last readable record. */
  history(): Checkpoint {
    const { open, ...parts } = this.#writer.history.parts();
    return { ...parts, open: openAtStart(open, this.#kernel) };
  }

  /** Wall-clock time of the newest record, epoch ms; 0 without one. */
  get newestAt(): number {
    return this.#writer.history.newestAt;
  }

  isOpen(about: About, id: string): boolean {
    return this.#writer.history.isOpen(about, id);
  }

  /**
   * Whether a command is open and a record says that its checks began. From that record the next start knows whether
   * the machine went down since.
   */
  isChecked(about: About, id: string): boolean {
    return this.#kernel !== null && this.#writer.history.isChecked(about, id, this.#kernel);
  }

  /** Why this run does not know all that others wrote, until it ends; null if it does. */
  get readProblem(): Error | null {
    return this.#writer.readProblem;
  }

  /** Calls back when this run learns, later than at its start, that it does not know all records. */
  onUnread(listener: () => void): void {
    this.#onUnread = listener;
  }

  /** Calls back when the directory returned without this run's records and the journal has written them again. */
  onWrittenAgain(listener: () => void): void {
    this.#onWrittenAgain = listener;
  }

  /**
   * Makes later records say whether our clock agrees with the platform's, which is `skewMs` ahead; null while unknown.
   */
  compareClock(skewMs: () => number | null): void {
    this.#clockSkewMs = skewMs;
  }

  /** Registers the only listener, which gets each written record and must not throw. */
  onWritten(listener: (record: JournalRecord) => void): void {
    this.#listener = listener;
  }

  state(): JournalState {
    const [oldest] = this.#waiting;
    const waitedMs = oldest === undefined ? 0 : this.#options.clock.monotonic() - oldest.stamp.mono;
    const isLate = waitedMs > this.#limits.lateMs;
    const reason = (this.#hindrance() ?? (isLate ? this.#stalled() : null))?.text ?? null;
    return { available: reason === null, reason };
  }

  readonly #stalled = (): JournalUnavailable =>
    new JournalUnavailable(this.directory, this.#options.isCopy === true ? "NATS" : "STALLED");

  facts(): JournalFacts {
    return {
      ...this.state(),
      sequence: this.#writer.sequence,
      bytes: this.#writer.retention.bytes,
      unreadable: this.#writer.unreadable,
      lastError: this.#lastError,
    };
  }

  /**
   * Appends a record. Resolves to its sequence number once it is where `durable` demands. Records keep the order of the
   * calls; those of one turn share a write and an fsync. Rejects with a JournalUnavailable.
   */
  append(body: RecordBody, { durable }: { readonly durable: Durable }): Promise<number> {
    const hindrance = this.#hindrance("append");
    if (hindrance !== null) {
      if (this.#outage !== null) this.#outage = { ...this.#outage, lost: this.#outage.lost + 1 };
      return Promise.reject(hindrance);
    }
    return new Promise((resolve, reject) => {
      const entry: Waiting = {
        stamp: this.#stamp(),
        body: this.#withKernel(body),
        durable,
        seq: 0,
        resolve,
        reject,
      };
      this.#waiting.add(entry);
      this.#queue.push(entry);
      this.#watchForStall();
      this.#draining ??= this.#drain(durable !== false);
    });
  }

  /** Writes and fsyncs everything appended, then closes. Later appends are rejected. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#endWatch?.();
    while (this.#draining !== null) await this.#draining;
    await this.#writer.close();
  }

  #withKernel(body: RecordBody): RecordBody {
    const isChecking = body.type === "phase" && body.phase === "checking";
    return isChecking && this.#kernel !== null ? { ...body, kernel: this.#kernel } : body;
  }

  /**
   * Why nothing can be appended; null where it can. A failed journal is tried again by an append, but not a thousand
   * times a second. A copy is tried only at its own intervals, as that takes the servers seconds, for which nothing may
   * wait.
   */
  #hindrance(before?: "append"): JournalUnavailable | null {
    const { clock, isCopy = false } = this.#options;
    const [oldest] = this.#waiting;
    const isStalled = oldest !== undefined && this.#late === oldest;
    const isOverloaded = isStalled || this.#waiting.size >= this.#limits.waiting;
    if (this.#closed.signal.aborted) return new JournalUnavailable(this.directory, "CLOSED");
    if (this.#outage === null) return isOverloaded ? this.#stalled() : null;
    const { error, triedAt } = this.#outage;
    const isTried =
      before === "append" && !isCopy && !isOverloaded && clock.monotonic() - triedAt >= tryAgainMs;
    return isTried ? null : error;
  }

  /**
   * Watches for a disk that does not answer. It looks one turn late, so that a process that was busy or frozen first
   * hears the answers that came.
   */
  #watchForStall(): void {
    const { clock } = this.#options;
    const look = () => {
      const [oldest] = this.#waiting;
      const isLate = oldest !== undefined && clock.monotonic() - oldest.stamp.mono > this.#limits.stallMs;
      this.#late = isLate ? oldest : null;
    };
    this.#endWatch ??= clock.after(this.#limits.stallMs / 10, () => {
      this.#endWatch = null;
      clock.soon(look);
      if (this.#waiting.size > 0 && !this.#closed.signal.aborted) this.#watchForStall();
    });
  }

  #stamp(): Omit<Stamp, "seq"> {
    const { clock } = this.#options;
    return {
      at: new Date(clock.now()).toISOString(),
      mono: Math.round(clock.monotonic()),
      boot: this.boot,
      clock_synced: clockAgrees(this.#clockSkewMs()),
    };
  }

  /**
   * Writes the queue. Records that a POST or result waits for are written at once; others let requests go first. It
   * tries the disk at least once, so that a failed journal notices when it works again.
   */
  async #drain(isAwaited: boolean): Promise<void> {
    await (isAwaited ? undefined : this.#options.turn?.());
    do {
      const batch = this.#queue.splice(0, mostPerWrite);
      try {
        if (this.#outage !== null) await this.#recover();
        const outage = this.#outage;
        const own = outage === null ? this.#own : [...this.#own, this.#resumption(outage)];
        const { sequences, file } = await this.#writer.write([...own, ...batch]);
        if (outage !== null) {
          await file.sync();
          this.#outage = null;
          this.#options.log.info({ directory: this.directory }, "the journal can be written again");
        }
        this.#own = [];
        for (const [index, entry] of batch.entries()) entry.seq = sequences[own.length + index] ?? 0;
        void this.#answer(batch, file);
      } catch (error) {
        this.#onFailure(error, batch);
      }
    } while (this.#queue.length > 0);
    this.#draining = null;
  }

  /** Resolves written records: those without durability at once, others when they, or all before them, are on disk. */
  async #answer(batch: readonly Waiting[], file: Written["file"]): Promise<void> {
    const awaited: Waiting[] = [];
    for (const entry of batch)
      if (entry.durable !== false) awaited.push(entry);
      else this.#resolve(entry);
    if (awaited.length === 0) return;
    // After lost records it is unknown whether earlier ones are on disk.
    if (awaited.some(({ durable }) => durable === true || this.#lastError !== null))
      this.#synced = Promise.all([this.#synced, file.sync()]).then(() => undefined);
    try {
      await this.#synced;
    } catch (error) {
      this.#onFailure(error, awaited);
      return;
    }
    for (const entry of awaited) this.#resolve(entry);
  }

  #resolve(entry: Waiting): void {
    const { stamp, body, seq, resolve } = entry;
    if (!this.#waiting.delete(entry)) return;
    resolve(seq);
    this.#listener?.({ ...stamp, seq, ...body });
  }

  async #recover(): Promise<void> {
    const damage = await this.#writer.recover();
    if (!damage || this.#own.length > 0) return;
    // A line torn by our own failed write is part of the outage and is reported with it.
    if (this.#outage !== null && damage.unreadable + damage.corrupt_files.length === 0) return;
    this.#options.log.warn(damage, "the journal was damaged; what could be read is kept");
    this.#own = [{ stamp: this.#stamp(), body: damage }];
  }

  #resumption({ error, since, lost }: Outage): Draft {
    return { stamp: this.#stamp(), body: { type: "journal_resumed", reason: error.message, since, lost } };
  }

  #onFailure(cause: unknown, batch: readonly Waiting[]): void {
    const { clock, log } = this.#options;
    const error = unavailable(this.directory, cause);
    const before = this.#outage;
    const { at } = this.#stamp();
    for (const entry of batch) {
      this.#waiting.delete(entry);
      entry.reject(error);
    }
    this.#lastError = { code: error.code, message: error.message, at };
    this.#synced = Promise.resolve();
    const lost = (before?.lost ?? 0) + batch.length;
    this.#outage = { error, since: before?.since ?? at, lost, triedAt: clock.monotonic() };
    if (before?.error.code !== error.code)
      log.error(factsOf(error), `${error.message} Until it can, no commands are taken.`);
    if (!this.#retrying) void this.#retry();
  }

  async #retry(): Promise<void> {
    this.#retrying = true;
    try {
      while (this.#outage !== null) {
        await this.#options.clock.wait(this.#limits.retryMs, this.#closed.signal);
        this.#draining ??= this.#drain(true);
        await this.#draining;
      }
    } catch {
      // The journal was closed during the wait, so there is nothing left to try.
    } finally {
      this.#retrying = false;
    }
  }
}

export interface JournalOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits?: Partial<JournalLimits>;
  /** Random id of this run; made if absent. */
  readonly boot?: string;
  /**
   * The kernel's id of this boot, during which the files keep what was written. Null where they do not, or there is no
   * id.
   */
  readonly kernel?: string | null;
  readonly files?: FileSystem;
  /**
   * Called before files are first changed and after every failure. Rejects while they must not be changed, with
   * DirectoryInUse where another process changes them.
   */
  readonly admit?: () => Promise<void>;
  /** Whether the files are a copy of an original elsewhere, so that what they lack was never promised. */
  readonly isCopy?: boolean;
  /** Resolves when records without durability may be written; by default at the end of the current task. */
  readonly turn?: () => Promise<void>;
}

interface JournalState {
  readonly available: boolean;
  /** A sentence with the remedy; null while available. */
  readonly reason: Text | null;
}

interface JournalFacts extends JournalState {
  /** Number of the newest record. */
  readonly sequence: number;
  readonly bytes: number;
  /** Broken lines found when the files were last read. */
  readonly unreadable: number;
  /** The newest failure, even after it is over. */
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null;
}
