import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { deviceType, parameterGroup, statusNumber } from "../../greenhouse/device-types.js";
import type { Clock } from "../../runtime/clock.js";
import { replaceFile } from "../../runtime/durable-file.js";
import { errorCode } from "../../runtime/file-system.js";
import type { AccountLists, Answer, Ask } from "./survey.js";

const text = z.string().nullable();
const scalar = z.union([z.string(), z.number(), z.boolean()]);

const listedDevice = z.object({
  code: z.string(),
  name: text,
  type: z.string().transform(deviceType).nullable(),
  typeName: text,
  stationName: text,
  online: z.boolean().nullable(),
  isController: z.boolean(),
});

const sensorItem = z.object({
  name: z.string(),
  factor: text,
  channel: text,
  value: z.union([z.string(), z.number()]).nullable(),
  raw: scalar.nullable(),
  unit: text,
  measuredAt: z.number().nullable(),
});

const statusItem = z.object({
  name: z.string(),
  number: z.number().transform(statusNumber).nullable(),
  value: scalar.nullable(),
});

const answer = z.discriminatedUnion("type", [
  z.object({ type: z.literal("sensors"), items: z.array(sensorItem) }),
  z.object({ type: z.literal("statuses"), items: z.array(statusItem) }),
  z.object({
    type: z.literal("values"),
    values: z.array(z.tuple([z.string(), scalar])).transform((pairs) => new Map(pairs)),
  }),
  z.object({ type: z.literal("refused"), why: z.string() }),
]);

/** What a scan keeps. Times are epoch ms; what was learnt from other hosts says nothing about these. */
const scan = z.object({
  version: z.literal(2),
  /** Business and realtime host. */
  hosts: z.tuple([z.string(), z.string()]),
  lists: z
    .object({
      takenAt: z.number(),
      stations: z.array(z.object({ id: z.string(), name: text })),
      devices: z.array(listedDevice),
    })
    .nullable(),
  answers: z.array(
    z.object({
      code: z.string(),
      ask: z.union([z.literal(["sensors", "statuses"]), z.number().transform(parameterGroup)]),
      at: z.number(),
      answer,
    }),
  ),
});

export interface KeptScan {
  readonly hosts: readonly [string, string];
  readonly lists: AccountLists | null;
  readonly answers: readonly KeptAnswer[];
}

interface KeptAnswer {
  readonly code: string;
  readonly ask: Ask;
  readonly at: number;
  readonly answer: Answer;
}

export const scanText = (kept: KeptScan): string =>
  `${JSON.stringify({ version: 2, ...kept }, (_, value: unknown) => (value instanceof Map ? [...value] : value))}\n`;

/** What a scan kept; null for a text that is none, so that the scan begins anew. Never throws. */
export function parseScan(written: string): KeptScan | null {
  try {
    const { hosts, lists, answers } = scan.parse(JSON.parse(written), { jitless: true });
    return { hosts, lists, answers };
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
 * resolves), so that an interrupted scan goes on where it was. Answers of other hosts are not used.
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
  #isSaved = true;
  #saving: Promise<void> = Promise.resolve();

  constructor(dataDir: string, hosts: readonly [string, string], clock: Clock) {
    this.#dataDir = dataDir;
    this.#path = join(dataDir, "discover-progress.json");
    this.#hosts = hosts;
    this.#clock = clock;
  }

  /** Takes over what an earlier scan kept. Rejects with the disk's error. */
  async load(): Promise<void> {
    const kept = parseScan(
      await readFile(this.#path, "utf8").catch((error: unknown) => {
        if (errorCode(error) === "ENOENT") return "";
        throw error;
      }),
    );
    if (kept === null || kept.hosts.some((host, at) => host !== this.#hosts[at])) return;
    const now = this.#clock.now();
    const isFresh = (at: number, most: number) => at <= now && now - at < most;
    if (kept.lists !== null && isFresh(kept.lists.takenAt, listsKeptMs)) this.#lists = kept.lists;
    for (const one of kept.answers)
      if (isFresh(one.at, answersKeptMs)) this.#answers.set(keyOf(one.code, one.ask), one);
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
      await mkdir(this.#dataDir, { recursive: true, mode: 0o700 });
      await replaceFile(this.#path, text);
    } catch (error) {
      this.#isSaved = false;
      throw error;
    }
  }
}
