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
 * The journal is written to files as usual, and each change of a file is an entry of the stream: bytes appended, cut
 * off, or replaced. The stream takes the place of the disk: what it acknowledges is durable. A new owner makes the
 * files anew from the stream and reads them like every start, so one set of rules holds.
 */

const troubles = {
  NATS: "the stream of the journal does not acknowledge",
  NOT_OWNER: "another member has written to the journal",
  STREAM_SHORTER:
    "the NATS servers have lost what they acknowledged: the stream of the journal is shorter than it was",
  PARTIAL: "the stream has but a part of a journal, whose import was broken off",
} as const;

/** `code`: NATS if the stream does not acknowledge, or has lost entries; NOT_OWNER once somebody else has written. */
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
  /** The folder of the journal's files. */
  readonly directory: string;
  /** The folder of the small files, and their names. */
  readonly dataDir: string;
  readonly notes: readonly string[];
  /** Identifies this run of the program and this claim of the account. */
  readonly run: string;
  /** What the fencing record says about its writer. */
  readonly about: () => string;
  readonly wait: (ms: number) => Promise<void>;
  /** Limits how many accounts of a process are read whole at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The store is for an import, and may find a part of a journal. */
  readonly isToImport: boolean;
  readonly monotonic: () => number;
  readonly metrics: Pick<ClusterMetrics, "onAppend" | "onNotAppended">;
  /** Whether this member owns the account at this moment. */
  readonly isConfirmed: () => boolean;
  /** Called when somebody else has written, or the stream has only a part of a journal. */
  readonly onLost: () => void;
}

/** An entry that waits for its turn. */
interface Queued extends Pick<StreamEntry, "subject" | "operation" | "data"> {
  readonly resolve: (number: number) => void;
  readonly reject: (reason: StreamTrouble) => void;
}

/** Takes the next entry from a queue. Bytes appended to one file go together, up to `chunkBytes`. */
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

/** The journal of an account while this member owns it. */
export class StreamStore {
  readonly files: FileSystem;
  readonly #ports: StorePorts;
  /** The newest entry known to be ours, with all entries before it; null before the first fence. */
  #known: number | null = null;
  /** Changes are refused until a fence stands behind all that is under way. */
  #isBroken = true;
  #isLost = false;
  /** The stream lacks the newest known entry. */
  #isShorter = false;
  /** When the stream was made, as in its state. */
  #created = "";
  #imported: Import = "none";
  /** Lengths of the files in the stream, up to the newest known entry. */
  #lengths: Map<string, number> = new Map();
  /** Changes other than appends that were made here and perhaps not in the stream. */
  readonly #rewrites = new Set<symbol>();
  /** Small files as the stream has them. */
  readonly #notes = new Map<string, Buffer>();
  /** The last change of each small file that the stream is to get. */
  readonly #noting = new Map<string, Promise<void>>();
  /** The newest entry that is recorded as copied to the files here. */
  #copiedUpTo = 0;
  /** How often the files were made anew; those opened before are not written any more. */
  #generation = 0;
  #settling: Promise<void> | null = null;
  /** Changes of files here that are under way. */
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

  /** How far an import had come when it was found in the stream. */
  get imported(): Import {
    return this.#imported;
  }

  /** Says that the servers have lost acknowledged records; null otherwise. */
  get problem(): string | null {
    return this.#isShorter
      ? `${troubles.STREAM_SHORTER}. This member still has those records in its data directory and takes no commands. Go by the runbook in docs/cluster.md.`
      : null;
  }

  /**
   * Makes sure that nobody else can write any more, then makes the files what the stream says. Does nothing if both
   * hold already. Rejects with StreamTrouble.
   */
  admit(): Promise<void> {
    if (!this.#isBroken) return Promise.resolve();
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = null;
    });
    return this.#settling;
  }

  /** Puts a fence behind all that others may still write, after the account was claimed anew. */
  async fence(): Promise<void> {
    if (this.#isBroken) await this.admit();
    else await this.#append(fenceSubject, "", Buffer.from(this.#ports.about()));
  }

  /** Keeps a small file in the stream, or removes it for null; resolves once the stream has it. */
  keepNote(name: string, content: Uint8Array | null): Promise<void> {
    return this.#note(name, () => this.#keep(name, content));
  }

  /** Keeps a small file as it is when its turn comes, since it may have changed while it waited. */
  keepNoteFile(name: string): Promise<void> {
    const { files, dataDir } = this.#ports;
    return this.#note(name, async () => {
      const content = await readWhole(files, join(dataDir, name));
      if (content !== null) await this.#keep(name, content);
    });
  }

  /** Changes of one file are made in turn. */
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

  /** Writes into the stream how far an import is. */
  async keepImport(how: Exclude<Import, "none">): Promise<void> {
    await this.#append(importSubject, how);
    this.#imported = how;
  }

  /** Records up to which entry the files here are a copy. */
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
      // A member that slept here must not get in the way of the new owner.
      if (!isConfirmed()) break;
      await this.#checkOurs(last);
      // The files here have entries that the stream has lost: nothing is appended to it, and nothing here is cut off.
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

  /** No change begins while the files are made anew. */
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

  /** We wrote the entries behind the known ones, or the account is another member's. */
  async #checkOurs(last: number): Promise<void> {
    const { stream, run, onLost } = this.#ports;
    if (this.#known !== null && !this.#isLost)
      for await (const entry of stream.read(this.#known + 1, last))
        if (entry.run !== run) this.#isLost = true;
    if (!this.#isLost) return;
    onLost();
    throw new StreamTrouble("NOT_OWNER");
  }

  /** Reads up to the fence. Entries that others wrote show now, even if a server was behind before. */
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
   * After an outage that nobody else used, reads only the entries behind the known ones; false if that does not bring
   * the files up to date.
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
    // Later the fence has shown that nobody else wrote small files, and those here are as new or newer.
    if (this.#known !== null) return;
    for (const name of names) {
      const note = notes.get(name);
      const path = join(dataDir, name);
      if (note !== undefined) await replaceIfOther(files, path, note, 0o600);
      else await files.remove(path).catch(ignored);
    }
  }

  /** Resolves with the entry's number once it is acknowledged. */
  #append(subject: string, operation: string, data: Uint8Array = Buffer.alloc(0)): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#check();
      this.#queue.push({ subject, operation, data, resolve, reject });
      void this.#send();
    });
  }

  /**
   * Sends one at a time, each behind the last acknowledged entry. With two under way, somebody else's entry could take
   * the place of the first, and the second would fit behind that.
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
      // Somebody else has written, or an entry whose answer was lost was kept.
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

  /** Removes what was there before, once all of the new is kept. */
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
    // Purges no later entries of that name, even if the answer is lost.
    await this.#ports.stream.purge(subject, (this.#known ?? 0) + 1);
  }
}
