import { ignored } from "../runtime/failures.js";
import { basename, join } from "node:path";
import type { FileSystem } from "../runtime/file-system.js";
import { isSegmentName } from "../journal/segments.js";
import { writeCopy } from "./replica-position.js";
import type { AccountStream, StreamEntry } from "./ports.js";
import type { ClusterMetrics } from "./metrics.js";
import { replicate } from "./replicated-files.js";
import {
  chunkBytes,
  chunksOf,
  type Content,
  contentOf,
  goOnWith,
  type Import,
  importSubject,
  readWhole,
  replaceIfOther,
  segmentOf,
  writeSegments,
} from "./stream-content.js";

/*
 * The journal is written to files as ever, and what is done to a file is an entry of the stream: bytes appended, cut off, replaced.
 * What is durable is acknowledged by the stream, which takes the place of the disk. A new owner makes the files anew from the
 * stream and reads them as every start does, so that there is one set of rules.
 */

const troubles = {
  NATS: "the stream of the journal does not acknowledge",
  NOT_OWNER: "another member has written to the journal",
  STREAM_SHORTER:
    "the NATS servers have lost what they acknowledged: the stream of the journal is shorter than it was",
  PARTIAL: "the stream has but a part of a journal, whose import was broken off",
} as const;

/** `code`: NATS while it does not acknowledge, or has forgotten; NOT_OWNER once somebody else has written. */
export class StreamTrouble extends Error {
  override name = "StreamTrouble" as const;
  readonly code: "NATS" | "NOT_OWNER";

  constructor(what: keyof typeof troubles, options?: { cause?: unknown }) {
    super(troubles[what], options);
    this.code = what === "NOT_OWNER" ? what : "NATS";
  }
}

const fenceSubject = "fence";
const fileSubject = (name: string): string => `file.${name}`;
const noteSubject = (name: string): string => `note.${name}`;
const mostFences = 20;
const fenceAgainMs = 200;

interface StorePorts {
  readonly stream: AccountStream;
  readonly files: FileSystem;
  /** Where the files of the journal are. */
  readonly directory: string;
  /** Where small files are that go with it, and their names. */
  readonly dataDir: string;
  readonly notes: readonly string[];
  /** Of this run of the program, and of this time of owning. */
  readonly run: string;
  /** What the fencing record says of who writes it. */
  readonly about: () => string;
  readonly wait: (ms: number) => Promise<void>;
  /** Of the accounts of a process few are read whole at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** It is there to import a journal, and may find a part of one. */
  readonly isToImport: boolean;
  readonly monotonic: () => number;
  readonly metrics: Pick<ClusterMetrics, "onAppend" | "onNotAppended">;
  /** Whether the account is this member's at this moment. */
  readonly isConfirmed: () => boolean;
  /** Called when somebody else has written, or what stands there is but a part of a journal. */
  readonly onLost: () => void;
}

/** An entry that waits for its turn. */
interface Queued extends Pick<StreamEntry, "subject" | "operation" | "data"> {
  readonly resolve: (number: number) => void;
  readonly reject: (reason: StreamTrouble) => void;
}

/** The next entry of a queue: what is appended to one file goes together, as long as it is not too much. */
function nextOf(queue: Queued[]) {
  const [first] = queue;
  if (first === undefined) throw new Error("there is no entry to be sent");
  const { subject, operation } = first;
  let bytes = 0;
  const end = queue.findIndex((one, at) => {
    bytes += one.data.length;
    return (
      at > 0 && (operation !== "" || one.operation !== "" || one.subject !== subject || bytes > chunkBytes)
    );
  });
  const waiting = queue.splice(0, end < 0 ? queue.length : end);
  return { subject, operation, data: Buffer.concat(waiting.map(({ data }) => data)), waiting };
}

/** The journal of an account as this member has it while it owns the account. */
export class StreamStore {
  readonly files: FileSystem;
  readonly #ports: StorePorts;
  /** The newest entry that is known to be ours, and everything before it known; null before the first fence. */
  #known: number | null = null;
  /** What follows is refused until a fence stands behind all that is under way. */
  #isBroken = true;
  #isLost = false;
  /** The newest entry that is known is not in the stream. */
  #isShorter = false;
  /** Of the stream, as in its state. */
  #created = "";
  #imported: Import = "none";
  /** Of the files, as the stream has them at what is known. */
  #lengths: Map<string, number> = new Map();
  /** What was done to a file here other than appending to it, and is not known to have been done there. */
  readonly #rewrites = new Set<symbol>();
  /** Small files as the stream has them. */
  readonly #notes = new Map<string, Buffer>();
  /** The last that is to be done to each of them there. */
  readonly #noting = new Map<string, Promise<void>>();
  /** The newest entry of which it is written down that the files here have it. */
  #copiedUpTo = 0;
  /** The files were made anew so often; those opened before are not written to any more. */
  #generation = 0;
  #settling: Promise<void> | null = null;
  /** Of files here, under way. */
  readonly #changes = new Set<Promise<unknown>>();
  readonly #queue: Queued[] = [];
  #isSending = false;

  constructor(ports: StorePorts) {
    this.#ports = ports;
    this.files = replicate(ports.files, {
      isOurs: (path) => isSegmentName(basename(path)),
      generation: () => this.#generation,
      change: (work) => this.#change(work),
      rewrite: (work) => this.#rewrite(work),
      append: (path, bytes) => this.#appendChunks(fileSubject(basename(path)), bytes),
      truncate: (path, bytes) => this.#append(fileSubject(basename(path)), `truncate ${bytes}`),
      replace: (path, bytes) => this.#replace(fileSubject(basename(path)), bytes),
      drop: (path) => this.#drop(fileSubject(basename(path))),
    });
  }

  /** How far an import is that was found there. */
  get imported(): Import {
    return this.#imported;
  }

  /** A sentence where the servers have lost records that they had acknowledged; null otherwise. */
  get problem(): string | null {
    return this.#isShorter
      ? `${troubles.STREAM_SHORTER}. This member still has those records in its data directory and takes no commands. Go by the runbook in docs/cluster.md.`
      : null;
  }

  /**
   * Makes sure that nobody else can write any more, then makes the files what the stream says. Does nothing where that holds
   * already. Rejects with StreamTrouble.
   */
  admit(): Promise<void> {
    if (!this.#isBroken) return Promise.resolve();
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = null;
    });
    return this.#settling;
  }

  /** Puts a fence behind all that others may still write: after the account was claimed anew. */
  async fence(): Promise<void> {
    if (this.#isBroken) await this.admit();
    else await this.#append(fenceSubject, "", Buffer.from(this.#ports.about()));
  }

  /** Keeps this as a small file, or the file as gone with null; resolves once the stream has it. */
  keepNote(name: string, content: Uint8Array | null): Promise<void> {
    return this.#note(name, () => this.#keep(name, content));
  }

  /** Keeps a small file as it is when its turn comes: what somebody writes meanwhile is newer than what was read before. */
  keepNoteFile(name: string): Promise<void> {
    const { files, dataDir } = this.#ports;
    return this.#note(name, async () => {
      const content = await readWhole(files, join(dataDir, name));
      if (content !== null) await this.#keep(name, content);
    });
  }

  /** One after the other for each file. */
  #note(name: string, keep: () => Promise<void>): Promise<void> {
    const noting = (this.#noting.get(name) ?? Promise.resolve()).then(keep, keep);
    this.#noting.set(name, noting);
    return noting;
  }

  async #keep(name: string, content: Uint8Array | null): Promise<void> {
    if (content === null) {
      this.#notes.delete(name);
      await this.#drop(noteSubject(name));
      return;
    }
    const text = Buffer.from(content);
    if (this.#notes.get(name)?.equals(text) === true) return;
    this.#notes.delete(name);
    await this.#replace(noteSubject(name), content);
    this.#notes.set(name, text);
  }

  /** Says there how far an import is. */
  async keepImport(how: Exclude<Import, "none">): Promise<void> {
    await this.#append(importSubject, how);
    this.#imported = how;
  }

  /** Writes down up to which entry the files here are a copy. */
  async keepCopy(): Promise<void> {
    const { files, dataDir } = this.#ports;
    const last = this.#known ?? 0;
    if (this.#isBroken || last === this.#copiedUpTo) return;
    await writeCopy(files, dataDir, { created: this.#created, last });
    this.#copiedUpTo = last;
  }

  async #settle(): Promise<void> {
    this.#break(new StreamTrouble("NATS"));
    this.#generation += 1;
    try {
      const fence = await this.#fenceBehindAll();
      await Promise.allSettled(this.#changes);
      if (!(await this.#goOn(fence))) await this.#ports.inTurn(() => this.#readWhole(fence));
      this.#known = fence;
      this.#isBroken = false;
    } catch (error) {
      throw error instanceof StreamTrouble ? error : new StreamTrouble("NATS", { cause: error });
    }
  }

  async #fenceBehindAll(): Promise<number> {
    const { stream, run, about, wait, isConfirmed } = this.#ports;
    for (let tries = 0; tries < mostFences; tries += 1) {
      const { last, created } = await stream.state();
      // Whoever slept here must not get in the way of the one that has the account now.
      if (!isConfirmed()) break;
      await this.#checkOurs(last);
      // The files here have what the stream does not have any more: nothing is put behind it, and nothing here is cut off.
      this.#isShorter = this.#known !== null && (last < this.#known || created !== this.#created);
      if (this.#isShorter) throw new StreamTrouble("STREAM_SHORTER");
      const fence = await stream.append(
        { subject: fenceSubject, operation: "", run, data: Buffer.from(about()) },
        last,
      );
      if (fence !== null) {
        this.#created = created;
        return fence;
      }
      await wait(fenceAgainMs);
    }
    throw new StreamTrouble("NATS");
  }

  /** None begins while the files are made anew. */
  async #change<T>(work: () => Promise<T>): Promise<T> {
    this.#check();
    const change = work();
    this.#changes.add(change);
    try {
      return await change;
    } finally {
      this.#changes.delete(change);
    }
  }

  async #rewrite<T>(work: () => Promise<T>): Promise<T> {
    const rewrite = Symbol("a rewrite");
    this.#rewrites.add(rewrite);
    const result = await work();
    this.#rewrites.delete(rewrite);
    return result;
  }

  #check(): void {
    if (this.#isBroken) throw new StreamTrouble(this.#isLost ? "NOT_OWNER" : "NATS");
  }

  /** What came behind what is known was written by us, or the account is another's. */
  async #checkOurs(last: number): Promise<void> {
    const { stream, run, onLost } = this.#ports;
    if (this.#known !== null && !this.#isLost)
      for await (const entry of stream.read(this.#known + 1, last))
        if (entry.run !== run) this.#isLost = true;
    if (!this.#isLost) return;
    onLost();
    throw new StreamTrouble("NOT_OWNER");
  }

  /** What others wrote behind what was known shows now, also where a server was behind before. */
  async *#through(fence: number, from = 1): AsyncGenerator<StreamEntry> {
    const { stream, run, onLost } = this.#ports;
    let seen = 0;
    for await (const entry of stream.read(from, fence)) {
      seen = entry.number;
      if (this.#known !== null && seen > this.#known && entry.run !== run) {
        this.#isLost = true;
        onLost();
        throw new StreamTrouble("NOT_OWNER");
      }
      yield entry;
    }
    if (seen !== fence) throw new StreamTrouble("NATS");
  }

  /**
   * After an outage that nobody else used only what came behind what is known is read; false where that does not make the files what
   * they are to be.
   */
  async #goOn(fence: number): Promise<boolean> {
    const { files, directory } = this.#ports;
    if (this.#known === null || this.#rewrites.size > 0) return false;
    const came = new Map<string, Uint8Array[]>();
    for await (const entry of this.#through(fence, this.#known + 1)) {
      const name = segmentOf(entry);
      if (name === null) continue;
      if (entry.operation !== "") return false;
      came.set(name, [...(came.get(name) ?? []), entry.data]);
    }
    if (!(await goOnWith(files, directory, this.#lengths, came))) return false;
    for (const [name, chunks] of came)
      this.#lengths.set(
        name,
        chunks.reduce((sum, { length }) => sum + length, this.#lengths.get(name) ?? 0),
      );
    return true;
  }

  async #readWhole(fence: number): Promise<void> {
    const content = await contentOf(this.#through(fence));
    await this.#restore(content);
    this.#imported = content.imported;
    this.#lengths = new Map([...content.files].map(([name, { length }]) => [name, length]));
    this.#rewrites.clear();
  }

  async #restore({ files: content, notes, imported }: Content): Promise<void> {
    const { files, directory, dataDir, notes: names, isToImport, onLost } = this.#ports;
    if (imported === "begun" && !isToImport) {
      onLost();
      throw new StreamTrouble("PARTIAL");
    }
    await files.makeDirectory(directory, 0o700);
    await writeSegments(files, directory, content);
    // Later the fence has shown that nobody else wrote them, and those here are as new or newer.
    if (this.#known !== null) return;
    for (const name of names) {
      const note = notes.get(name);
      const path = join(dataDir, name);
      if (note !== undefined) await replaceIfOther(files, path, note, 0o600);
      else await files.remove(path).catch(ignored);
    }
  }

  /** The entry's number, once it is acknowledged. */
  #append(subject: string, operation: string, data: Uint8Array = Buffer.alloc(0)): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#check();
      this.#queue.push({ subject, operation, data, resolve, reject });
      void this.#send();
    });
  }

  /**
   * One after the other, each behind the one that was acknowledged before it: of two under way the second could find its place behind
   * an entry of somebody else that took the first one's.
   */
  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#queue.length > 0) await this.#sendOne(nextOf(this.#queue));
    this.#isSending = false;
  }

  async #sendOne({ subject, operation, data, waiting }: ReturnType<typeof nextOf>): Promise<void> {
    const { stream, run, monotonic, metrics } = this.#ports;
    const generation = this.#generation;
    const from = monotonic();
    try {
      const number = await stream.append({ subject, operation, run, data }, this.#known ?? 0);
      // Somebody else writes to it, or an entry whose answer was lost has been kept.
      if (number === null || generation !== this.#generation) throw new StreamTrouble("NATS");
      this.#known = number;
      this.#onAcknowledged({ subject, operation, data });
      metrics.onAppend(monotonic() - from);
      for (const { resolve } of waiting) resolve(number);
    } catch (error) {
      const trouble = error instanceof StreamTrouble ? error : new StreamTrouble("NATS", { cause: error });
      metrics.onNotAppended();
      for (const { reject } of waiting) reject(trouble);
      if (generation === this.#generation) this.#break(trouble);
    }
  }

  #onAcknowledged(entry: Pick<StreamEntry, "subject" | "operation" | "data">): void {
    const name = segmentOf(entry);
    const [, cut] = /^truncate (\d+)$/.exec(entry.operation) ?? [];
    if (name === null) return;
    if (cut !== undefined) this.#lengths.set(name, Number(cut));
    else if (entry.operation === "")
      this.#lengths.set(name, (this.#lengths.get(name) ?? 0) + entry.data.length);
  }

  #break(trouble: StreamTrouble): void {
    this.#isBroken = true;
    for (const { reject } of this.#queue.splice(0)) reject(trouble);
  }

  #appendChunks(subject: string, bytes: Uint8Array): Promise<unknown> {
    return Promise.all(chunksOf(bytes).map((chunk) => this.#append(subject, "", chunk)));
  }

  /** What there was of it goes once all of the new is kept. */
  async #replace(subject: string, bytes: Uint8Array): Promise<void> {
    const chunks = chunksOf(bytes);
    const numbers = await Promise.all(
      chunks.map((chunk, at) => this.#append(subject, `part ${at + 1}/${chunks.length}`, chunk)),
    );
    const name = segmentOf({ subject });
    if (name !== null) this.#lengths.set(name, bytes.length);
    await this.#ports.stream.purge(subject, Math.min(...numbers));
  }

  async #drop(subject: string): Promise<void> {
    this.#check();
    const name = segmentOf({ subject });
    if (name !== null) this.#lengths.delete(name);
    // Not what comes later under that name, where the answer to it is lost.
    await this.#ports.stream.purge(subject, (this.#known ?? 0) + 1);
  }
}
