import { rm } from "node:fs/promises";
import { join } from "node:path";
import { deviceType, parameterGroup, statusNumber } from "../../greenhouse/device-types.js";
import type { RawValue, RunningStatusItem, SensorItem } from "../../greenhouse/ports.js";
import { type Files, nodeFiles } from "../../platform/files.js";
import type { Clock } from "../../runtime/clock.js";
import type { AccountLists, Answer, Ask, ListedDevice, ListedStation } from "./survey.js";

/** One answer of a scan. `at` is epoch ms. */
export interface KeptAnswer {
  readonly code: string;
  readonly ask: Ask;
  readonly at: number;
  readonly answer: Answer;
}

export interface KeptScan {
  /** Business and realtime host: what was learnt from others says nothing about these. */
  readonly hosts: readonly [string, string];
  readonly lists: AccountLists | null;
  readonly answers: readonly KeptAnswer[];
}

const version = 1;

export function scanText({ hosts, lists, answers }: KeptScan): string {
  const rows = answers.map(({ code, ask, at, answer }) => ({ code, ask, at, ...written(answer) }));
  return `${JSON.stringify({ version, hosts, lists, answers: rows })}\n`;
}

const written = (answer: Answer): object =>
  answer.type === "values" ? { type: answer.type, values: [...answer.values] } : answer;

/** What a scan kept; null for a text that is none, so that the scan begins anew. Never throws. */
export function parseScan(text: string): KeptScan | null {
  const root = fieldsOf(parsed(text));
  if (root?.version !== version || !Array.isArray(root.hosts) || !Array.isArray(root.answers)) return null;
  const [business, realtime] = root.hosts as readonly unknown[];
  const answers = all(root.answers, keptAnswer);
  if (typeof business !== "string" || typeof realtime !== "string" || answers === null) return null;
  return { hosts: [business, realtime], lists: keptLists(root.lists), answers };
}

type Fields = Readonly<Record<string, unknown>>;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

/** Null as soon as one of them cannot be read: half a scan would look like a whole one. */
function all<T>(values: unknown, read: (fields: Fields) => T | null): readonly T[] | null {
  if (!Array.isArray(values)) return null;
  const found = values.map((value) => {
    const fields = fieldsOf(value);
    return fields === null ? null : read(fields);
  });
  const good = found.filter((one) => one !== null);
  return good.length === found.length ? good : null;
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const isScalar = (value: unknown): value is RawValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";
const scalar = (value: unknown): RawValue | null => (isScalar(value) ? value : null);

function keptLists(value: unknown): AccountLists | null {
  const fields = fieldsOf(value);
  if (typeof fields?.takenAt !== "number") return null;
  const stations = all(fields.stations, ({ id, name }): ListedStation | null =>
    typeof id === "string" ? { id, name: text(name) } : null,
  );
  const devices = all(fields.devices, listedDevice);
  return stations === null || devices === null ? null : { takenAt: fields.takenAt, stations, devices };
}

function listedDevice(fields: Fields): ListedDevice | null {
  const { code, name, type, typeName, stationName, online, isController } = fields;
  if (typeof code !== "string" || typeof isController !== "boolean") return null;
  return {
    code,
    name: text(name),
    type: typeof type === "string" ? deviceType(type) : null,
    typeName: text(typeName),
    stationName: text(stationName),
    online: typeof online === "boolean" ? online : null,
    isController,
  };
}

function keptAnswer(fields: Fields): KeptAnswer | null {
  const { code, ask, at } = fields;
  const answer = answerOf(fields);
  if (typeof code !== "string" || typeof at !== "number" || answer === null) return null;
  if (ask === "sensors" || ask === "statuses") return { code, ask, at, answer };
  return typeof ask === "number" ? { code, ask: parameterGroup(ask), at, answer } : null;
}

function answerOf({ type, items, values, why }: Fields): Answer | null {
  if (type === "refused") return typeof why === "string" ? { type, why } : null;
  if (type === "sensors") {
    const read = all(items, sensorItem);
    return read && { type, items: read };
  }
  if (type === "statuses") {
    const read = all(items, statusItem);
    return read && { type, items: read };
  }
  if (type !== "values" || !Array.isArray(values)) return null;
  const pairs = values.filter((pair): pair is [string, RawValue] => isPair(pair));
  return pairs.length === values.length ? { type, values: new Map(pairs) } : null;
}

const isPair = (pair: unknown): boolean =>
  Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string" && isScalar(pair[1]);

function sensorItem(fields: Fields): SensorItem | null {
  const { name, factor, channel, value, raw, unit, measuredAt } = fields;
  if (typeof name !== "string" || typeof value === "boolean") return null;
  const reading = scalar(value);
  return {
    name,
    factor: text(factor),
    channel: text(channel),
    value: typeof reading === "boolean" ? null : reading,
    raw: scalar(raw),
    unit: text(unit),
    measuredAt: typeof measuredAt === "number" ? measuredAt : null,
  };
}

function statusItem({ name, number, value }: Fields): RunningStatusItem | null {
  if (typeof name !== "string") return null;
  return { name, number: typeof number === "number" ? statusNumber(number) : null, value: scalar(value) };
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
