import { rm } from "node:fs/promises";
import { join } from "node:path";
import { nodeFiles, type Files } from "../../platform/files.js";
import type { Clock } from "../../runtime/clock.js";
import { parseScan, scanText, type KeptAnswer } from "./progress-record.js";
import type { AccountLists, Answer, Ask } from "./survey.js";

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
 * resolves), so that an interrupted scan goes on where it was. Answers of other hosts are not used.
 */
export class Progress {
  readonly #path: string;
  readonly #hosts: readonly [string, string];
  readonly #clock: Clock;
  readonly #files: Files;
  readonly #answers = new Map<string, KeptAnswer>();
  #lists: AccountLists | null = null;
  #savedAt = -Infinity;
  #bytes = 0;
  #isSaved = true;
  #saving: Promise<void> = Promise.resolve();

  constructor(dataDir: string, hosts: readonly [string, string], clock: Clock, files: Files = nodeFiles) {
    this.#path = join(dataDir, "discover-progress.json");
    this.#hosts = hosts;
    this.#clock = clock;
    this.#files = files;
  }

  /** Takes over what an earlier scan kept; returns how many answers that are. Rejects with the disk's error. */
  async load(): Promise<number> {
    const text = await this.#files.read(this.#path);
    const kept = text === null ? null : parseScan(text);
    if (kept === null || kept.hosts.some((host, at) => host !== this.#hosts[at])) return 0;
    const now = this.#clock.now();
    const isFresh = (at: number, most: number) => at <= now && now - at < most;
    if (kept.lists !== null && isFresh(kept.lists.takenAt, listsKeptMs)) this.#lists = kept.lists;
    for (const one of kept.answers)
      if (isFresh(one.at, answersKeptMs)) this.#answers.set(keyOf(one.code, one.ask), one);
    return this.#answers.size;
  }

  get lists(): AccountLists | null {
    return this.#lists;
  }

  setLists(lists: AccountLists): void {
    this.#lists = lists;
    this.#isSaved = false;
  }

  answer(code: string, ask: Ask): Answer | null {
    return this.#answers.get(keyOf(code, ask))?.answer ?? null;
  }

  add(code: string, ask: Ask, answer: Answer): void {
    this.#answers.set(keyOf(code, ask), { code, ask, at: this.#clock.now(), answer });
    this.#isSaved = false;
  }

  /** Saves when it is time to; the scan does not wait for a save that is going on. */
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
    this.#isSaved = false;
    if (this.#answers.size > 0) await this.save();
    else await this.discard();
  }

  async discard(): Promise<void> {
    this.#answers.clear();
    this.#lists = null;
    await this.#saving;
    await rm(this.#path, { force: true });
  }

  async #write(): Promise<void> {
    if (this.#isSaved) return;
    this.#isSaved = true;
    const text = scanText({ hosts: this.#hosts, lists: this.#lists, answers: [...this.#answers.values()] });
    this.#bytes = text.length;
    try {
      await this.#files.writePrivate(this.#path, text);
    } catch (error) {
      this.#isSaved = false;
      throw error;
    }
  }
}
