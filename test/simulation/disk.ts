import type { Clock } from "../../src/runtime/clock.js";
import type { FileFacts, FileSystem, OpenFile } from "../../src/runtime/file-system.js";
import type { Chance } from "./scenario.js";
import type { VirtualTime } from "../support/virtual-clock.js";
import type { WallClock } from "./time.js";

interface StoredFile {
  readonly number: number;
  bytes: Buffer;
  length: number;
  /** Bytes from the start of the file that would survive a power cut. */
  syncedLength: number;
  modifiedAt: number;
  /** Lengths that the kernel has begun to write by itself, with the time when that is done. */
  readonly flushes: { readonly length: number; readonly at: number }[];
  isNameSynced: boolean;
  /** When the kernel will have written the name by itself. */
  readonly nameFlushedAt: number;
}

/** A command record, a takeover or a result that was found in written bytes. */
interface Mark {
  readonly file: StoredFile;
  readonly end: number;
  readonly key: string;
}

/** Linux writes dirty pages after half a minute at the latest. */
const kernelFlushMs = 30_000;

const trouble = (code: string): Error => Object.assign(new Error(`${code}: simulated disk`), { code });

const markPattern = /"type":"(command_taken|result|refusal)".*?"by":"(r\d+)"/;

const groupPattern = /"type":"group_taken".*?"by":"(g\d+)"/;

const leasePattern =
  /"type":"(?:lane|phase|step_sent|step_answered|read_back)".*?"lease":\{"id":"[^"]*","by":"(r\d+)"/;

const phasePattern = /"type":"phase".*?"id":"([^"]+)".*?"phase":"(sending|checking)"/;

const stepPattern = /"type":"step_sent".*?"id":"([^"]+)"/;

/** The directory's place on a simulated disk: a real one would take the machine's own time. */
export const alwaysThere = { claim: () => Promise.resolve(), settle: () => Promise.resolve() };

/**
 * The disk under the journal. It outlives the programs that use it, and knows what would survive a power cut. `written`
 * and `durable` hold `command_taken r12`, `took_over r12`, `lease r12`, `result r12` and `refusal r12` for records in
 * its bytes; `written` also `sending`, `checking` and `step_sent` with each command's id.
 */
export class SimulatedDisk {
  readonly written = new Set<string>();
  readonly durable = new Set<string>();
  /** While set, writing fails. */
  full = false;
  /** Probability of one fsync failing. */
  syncFailure = 0;
  /** While set, the directory is away: open files stay open, but no name leads to a file. */
  gone = false;
  /** The number of ends of the machine itself. */
  powerCuts = 0;
  readonly #files = new Map<string, StoredFile>();
  readonly #time: VirtualTime;
  readonly #wall: WallClock;
  readonly #chance: Chance;
  #marks: Mark[] = [];
  #count = 0;

  constructor(time: VirtualTime, wall: WallClock, chance: Chance) {
    this.#time = time;
    this.#wall = wall;
    this.#chance = chance;
  }

  /** The file system for one run of the program; dead once that run is. */
  mount(clock: Clock): FileSystem {
    return {
      open: (path, flags) => this.#open(path, flags, clock),
      list: (directory) => Promise.resolve(this.#list(directory)),
      facts: (path) => this.#with(path, (file) => factsOf(file)),
      makeDirectory: () => (this.gone ? Promise.reject(trouble("ENOENT")) : Promise.resolve(false)),
      rename: async (from, to) => {
        const file = await this.#with(from, (found) => found);
        this.#files.delete(from);
        this.#files.set(to, file);
      },
      remove: (path) =>
        this.#with(path, () => {
          this.#files.delete(path);
        }),
      syncDirectory: async () => {
        await clock.wait(this.#chance.logUniform(0.5, 20));
        // In this world all files are in one directory.
        for (const file of this.#files.values()) {
          file.isNameSynced = true;
          this.#synced(file, file.syncedLength);
        }
      },
    };
  }

  /** If only the program dies, everything written is kept; a power cut keeps what was synced and tears the rest. */
  crash(isPowerCut: boolean): { readonly torn: boolean } {
    if (!isPowerCut) return { torn: false };
    this.powerCuts += 1;
    let torn = false;
    for (const [path, file] of this.#files) {
      if (!this.#hasLastingName(file)) {
        this.#files.delete(path);
        this.#lose(file, 0);
        continue;
      }
      const flushed = file.flushes.findLast(({ at }) => at <= this.#time.now)?.length ?? 0;
      this.#synced(file, flushed);
      file.flushes.length = 0;
      const unsynced = file.length - file.syncedLength;
      if (unsynced === 0) continue;
      const kept = file.syncedLength + (this.#chance.hits(0.4) ? 0 : this.#chance.whole(0, unsynced));
      torn ||= kept > file.syncedLength && file.bytes[kept - 1] !== 0x0a;
      if (this.#chance.hits(0.2)) file.bytes.fill(0, Math.max(file.syncedLength, kept - 20), kept);
      this.#lose(file, kept);
      file.length = kept;
      file.syncedLength = kept;
    }
    return { torn };
  }

  #lose(file: StoredFile, from: number): void {
    const lost = this.#marks.filter((mark) => mark.file === file && mark.end > from);
    for (const { key } of lost) this.written.delete(key);
    this.#marks = this.#marks.filter((mark) => mark.file !== file);
  }

  #takeBack(file: StoredFile, length: number): void {
    const isGone = (mark: Mark) => mark.file === file && mark.end > length;
    for (const { key } of this.#marks.filter(isGone)) this.written.delete(key);
    this.#marks = this.#marks.filter((mark) => !isGone(mark));
  }

  #list(directory: string): readonly string[] {
    if (this.gone) return [];
    return [...this.#files.keys()].flatMap((path) =>
      path.startsWith(`${directory}/`) ? [path.slice(directory.length + 1)] : [],
    );
  }

  #with<T>(path: string, use: (file: StoredFile) => T): Promise<T> {
    const file = this.gone ? undefined : this.#files.get(path);
    return file ? Promise.resolve(use(file)) : Promise.reject(trouble("ENOENT"));
  }

  async #open(path: string, flags: "r" | "a" | "wx", clock: Clock): Promise<OpenFile> {
    await Promise.resolve();
    if (this.gone) throw trouble("ENOENT");
    let file = this.#files.get(path);
    if (file === undefined) {
      if (flags === "r") throw trouble("ENOENT");
      if (this.full) throw trouble("ENOSPC");
      this.#count += 1;
      file = {
        number: this.#count,
        bytes: Buffer.alloc(64 * 1024),
        length: 0,
        syncedLength: 0,
        modifiedAt: this.#wall.now(),
        flushes: [],
        isNameSynced: false,
        nameFlushedAt: this.#time.now + kernelFlushMs,
      };
      this.#files.set(path, file);
    } else if (flags === "wx") throw trouble("EEXIST");
    return this.#opened(file, clock);
  }

  #opened(file: StoredFile, clock: Clock): OpenFile {
    const sync = async () => {
      const length = file.length;
      await clock.wait(
        this.#chance.hits(0.01) ? this.#chance.logUniform(50, 3_000) : this.#chance.between(1, 25),
      );
      if (this.#chance.hits(this.syncFailure)) throw trouble("EIO");
      this.#synced(file, length);
    };
    return {
      write: (bytes) => this.#write(file, bytes),
      read: (into, position) => {
        const part = file.bytes.subarray(position, Math.min(file.length, position + into.length));
        into.set(part);
        return Promise.resolve(part.length);
      },
      truncate: (length) => {
        // A program takes back a partial write; no later start will find it.
        this.#takeBack(file, length);
        file.length = Math.min(file.length, length);
        file.syncedLength = Math.min(file.syncedLength, length);
        return Promise.resolve();
      },
      datasync: sync,
      sync,
      chmod: () => Promise.resolve(),
      facts: () => factsOf(file),
      close: () => Promise.resolve(),
    };
  }

  async #write(file: StoredFile, bytes: Uint8Array): Promise<void> {
    await Promise.resolve();
    const fitting = this.full ? this.#chance.whole(0, bytes.length - 1) : bytes.length;
    if (file.bytes.length < file.length + fitting) {
      const larger = Buffer.alloc(2 * (file.length + fitting));
      file.bytes.copy(larger, 0, 0, file.length);
      file.bytes = larger;
    }
    file.bytes.set(bytes.subarray(0, fitting), file.length);
    const from = file.length;
    file.length += fitting;
    file.modifiedAt = this.#wall.now();
    file.flushes.push({ length: file.length, at: this.#time.now + kernelFlushMs });
    if (file.flushes.length > 2_000) file.flushes.splice(0, 1_000);
    // Whole lines of an interrupted write exist as well.
    this.#note(file, from);
    if (this.full) throw trouble("ENOSPC");
  }

  /** Notes records in written bytes; the journal writes whole lines. */
  #note(file: StoredFile, from: number): void {
    for (let start = from; start < file.length;) {
      const end = file.bytes.indexOf(0x0a, start) + 1;
      if (end <= start || end > file.length) return;
      const line = file.bytes.toString("latin1", start, end);
      const [, id = "", phase = ""] = phasePattern.exec(line) ?? [];
      if (phase !== "") this.written.add(`${phase} ${id}`);
      const sent = stepPattern.exec(line)?.[1];
      if (sent !== undefined) this.written.add(`step_sent ${sent}`);
      const found = markPattern.exec(line);
      const leased = leasePattern.exec(line)?.[1];
      if (leased !== undefined) this.#marks.push({ file, end, key: `lease ${leased}` });
      start = end;
      const group = groupPattern.exec(line)?.[1];
      if (group !== undefined) {
        this.written.add(`group_taken ${group}`);
        this.#marks.push({ file, end, key: `group_taken ${group}` });
      }
      // A new file begins with the open commands of older ones.
      for (const by of carriedOpen(line)) this.#marks.push({ file, end, key: `command_taken ${by}` });
      if (found === null) continue;
      const [, type = "", by = ""] = found;
      for (const name of line.includes('"took_over":') ? [type, "took_over"] : [type]) {
        const key = `${name} ${by}`;
        this.written.add(key);
        this.#marks.push({ file, end, key });
      }
    }
  }

  #hasLastingName({ isNameSynced, nameFlushedAt }: StoredFile): boolean {
    return isNameSynced || this.#time.now >= nameFlushedAt;
  }

  #synced(file: StoredFile, length: number): void {
    file.syncedLength = Math.max(file.syncedLength, Math.min(length, file.length));
    // Without its name nobody finds the file.
    if (this.gone || !this.#hasLastingName(file)) return;
    this.#marks = this.#marks.filter((mark) => {
      if (mark.file !== file || mark.end > file.syncedLength) return true;
      this.durable.add(mark.key);
      return false;
    });
  }
}

/** Senders of the open commands in a file's first line. */
function carriedOpen(line: string): readonly string[] {
  if (!line.includes('"type":"carried"')) return [];
  const open = line.slice(line.indexOf('"open":['), line.indexOf('"starts":['));
  return [...open.matchAll(/"by":"(r\d+)"/g)].flatMap(([, by]) => by ?? []);
}

const factsOf = (file: StoredFile): FileFacts => ({
  bytes: file.length,
  modifiedAt: file.modifiedAt,
  identity: String(file.number),
});
