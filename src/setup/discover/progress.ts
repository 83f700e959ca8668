import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../runtime/clock.js";
import { replaceFile } from "../../runtime/durable-file.js";
import { errorCode } from "../../runtime/file-system.js";
import type { AccountLists, Answer, Ask } from "./survey.js";

interface KeptAnswer {
  readonly code: string;
  readonly ask: Ask;
  /** Epoch ms. */
  readonly at: number;
  readonly answer: Answer;
}

interface KeptScan {
  /** Of this form; the file of a program with another one is not read. */
  readonly version: number;
  /** Business and realtime host: what was learnt from others says nothing about these. */
  readonly hosts: readonly [string, string];
  readonly lists: AccountLists | null;
  readonly answers: readonly KeptAnswer[];
}

const version = 3;

/** In JSON a map is the list of its entries under `map`. */
const scanText = (kept: KeptScan): string =>
  `${JSON.stringify(kept, (_, value: unknown) => (value instanceof Map ? { map: [...value] } : value))}\n`;

/** What a scan kept for these hosts; null for anything else, so that the scan begins anew. */
function parseScan(written: string, hosts: readonly [string, string]): KeptScan | null {
  try {
    const kept = JSON.parse(written, (key, value: unknown) =>
      key === "values" && typeof value === "object" && value !== null && "map" in value
        ? new Map(value.map as [])
        : value,
    ) as KeptScan;
    const isOurs = kept.version === version && kept.hosts.every((host, at) => host === hosts[at]);
    return isOurs && Array.isArray(kept.answers) ? kept : null;
  } catch {
    return null;
  }
}

/** The platform asks for 5 to 10 minutes between two lists of its controllers. */
const listsKeptMs = 10 * 60_000;
/** Older answers may be about another installation. */
const answersKeptMs = 24 * 3_600_000;
const saveEveryMs = 5_000;
/** A larger file is written less often, for the sake of the card it lies on. */
const bytesPerSave = 500_000;

const keyOf = (code: string, ask: Ask): string => JSON.stringify([code, ask]);

/**
 * What a scan has learnt so far, kept in the data directory (mode 600, replaced as a whole, on disk when `save`
 * resolves), so that an interrupted scan goes on where it was.
 */
export class Progress {
  readonly #dataDir: string;
  readonly #path: string;
  readonly #hosts: readonly [string, string];
  readonly #clock: Clock;
  readonly #answers = new Map<string, KeptAnswer>();
  #lists: AccountLists | null = null;
  #savedAt = -Infinity;
  #bytes = 0;
  #saving: Promise<void> = Promise.resolve();

  constructor(dataDir: string, hosts: readonly [string, string], clock: Clock) {
    this.#dataDir = dataDir;
    this.#path = join(dataDir, "discover-progress.json");
    this.#hosts = hosts;
    this.#clock = clock;
  }

  /** Takes over what an earlier scan kept. Rejects with the disk's error. */
  async load(): Promise<void> {
    const written = await readFile(this.#path, "utf8").catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return "";
      throw error;
    });
    const { lists = null, answers = [] } = parseScan(written, this.#hosts) ?? {};
    const now = this.#clock.now();
    const isFresh = (at: number, most: number) => at <= now && now - at < most;
    if (lists !== null && isFresh(lists.takenAt, listsKeptMs)) this.#lists = lists;
    for (const one of answers)
      if (isFresh(one.at, answersKeptMs)) this.#answers.set(keyOf(one.code, one.ask), one);
  }

  get lists(): AccountLists | null {
    return this.#lists;
  }

  setLists(lists: AccountLists): void {
    this.#lists = lists;
  }

  answer(code: string, ask: Ask): Answer | null {
    return this.#answers.get(keyOf(code, ask))?.answer ?? null;
  }

  add(code: string, ask: Ask, answer: Answer): void {
    this.#answers.set(keyOf(code, ask), { code, ask, at: this.#clock.now(), answer });
  }

  /** Saves when it is time to. */
  async saveNowAndThen(): Promise<void> {
    const intervalMs = saveEveryMs * Math.max(1, this.#bytes / bytesPerSave);
    if (this.#clock.monotonic() - this.#savedAt < intervalMs) return;
    this.#savedAt = this.#clock.monotonic();
    await this.save();
  }

  /** Everything so far is on disk when it resolves. Rejects with the disk's error. */
  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#write());
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  /** The scan's result is safe: its answers are dropped, those of other devices and types are kept. */
  async finish(done: Iterable<readonly [code: string, ask: Ask]>): Promise<void> {
    for (const [code, ask] of done) this.#answers.delete(keyOf(code, ask));
    await (this.#answers.size > 0 ? this.save() : this.discard());
  }

  async discard(): Promise<void> {
    this.#answers.clear();
    this.#lists = null;
    await this.#saving;
    await rm(this.#path, { force: true });
  }

  async #write(): Promise<void> {
    if (this.#lists === null && this.#answers.size === 0) return;
    const text = scanText({
      ...{ version, hosts: this.#hosts, lists: this.#lists },
      answers: [...this.#answers.values()],
    });
    this.#bytes = text.length;
    await mkdir(this.#dataDir, { recursive: true, mode: 0o700 });
    await replaceFile(this.#path, text);
  }
}
