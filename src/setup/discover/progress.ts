import { msg, type Text } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import { ignored } from "../../runtime/failures.js";
import { appendFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../runtime/clock.js";
import { nodeFiles } from "../../runtime/file-system.js";
import { inert } from "../../runtime/plain-text.js";
import { type Screen, StatusLine } from "../status-line.js";
import type { AccountLists, Answer, Ask, DeviceSurvey } from "./survey.js";
import { commentText } from "../../saving/yaml-text.js";

interface KeptAnswer {
  readonly code: string;
  readonly ask: Ask;
  /** Epoch ms. */
  readonly at: number;
  readonly answer: Answer;
}

/** The form of the lines below the first; a file with another one is not read. */
const version = 5;

/** The platform asks for 5 to 10 minutes between two lists of its controllers. */
const listsKeptMs = 10 * 60_000;
/** Older answers may be about another installation. */
const answersKeptMs = 24 * 3_600_000;

const keyOf = (code: string, ask: Ask): string => JSON.stringify([code, ask]);

/**
 * What a scan has learnt so far, so that an interrupted one can go on: a JSON line for each answer, in a file of the
 * data directory (mode 600). Incomplete lines are ignored.
 */
export class Progress {
  readonly #path: string;
  /** The first line names the hosts, as answers of other hosts say nothing about these. */
  readonly #head: string;
  readonly #clock: Clock;
  readonly #answers = new Map<string, KeptAnswer>();
  #lists: AccountLists | null = null;
  /** Whether the file is ours and can be added to. */
  #isBegun = false;
  #adding: Promise<void> = Promise.resolve();

  constructor(dataDir: string, hosts: readonly [business: string, realtime: string], clock: Clock) {
    this.#path = join(dataDir, "discover-progress.json");
    this.#head = JSON.stringify({ version, hosts });
    this.#clock = clock;
  }

  get lists(): AccountLists | null {
    return this.#lists;
  }

  /** Loads what an earlier scan kept. Rejects with the disk's error. */
  async load(): Promise<void> {
    const [head, ...lines] = ((await nodeFiles.read(this.#path)) ?? "").split("\n");
    this.#isBegun = head === this.#head;
    if (!this.#isBegun) return;
    const now = this.#clock.now();
    const isFresh = (at: number, most: number) => at <= now && now - at < most;
    for (const kept of lines.flatMap(keptIn))
      if ("takenAt" in kept) this.#lists = isFresh(kept.takenAt, listsKeptMs) ? kept : null;
      else if (isFresh(kept.at, answersKeptMs)) this.#answers.set(keyOf(kept.code, kept.ask), kept);
  }

  answer(code: string, ask: Ask): Answer | null {
    return this.#answers.get(keyOf(code, ask))?.answer ?? null;
  }

  /** Resolves once the lists are written; rejects with the disk's error, and later writes are still tried. */
  list(lists: AccountLists): Promise<void> {
    this.#lists = lists;
    return this.#add(lists);
  }

  /** The same for an answer. */
  add(code: string, ask: Ask, answer: Answer): Promise<void> {
    const kept = { code, ask, at: this.#clock.now(), answer };
    this.#answers.set(keyOf(code, ask), kept);
    return this.#add(kept);
  }

  /** The result of the scan is safe: drops its answers and keeps those of other devices and types. */
  async finish(done: readonly Pick<DeviceSurvey, "device" | "answers">[]): Promise<void> {
    for (const { device, answers } of done)
      for (const ask of answers.keys()) this.#answers.delete(keyOf(device.code, ask));
    const left = [...this.#answers.values()];
    if (left.length === 0) return this.discard();
    const lines = [this.#lists, ...left].map((kept) => JSON.stringify(kept));
    await nodeFiles.writePrivate(this.#path, [this.#head, ...lines].join("\n"));
  }

  async discard(): Promise<void> {
    this.#answers.clear();
    this.#lists = null;
    this.#isBegun = false;
    await rm(this.#path, { force: true });
  }

  #add(kept: AccountLists | KeptAnswer): Promise<void> {
    const line = `\n${JSON.stringify(kept)}`;
    const added = this.#adding.then(async () => {
      if (this.#isBegun) await appendFile(this.#path, line);
      else await nodeFiles.writePrivate(this.#path, this.#head + line);
      this.#isBegun = true;
    });
    this.#adding = added.catch(ignored);
    return added;
  }
}

function keptIn(line: string): readonly (AccountLists | KeptAnswer)[] {
  try {
    const kept = JSON.parse(line) as AccountLists | KeptAnswer | null;
    return kept === null ? [] : [kept];
  } catch {
    return [];
  }
}

/** Shows the progress of a scan on a terminal, and nothing elsewhere. Other output goes above that line. */
export class Meter {
  readonly #screen: Screen;
  readonly #line: StatusLine;
  readonly #onProgress: (done: number, total: number) => void;
  readonly #clock: Clock;
  /** The least time between two requests, on average. */
  readonly #gapMs: number;
  readonly #tell: Tell;
  readonly #notes = new Set<string>();
  #total = 0;
  #done = 0;
  #resumed = 0;
  #startedAt = 0;

  /**
   * `perMinute`: the request budget, 0 for none. `onProgress` gets the progress where no terminal shows it. `tell`
   * translates sentences.
   */
  constructor(
    screen: Screen,
    clock: Clock,
    perMinute: number,
    onProgress: (done: number, total: number) => void = () => undefined,
    tell: Tell = String,
  ) {
    this.#onProgress = onProgress;
    this.#tell = tell;
    this.#screen = screen;
    this.#line = new StatusLine(screen);
    this.#clock = clock;
    this.#gapMs = perMinute === 0 ? 0 : 60_000 / perMinute;
  }

  /** Writes other output to the same screen. */
  write(text: string): void {
    this.#line.above(() => this.#screen.write(text));
  }

  /** Prints a sentence for the person. */
  say(sentence: Text): void {
    this.write(`${inert(this.#tell(sentence))}\n`);
  }

  /** Prints a sentence about something that did not go as planned; each only once. */
  note(sentence: Text): void {
    if (this.#notes.has(String(sentence))) return;
    this.#notes.add(String(sentence));
    this.say(sentence);
  }

  /** `total` requests are planned; an earlier run has answered `done` of them. */
  begin(total: number, done: number): void {
    this.#total = total;
    this.#done = done;
    this.#resumed = done;
    this.#startedAt = this.#clock.monotonic();
    this.#onProgress(done, total);
    if (!this.#line.isShown) return;
    const resumed = done === 0 ? "" : msg` (${done} of ${total} are known from an interrupted scan)`;
    const time = durationText((total - done) * this.#gapMs);
    this.note(msg`${total - done} requests to go${resumed}, ${time}; nothing is sent to any actuator`);
  }

  onAsked(code: string): void {
    this.#done += 1;
    this.#onProgress(this.#done, this.#total);
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    const eachMs = Math.max(this.#gapMs, elapsedMs / (this.#done - this.#resumed));
    const bar = "#".repeat(Math.round((this.#done / this.#total) * barWidth)).padEnd(barWidth, ".");
    const left = durationText((this.#total - this.#done) * eachMs);
    const rest = this.#tell(msg`${left} left`);
    this.#line.show(`[${bar}] ${this.#done}/${this.#total}  ${rest}  ${commentText(code, 24)}`);
  }

  /** This many planned requests are not needed after all. */
  onSpared(requests: number): void {
    this.#total = Math.max(this.#done, this.#total - requests);
  }

  end(): void {
    this.#line.end();
  }
}

const barWidth = 24;

/** Rounded to what an estimate can say. */
function durationText(ms: number): Text {
  if (ms < 60_000) return msg`less than a minute`;
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 90 ? msg`about ${minutes} min` : msg`about ${(minutes / 60).toFixed(1)} h`;
}
