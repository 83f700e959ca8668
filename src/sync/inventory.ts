import { ignored } from "../runtime/failures.js";
import { bestEffortFile, type TextFile } from "../runtime/file-system.js";
import { emptyAnswersUntilRare, mayHaveReadings } from "../greenhouse/device-types.js";
import type { Availability, Controller } from "../greenhouse/model.js";
import type { DeviceList, DeviceRecord } from "../greenhouse/ports.js";
import type { GreenhouseStore } from "./store.js";
import { fieldsOf } from "../runtime/objects.js";

type DataType = "TEXT" | "STREAM";

export type InventoryNews =
  | { readonly type: "account_empty" }
  /** All news of a list have been reported. */
  | { readonly type: "listed" }
  /**
   * `found`: a configured controller is in a list for the first time. `absent`: a controller of an earlier run is in no
   * list of this one.
   */
  | { readonly type: "added" | "found" | "absent" | "removed"; readonly code: string; readonly name: string }
  /**
   * `doubted`: a list contradicts what is shown, so its single-device status decides; `settled`: a later list did so
   * first.
   */
  | { readonly type: "doubted" | "settled"; readonly code: string };

/** Whether a controller was added that was not mirrored before. */
export const isAdded = (
  news: InventoryNews,
): news is InventoryNews & { readonly type: "added" | "absent"; readonly code: string } =>
  news.type === "added" || news.type === "absent";

const availabilityOf = (record: DeviceRecord): Availability =>
  record.online === null ? "unknown" : record.online ? "online" : "offline";

/** How long complete lists have to lack a controller before it is removed. */
const removeAfterMs = 86_400_000;

const noAbsence = "{}";
const noMemory = bestEffortFile(undefined, ignored);

interface Absence {
  /** How long complete lists had lacked it. */
  readonly absentMs: number;
  readonly record: DeviceRecord;
}

/** Parses what an earlier run kept; an unreadable text counts as none. */
function readAbsences(text: string | null): Map<string, Absence> {
  const absences = new Map<string, Absence>();
  let kept: unknown = null;
  try {
    kept = JSON.parse(text ?? "null");
  } catch {
    // Counts as no file.
  }
  for (const [code, one] of Object.entries(fieldsOf(kept))) {
    const { absent_ms: absentMs, record } = fieldsOf(one);
    if (typeof absentMs === "number" && isRecordOf(code, record)) absences.set(code, { absentMs, record });
  }
  return absences;
}

function isRecordOf(code: string, record: unknown): record is DeviceRecord {
  const { code: own, name, extra } = fieldsOf(record);
  const isNamed = name === null || typeof name === "string";
  return own === code && isNamed && typeof extra === "object" && extra !== null;
}

/** The wanted codes of a list; a page keeps those known before. */
function codesOf(
  records: DeviceList,
  wants: (code: string) => boolean,
  before: ReadonlySet<string> = new Set(),
): Set<string> {
  const codes = new Set(records.isPage === true ? before : []);
  for (const { code } of records) if (wants(code)) codes.add(code);
  return codes;
}

/**
 * Follows the account's lists. An empty list removes nothing; a controller absent from the others for long enough is
 * removed, unless it is configured. Absence is counted by `monotonicMs`, so setting a clock removes nothing.
 */
export class Inventory {
  readonly #store: GreenhouseStore;
  /** The longest time that counts between two complete lists. */
  readonly #longestGapMs: () => number;
  readonly #newsListeners: ((news: InventoryNews) => void)[] = [];
  #controllers = new Set<string>();
  readonly #devices = new Map<DataType, ReadonlySet<string>>();
  /**
   * Device lists that came before the first list of controllers: they have no online flag, so they would briefly show
   * `unknown`.
   */
  readonly #early = new Map<DataType, DeviceList>();
  /** Answers without readings in a row, by code. */
  readonly #emptyAnswers = new Map<string, number>();
  /** Configured controllers that a complete list lacked before any list held them. */
  readonly #missed = new Set<string>();
  /** Addresses of video streams from the list of videos, which has priority over other lists. */
  readonly #videos = new Map<string, string>();
  #asked = false;
  #isEmptyReported = false;
  /** Whether the newest list of controllers is only a page, so that further ones may exist. */
  #isPart = false;
  /** Monotonic ms of the newest complete list that was not empty. */
  #wholeAt: number | null = null;
  /** For how long such lists have been coming. */
  #wholeMs = 0;
  /** For how long they have lacked each absent controller. */
  readonly #absentMs = new Map<string, number>();
  readonly #memory: TextFile;
  /** Absences of an earlier run, until a list of each kind has come. */
  #kept: ReadonlyMap<string, Absence> = new Map();
  #written = noAbsence;

  constructor(store: GreenhouseStore, longestGapMs: () => number, memory: TextFile = noMemory) {
    this.#store = store;
    this.#longestGapMs = longestGapMs;
    this.#memory = memory;
  }

  /** Calls back with the news of a list, in the order of registration. */
  onNews(listener: (news: InventoryNews) => void): void {
    this.#newsListeners.push(listener);
  }

  #tell(news: InventoryNews): void {
    for (const listener of this.#newsListeners) listener(news);
  }

  /** Reads what an earlier run kept, before the first list. */
  async restore(): Promise<void> {
    const text = await this.#memory.read();
    this.#kept = readAbsences(text);
    this.#written = text ?? noAbsence;
  }

  /** Whether a complete list that was not empty has come since the start; nothing may be cleared before. */
  get isKnown(): boolean {
    return this.#wholeAt !== null;
  }

  /** Whether the platform has had enough time to show everything, so that leftovers of an earlier run may go. */
  get hadTime(): boolean {
    return this.#wholeMs >= removeAfterMs;
  }

  /** Takes the answer of `GET /api/control/mqtt`. */
  onControllers(records: DeviceList, monotonicMs: number): void {
    this.#asked = true;
    if (records.length === 0) {
      if (records.isPage !== true && !this.#isEmptyReported) {
        this.#tell({ type: "account_empty" });
        this.#isEmptyReported = true;
      }
    } else {
      this.#isEmptyReported = false;
      const before = this.#controllers;
      this.#controllers = codesOf(records, this.#wants, before);
      // A controller that no list holds is absent, which says more.
      this.#unflag([...before].filter((code) => !this.#controllers.has(code) && this.#isListed(code)));
      for (const record of records) this.#onRecord(record, availabilityOf(record));
      this.#isPart = records.isPage === true;
    }
    for (const [dataType, early] of this.#early) this.onDevices(early, dataType);
    this.#early.clear();
    if (records.length > 0 && !this.#isPart) this.#judgeAbsence(this.#gapBefore(monotonicMs));
    if (records.length > 0) this.#tell({ type: "listed" });
  }

  /** Takes an answer of `GET /api/device`; devices only in that list have no online flag. */
  onDevices(records: DeviceList, dataType: DataType = "TEXT"): void {
    if (!this.#asked) {
      this.#early.set(dataType, records);
      return;
    }
    if (records.length === 0) return;
    this.#devices.set(dataType, codesOf(records, this.#wants, this.#devices.get(dataType)));
    for (const record of records) {
      if (!this.#controllers.has(record.code)) this.#onRecord(record, availabilityOf(record));
    }
    this.#tell({ type: "listed" });
  }

  /** Takes the answer of `GET /api/video-data/list`, which adds no devices. */
  onVideos(records: DeviceList): void {
    if (records.isPage !== true) this.#videos.clear();
    for (const { code, hls } of records) {
      if (hls === null || !this.#wants(code)) continue;
      this.#videos.set(code, hls);
      this.#store.dispatch(code, { type: "video", hls });
    }
  }

  /**
   * How often readings are asked for. A possible camera without readings is `rare`, as it may have some later, and
   * `usual` again once it has.
   */
  readingsOf(code: string): "usual" | "rare" | "none" {
    const type = this.#store.get(code)?.info.type;
    if (type === undefined || !mayHaveReadings(type)) return "none";
    const most = emptyAnswersUntilRare(type);
    return most !== null && (this.#emptyAnswers.get(code) ?? 0) >= most ? "rare" : "usual";
  }

  /** Notes an answer about readings, with their number. */
  onReadings(code: string, readings: number): void {
    this.#emptyAnswers.set(code, readings > 0 ? 0 : (this.#emptyAnswers.get(code) ?? 0) + 1);
    const controller = this.#store.get(code);
    if (controller === undefined || readings === 0 || !this.#isUnlistedAndAnswers(controller)) return;
    if (controller.absentSince !== null) this.#store.dispatch(code, { type: "unflagged" });
  }

  /** Whether a configured controller that no list ever held has readings, as a weather station may. */
  #isUnlistedAndAnswers({ info: { code, record } }: Controller): boolean {
    return record === null && this.#emptyAnswers.get(code) === 0;
  }

  /** Whether leftovers of an earlier run for a code may be removed, although this run has not seen it. */
  mayForget(code: string): boolean {
    if (!this.#store.wants(code)) return true;
    if (this.#isPart || this.#devices.size === 0) return false;
    if (this.#isListed(code) || this.#store.isConfigured(code)) return false;
    return this.hadTime;
  }

  /** Controllers without a flag any more are not online, even if a device list still holds them. */
  #unflag(codes: readonly string[]): void {
    for (const code of codes) {
      this.#store.dispatch(code, { type: "unflagged" });
      this.#tell({ type: "doubted", code });
    }
  }

  readonly #wants = (code: string): boolean => this.#store.wants(code);

  #isListed(code: string): boolean {
    return this.#controllers.has(code) || [...this.#devices.values()].some((codes) => codes.has(code));
  }

  #onRecord(listed: DeviceRecord, availability: Availability): void {
    if (!this.#store.wants(listed.code)) return;
    const record = { ...listed, hls: this.#videos.get(listed.code) ?? listed.hls };
    const before = this.#store.get(record.code);
    this.#store.admit(record.code);
    this.#store.dispatch(record.code, { type: "listed", record, availability });
    const type = before === undefined ? "added" : "found";
    if (!before?.info.record) this.#tell({ type, code: record.code, name: record.name ?? record.code });
    const doubted = this.#store.get(record.code)?.doubted ?? null;
    if (doubted !== null) this.#tell({ type: "doubted", code: record.code });
    else if ((before?.doubted ?? null) !== null) this.#tell({ type: "settled", code: record.code });
  }

  /** The time since the previous complete list, as far as lists cover it: without lists nothing counts as absent. */
  #gapBefore(monotonicMs: number): number {
    const gapMs = Math.min(monotonicMs - (this.#wholeAt ?? monotonicMs), this.#longestGapMs());
    this.#wholeAt = monotonicMs;
    this.#wholeMs += gapMs;
    return gapMs;
  }

  #judgeAbsence(gapMs: number): void {
    if (this.#devices.size > 0) this.#admitKept();
    for (const controller of [...this.#store.controllers()]) {
      const { code, name, record } = controller.info;
      // A controller never seen, whose list may not have come yet, is awaited for as long as that may take.
      const isAwaited = this.#devices.size === 0 && !this.hadTime;
      const isOpen = record === null && (isAwaited || this.#mayAnswer(controller));
      if (this.#isListed(code) || isOpen) continue;
      const absentMs = controller.absentSince === null ? 0 : (this.#absentMs.get(code) ?? 0) + gapMs;
      this.#absentMs.set(code, absentMs);
      this.#store.dispatch(code, { type: "absent", forMs: absentMs });
      if (this.#store.isConfigured(code) || absentMs < removeAfterMs) continue;
      this.#store.remove(code);
      this.#absentMs.delete(code);
      this.#emptyAnswers.delete(code);
      this.#tell({ type: "removed", code, name });
    }
    if (this.#kept.size === 0) this.#keepAbsences();
  }

  /**
   * Adds controllers that were absent when an earlier run ended and are in no list of this one; their absence
   * continues.
   */
  #admitKept(): void {
    const kept = this.#kept;
    this.#kept = new Map();
    for (const [code, { absentMs, record }] of kept) {
      if (!this.#store.wants(code) || this.#isListed(code) || this.#store.get(code) !== undefined) continue;
      this.#store.admit(code);
      this.#store.dispatch(code, { type: "listed", record, availability: "offline" });
      this.#store.dispatch(code, { type: "absent", forMs: absentMs });
      this.#absentMs.set(code, absentMs);
      this.#tell({ type: "absent", code, name: record.name ?? code });
    }
  }

  /**
   * Whether an unlisted controller has readings, or was not asked for any before the first list that could have held
   * it.
   */
  #mayAnswer(controller: Controller): boolean {
    const { code } = controller.info;
    const isFirst = !this.#missed.has(code);
    this.#missed.add(code);
    return this.#isUnlistedAndAnswers(controller) || (isFirst && !this.#emptyAnswers.has(code));
  }

  #keepAbsences(): void {
    const absences = [...this.#store.controllers()].flatMap(({ info: { code, record }, absentSince }) => {
      if (absentSince === null || record === null || this.#store.isConfigured(code)) return [];
      // The address of a stream may hold a password.
      return [
        [
          code,
          { absent_ms: Math.round(this.#absentMs.get(code) ?? 0), record: { ...record, hls: null } },
        ] as const,
      ];
    });
    const text = JSON.stringify(Object.fromEntries(absences));
    if (text === this.#written) return;
    this.#written = text;
    void this.#memory.write(text);
  }
}
