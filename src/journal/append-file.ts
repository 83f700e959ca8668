import { type FileFacts, type FileSystem, type OpenFile, writeFully } from "../runtime/file-system.js";
import { segmentMode, type SegmentName } from "./segments.js";

/** The file being written. After one failed write or fsync it takes nothing more: what it holds is then unknown. */
export class AppendFile {
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

  static async open(files: FileSystem, name: SegmentName): Promise<AppendFile> {
    const file = await files.open(name.path, "a", segmentMode);
    return new AppendFile(name, file, await file.facts());
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
