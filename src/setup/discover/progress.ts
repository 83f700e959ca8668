import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../runtime/clock.js";
import { errorCode, replaceFile } from "../../runtime/file-system.js";
import { type Screen, StatusLine } from "../status-line.js";
import type { AccountLists, Answer, Ask, DeviceSurvey } from "./survey.js";
import { commentText } from "./text.js";

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

const version = 4;

/** What a scan kept for these hosts; null for anything else, so that the scan begins anew. */
function parseScan(written: string, hosts: readonly [string, string]): KeptScan | null {
  try {
    const kept = JSON.parse(written) as KeptScan;
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
  lists: AccountLists | null = null;
  readonly #dataDir: string;
  readonly #path: string;
  readonly #hosts: readonly [string, string];
  readonly #clock: Clock;
  readonly #answers = new Map<string, KeptAnswer>();
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
    if (lists !== null && isFresh(lists.takenAt, listsKeptMs)) this.lists = lists;
    for (const one of answers)
      if (isFresh(one.at, answersKeptMs)) this.#answers.set(keyOf(one.code, one.ask), one);
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
  async finish(done: readonly Pick<DeviceSurvey, "device" | "answers">[]): Promise<void> {
    for (const { device, answers } of done)
      for (const ask of answers.keys()) this.#answers.delete(keyOf(device.code, ask));
    await (this.#answers.size > 0 ? this.save() : this.discard());
  }

  async discard(): Promise<void> {
    this.#answers.clear();
    this.lists = null;
    await this.#saving;
    await rm(this.#path, { force: true });
  }

  async #write(): Promise<void> {
    if (this.lists === null && this.#answers.size === 0) return;
    const kept: KeptScan = {
      version,
      hosts: this.#hosts,
      lists: this.lists,
      answers: [...this.#answers.values()],
    };
    const text = `${JSON.stringify(kept)}\n`;
    this.#bytes = text.length;
    await mkdir(this.#dataDir, { recursive: true, mode: 0o700 });
    await replaceFile(this.#path, text);
  }
}

const barWidth = 24;
const redrawMs = 200;

/** How far a scan is: a bar on a terminal, nothing elsewhere. What others write goes above the bar. */
export class Meter {
  readonly #screen: Screen;
  readonly #line: StatusLine;
  readonly #clock: Clock;
  /** Least time between two requests, on average. */
  readonly #gapMs: number;
  readonly #notes = new Set<string>();
  #total = 0;
  #done = 0;
  #resumed = 0;
  #label = "";
  #startedAt = 0;
  #shownAt = 0;

  /** `perMinute`: the request budget, 0 for none. */
  constructor(screen: Screen, clock: Clock, perMinute: number) {
    this.#screen = screen;
    this.#line = new StatusLine(screen);
    this.#clock = clock;
    this.#gapMs = perMinute === 0 ? 0 : 60_000 / perMinute;
  }

  /** Anything else that goes to the same screen. */
  write(text: string): void {
    this.#line.above(() => this.#screen.write(text));
  }

  /** One sentence about something that went otherwise than planned; once. */
  note(sentence: string): void {
    if (this.#notes.has(sentence)) return;
    this.#notes.add(sentence);
    this.write(`${sentence}\n`);
  }

  /** `total` requests are planned, `done` of them were answered in an earlier run. */
  begin(total: number, done: number): void {
    this.#total = total;
    this.#done = done;
    this.#resumed = done;
    this.#startedAt = this.#clock.monotonic();
    this.#shownAt = this.#startedAt;
    if (!this.#line.isShown) return;
    const left = total - done;
    const time = durationText(left * this.#gapMs);
    const resumed = done === 0 ? "" : ` (${done} of ${total} are known from an interrupted scan)`;
    this.note(`${left} requests to go${resumed}, ${time}; nothing is sent to any actuator`);
    this.#show();
  }

  asked(code: string): void {
    this.#done += 1;
    this.#label = commentText(code, 24);
    const now = this.#clock.monotonic();
    if (!this.#line.isShown || now - this.#shownAt < redrawMs) return;
    this.#shownAt = now;
    this.#show();
  }

  /** So many requests of the plan are not needed after all. */
  spared(requests: number): void {
    this.#total = Math.max(this.#done, this.#total - requests);
  }

  end(): void {
    this.#line.end();
  }

  #show(): void {
    const share = this.#total === 0 ? 1 : this.#done / this.#total;
    const full = Math.round(share * barWidth);
    const bar = "#".repeat(full) + ".".repeat(barWidth - full);
    const asked = this.#done - this.#resumed;
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    const each = Math.max(this.#gapMs, asked === 0 ? 0 : elapsedMs / asked);
    const left = durationText((this.#total - this.#done) * each);
    this.#line.show(`[${bar}] ${this.#done}/${this.#total}  ${left} left  ${this.#label}`);
  }
}

/** As exact as an estimate can be. */
function durationText(ms: number): string {
  if (ms < 60_000) return "less than a minute";
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 90) return `about ${minutes} min`;
  return `about ${(minutes / 60).toFixed(1)} h`;
}
