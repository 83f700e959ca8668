import { ignored, nullIfFailed } from "../runtime/failures.js";
import type { Controller, Sensor } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { FileSystem } from "../runtime/file-system.js";
import type { Trends } from "../page/protocol.js";
import type { Faults } from "./faults.js";
import type { Block, Points } from "./trend-block.js";
import { type Blocks, type Span, spans, TrendFiles } from "./trend-files.js";

const minuteMs = 60_000;
const hour = spans.hour.minutes;
const day = spans.day.minutes;
const keptDays = 30;
const writeEveryMs = 5 * minuteMs;
/** Points that cannot be written are held no longer than this. */
const heldMinutes = 3 * hour;
/** The limit of all files together. */
const mostBytes = 64 * 1024 * 1024;
/** How long a write gives way to commands that wait for the disk. */
const patienceMs = minuteMs;

export interface TrendParts {
  readonly clock: Clock;
  /** The greenhouse's time at one of our times, both epoch ms; they differ in the demo alone. */
  readonly timeOf: (realMs: number) => number;
  /** Pause between samples, ms. */
  readonly everyMs: number;
  readonly controllers: () => Iterable<Controller>;
  readonly directory: string;
  readonly files: FileSystem;
  /** Rejects if another folder has taken the data directory's place. */
  readonly inPlace?: (() => Promise<void>) | undefined;
  /** Whether a command waits for its POST; nothing is written meanwhile. */
  readonly isSending: () => boolean;
  /** Null where nobody can tell. */
  readonly isClockRight: () => boolean | null;
  readonly onProblem: (message: string) => void;
  readonly mostBytes?: number;
}

/** Epoch ms. */
export interface Range {
  readonly since: number;
  readonly until: number;
}

/** Trends of several controllers. */
interface TrendsOfAll extends Omit<Trends, "sensors" | "nights" | "demo"> {
  readonly controllers: Readonly<Record<string, Trends["sensors"]>>;
}

const floorTo = (minute: number, step: number) => minute - (minute % step);

/**
 * Keeps the last 30 days of every numeric sensor: a point a minute for a day, one in five minutes before that, gaps
 * where no good value was known. The current hour is in memory, and goes to disk every five minutes.
 */
export class TrendKeeper {
  readonly #parts: TrendParts;
  readonly #files: TrendFiles;
  /** Points by minute since 1970; a later row is never shorter. */
  readonly #rows = new Map<number, Float64Array>();
  /** The place of each sensor's points in a row, by controller and sensor. */
  readonly #places = new Map<string, Map<string, number>>();
  #placeCount = 0;
  #newest: { readonly minute: number; readonly mono: number } | null = null;
  #writtenAt = -Infinity;
  /** The platform's past readings of hours that are over, by hour; the next write puts them on disk. */
  readonly #past = new Map<number, Map<string, Map<string, (number | null)[]>>>();
  /** Hours whose rows changed since they were written. */
  readonly #unwritten = new Set<number>();
  /** Days with hours that were written after the day's own file. */
  readonly #staleDays = new Set<number>();
  #problem = "";
  #isAtDisk = false;

  constructor(parts: TrendParts) {
    this.#parts = parts;
    this.#files = new TrendFiles(parts.directory, parts.files, parts.inPlace);
  }

  /** Runs until the signal aborts, then writes the rest. */
  async run(signal: AbortSignal, faults: Pick<Faults, "attempt">): Promise<void> {
    const { clock, everyMs } = this.#parts;
    // A disk that hangs makes no gap: points stay in memory meanwhile, for `heldMinutes` at most.
    let disk = this.#inBackground(async () => {
      await this.#attempt(() => this.#resume());
      if (this.#isWriteDue()) await this.write(signal);
    });
    while (!signal.aborted) {
      faults.attempt(() => this.sample());
      if (!this.#isAtDisk && this.#isWriteDue()) disk = this.#inBackground(() => this.write(signal));
      await clock.wait(everyMs, signal).catch(ignored);
    }
    await disk;
    await this.#attempt(() => this.#writeHours(null));
  }

  async #inBackground(work: () => Promise<void>): Promise<void> {
    this.#isAtDisk = true;
    await this.#attempt(work);
    this.#isAtDisk = false;
  }

  /** Takes up the current hour of an earlier run. */
  async #resume(): Promise<void> {
    const start = floorTo(this.#now(), hour);
    for (const [controller, block] of await this.#files.read({ kind: "hour", start }))
      for (const [sensor, points] of block)
        for (const [at, point] of points.entries())
          if (point !== null) this.#setUnlessKnown(start + at, this.#place(controller, sensor), point);
  }

  #now(): number {
    const { clock, timeOf } = this.#parts;
    return Math.floor(timeOf(clock.now()) / minuteMs);
  }

  /** Samples all sensors. Minutes skipped since a recent sample get the same values. */
  sample(): void {
    const { clock, controllers, everyMs, isClockRight } = this.#parts;
    const minute = this.#now();
    const mono = clock.monotonic();
    const last = this.#newest;
    // A clock that is or was wrong must not spoil stored points.
    if (isClockRight() === false || (last && minute < last.minute && isClockRight() !== true)) return;
    const isNext = last !== null && minute > last.minute && mono - last.mono < 2.5 * everyMs;
    const from = isNext ? Math.max(last.minute + 1, minute - heldMinutes) : minute;
    this.#newest = { minute, mono };
    this.#forgetInvented();
    for (const { info, sensors } of controllers())
      for (const sensor of sensors.values()) {
        const value = knownValue(sensor);
        if (value === null) continue;
        const place = this.#place(info.id, sensor.definition.id);
        for (let at = from; at <= minute; at += 1) this.#set(at, place, value);
      }
    for (const at of this.#rows.keys()) if (at > minute || at <= minute - heldMinutes) this.#rows.delete(at);
  }

  /** A platform that invents names without end must not fill the memory. */
  #forgetInvented(): void {
    let present = 0;
    for (const { sensors } of this.#parts.controllers()) present += sensors.size;
    if (this.#placeCount <= 2 * present + 1_000) return;
    this.#rows.clear();
    this.#places.clear();
    this.#unwritten.clear();
    this.#placeCount = 0;
  }

  /** Adds points that the platform has kept, `at` in epoch ms. Points that this program saw take precedence. */
  add(
    controller: string,
    sensor: string,
    points: readonly { readonly at: number; readonly value: number }[],
  ) {
    const now = this.#now();
    for (const { at, value } of points) {
      const minute = Math.floor(at / minuteMs);
      if (minute > now || minute <= now - day) continue;
      const start = floorTo(minute, hour);
      if (start === floorTo(now, hour) || this.#lastOf(start) >= 0)
        this.#setUnlessKnown(minute, this.#place(controller, sensor), value);
      else this.#pastOf(start, controller, sensor)[minute - start] ??= value;
    }
  }

  #setUnlessKnown(minute: number, place: number, value: number): void {
    const held = this.#rows.get(minute)?.[place] ?? NaN;
    if (Number.isNaN(held)) this.#set(minute, place, value);
  }

  #pastOf(start: number, controller: string, sensor: string): (number | null)[] {
    const blocks = this.#past.get(start) ?? new Map<string, Map<string, (number | null)[]>>();
    this.#past.set(start, blocks);
    const block = blocks.get(controller) ?? new Map<string, (number | null)[]>();
    blocks.set(controller, block);
    const points = block.get(sensor) ?? new Array<number | null>(hour).fill(null);
    block.set(sensor, points);
    return points;
  }

  #place(controller: string, sensor: string): number {
    const places = this.#places.get(controller) ?? new Map<string, number>();
    this.#places.set(controller, places);
    const place = places.get(sensor) ?? this.#placeCount++;
    places.set(sensor, place);
    return place;
  }

  #set(minute: number, place: number, value: number): void {
    let row = this.#rows.get(minute);
    if (row === undefined || row.length <= place) {
      // The first row grows with each sensor. Doubling it saves thousands of copies.
      const least = Math.max(this.#placeCount, place + 1, 2 * (row?.length ?? 0));
      const longer = new Float64Array(least).fill(NaN);
      longer.set(row ?? []);
      row = longer;
      this.#rows.set(minute, row);
    }
    row[place] = value;
    this.#unwritten.add(floorTo(minute, hour));
  }

  #isWriteDue(): boolean {
    const present = floorTo(this.#now(), hour);
    const isOver = [...this.#unwritten].some((start) => start < present);
    return isOver || this.#parts.clock.monotonic() - this.#writtenAt >= writeEveryMs;
  }

  /** Brings the disk up to date: writes the hours in memory and finished days, and removes what is too old. */
  async write(signal: AbortSignal | null): Promise<void> {
    this.#writtenAt = this.#parts.clock.monotonic();
    await this.#writeHours(signal);
    await this.#writePast(signal);
    await this.#writeDays(signal);
    await this.#prune();
    const present = floorTo(this.#now(), hour);
    for (const at of this.#rows.keys())
      if (at < present && !this.#unwritten.has(floorTo(at, hour))) this.#rows.delete(at);
  }

  /** Waits while a command is on its way to its POST, for `patienceMs` at most. */
  async #untilQuiet(signal: AbortSignal | null): Promise<void> {
    const { clock, isSending } = this.#parts;
    const end = clock.monotonic() + patienceMs;
    while (signal && !signal.aborted && isSending() && clock.monotonic() < end)
      await clock.wait(250, signal).catch(ignored);
  }

  async #writeHours(signal: AbortSignal | null): Promise<void> {
    for (const start of [...this.#unwritten]) {
      await this.#untilQuiet(signal);
      this.#unwritten.delete(start);
      try {
        await this.#writeHour(start);
      } catch (error) {
        this.#unwritten.add(start);
        throw error;
      }
    }
  }

  /** Memory no longer has the beginning of an old hour, so what the disk has of it is kept. */
  async #writeHour(start: number): Promise<void> {
    const own = this.#blocksOf(start);
    if (start > this.#now() - heldMinutes) return this.#putHour(start, own);
    const kept = await this.#files.read({ kind: "hour", start }).catch(nullIfFailed);
    if (kept !== null) await this.#putHour(start, join(own, kept));
  }

  async #putHour(start: number, blocks: Blocks): Promise<void> {
    await this.#files.write({ kind: "hour", start }, blocks);
    this.#staleDays.add(floorTo(start, day));
  }

  /** Fills the gaps of hours on disk. An hour that cannot be read stays as it is. */
  async #writePast(signal: AbortSignal | null): Promise<void> {
    for (const [start, past] of this.#past) {
      await this.#untilQuiet(signal);
      // Points that come during this write are written next time.
      this.#past.delete(start);
      try {
        await this.#fillHour(start, past);
      } catch (error) {
        for (const [controller, block] of past)
          for (const [sensor, points] of block) {
            const newer = this.#pastOf(start, controller, sensor);
            for (const [at, point] of points.entries()) newer[at] ??= point;
          }
        throw error;
      }
    }
  }

  async #fillHour(start: number, past: Blocks): Promise<void> {
    const kept = await this.#files.read({ kind: "hour", start }).catch(nullIfFailed);
    if (kept !== null) await this.#putHour(start, join(kept, past));
  }

  #blocksOf(start: number): Blocks {
    const blocks = new Map<string, Block>();
    for (const controller of this.#places.keys())
      blocks.set(controller, this.#blockInMemory(controller, start));
    return blocks;
  }

  /** The points that memory holds of an hour of a controller. */
  #blockInMemory(controller: string, start: number): Block {
    const block = new Map<string, Points>();
    for (const [sensor, place] of this.#places.get(controller) ?? []) {
      const points = Array.from({ length: hour }, (_, at) => {
        const value = this.#rows.get(start + at)?.[place] ?? NaN;
        return Number.isNaN(value) ? null : value;
      });
      if (points.some((point) => point !== null)) block.set(sensor, points);
    }
    return block;
  }

  /** Merges the hours of each finished day into one file; for hours that are gone, the day's earlier file counts. */
  async #writeDays(signal: AbortSignal | null): Promise<void> {
    const all = await this.#files.list();
    const today = floorTo(this.#now(), day);
    const hours = all.filter(({ kind, start }) => kind === "hour" && start < today);
    const done = new Set(all.filter(({ kind }) => kind === "day").map(({ start }) => start));
    for (const start of new Set(hours.map((one) => floorTo(one.start, day)))) {
      if (done.has(start) && !this.#staleDays.has(start)) continue;
      await this.#untilQuiet(signal);
      const span = { kind: "day", start } as const;
      const former = await this.#files.read(span).catch(nullIfFailed);
      if (former === null) continue;
      const own = hours.filter((one) => floorTo(one.start, day) === start);
      await this.#files.write(span, join(await this.#dayOf(start, own), former));
      this.#staleDays.delete(start);
    }
  }

  async #dayOf(start: number, hours: readonly Span[]): Promise<Blocks> {
    const { step } = spans.day;
    const blocks = new Map<string, Map<string, (number | null)[]>>();
    for (const span of hours)
      for (const [controller, ofHour] of await this.#files.read(span)) {
        const block = blocks.get(controller) ?? new Map<string, (number | null)[]>();
        blocks.set(controller, block);
        for (const [sensor, points] of ofHour) {
          const own = block.get(sensor) ?? new Array<number | null>(day / step).fill(null);
          block.set(sensor, own);
          for (const [at, point] of points.entries())
            if (point !== null) own[Math.floor((span.start + at - start) / step)] = point;
        }
      }
    return blocks;
  }

  /** Removes files that are too old, lie in the future, or exceed the room. */
  async #prune(): Promise<void> {
    const { isClockRight, mostBytes: most = mostBytes } = this.#parts;
    const now = this.#now();
    const all = [...(await this.#files.list())].sort((one, other) => other.start - one.start);
    const days = new Set(all.filter(({ kind }) => kind === "day").map(({ start }) => start));
    let sum = 0;
    for (const span of all) {
      const isOld =
        span.kind === "day"
          ? span.start < now - keptDays * day
          : span.start <= now - day - hour &&
            (days.has(floorTo(span.start, day)) || span.start < now - 3 * day);
      const isAhead = span.start > now + hour && isClockRight() === true;
      sum += span.bytes;
      if (isOld || isAhead || sum > most) {
        await this.#files.remove(span);
        sum -= span.bytes;
      }
    }
  }

  /** At most `points` points of each of these sensors: the last known value in each part of the time. */
  async of(
    controller: string,
    sensors: readonly string[],
    range: Range | null,
    points: number,
  ): Promise<Omit<Trends, "nights" | "demo">> {
    const { controllers, ...found } = await this.ofAll(new Map([[controller, sensors]]), range, points);
    return { ...found, sensors: controllers[controller] ?? {} };
  }

  /** The same for several controllers; each file is opened once. */
  async ofAll(
    wanted: ReadonlyMap<string, readonly string[]>,
    range: Range | null,
    points: number,
  ): Promise<TrendsOfAll> {
    const now = this.#now();
    const until = range === null ? now : Math.min(now, Math.floor(range.until / minuteMs));
    const asked = range === null ? until - day + 1 : Math.ceil(range.since / minuteMs);
    const since = Math.max(asked, until - keptDays * day);
    const step = Math.max(1, Math.ceil((until - since + 1) / points));
    const first = until - step * Math.ceil((until - since + 1) / step) + 1;
    const empty = () => new Array<number | null>((until - first + 1) / step).fill(null);
    const lists = new Map(
      [...wanted].map(([id, sensors]) => [id, new Map(sensors.map((sensor) => [sensor, empty()]))]),
    );
    const fill = (start: number, apart: number, blocks: Blocks) => {
      for (const [controller, sensors] of lists)
        for (const [sensor, own] of sensors)
          for (const [at, point] of (blocks.get(controller)?.get(sensor) ?? []).entries()) {
            if (point === null) continue;
            const from = start + at * apart;
            for (let minute = from; minute < from + apart; minute += step)
              if (minute >= first && minute <= until) own[Math.floor((minute - first) / step)] = point;
          }
    };
    for (const [start, blocks] of this.#past) fill(start, 1, blocks);
    for (const span of await this.#spansIn(first, until))
      fill(span.start, spans[span.kind].step, await this.#blocksAt(span, [...wanted.keys()]));
    return {
      step_s: step * 60,
      since: new Date(first * minuteMs).toISOString(),
      until: new Date((until + 1) * minuteMs - 1).toISOString(),
      controllers: Object.fromEntries(
        [...lists].map(([id, sensors]) => [id, Object.fromEntries(sensors)] as const),
      ),
    };
  }

  /** Days first, then the hours, whose finer points go over them. */
  async #spansIn(first: number, until: number): Promise<readonly Span[]> {
    const all = await this.#files.list().catch(() => []);
    const held = [...new Set([...this.#rows.keys()].map((minute) => floorTo(minute, hour)))];
    const hours = new Set([...held, ...all.flatMap(({ kind, start }) => (kind === "hour" ? [start] : []))]);
    const days = all.filter(({ kind }) => kind === "day");
    const found = [...days, ...[...hours].map((start): Span => ({ kind: "hour", start }))];
    return found.filter(({ kind, start }) => start <= until && start + spans[kind].minutes > first);
  }

  /** Memory is newer than the disk for hours that it holds. */
  async #blocksAt(span: Span, controllers: readonly string[]): Promise<Blocks> {
    const isHeld = span.kind === "hour" && this.#rows.has(this.#lastOf(span.start));
    const kept = isHeld ? null : await this.#files.read(span, controllers).catch(nullIfFailed);
    if (span.kind === "day") return kept ?? new Map<string, Block>();
    return new Map(
      controllers.map((id) => [id, kept?.get(id) ?? this.#blockInMemory(id, span.start)] as const),
    );
  }

  #lastOf(start: number): number {
    return [...this.#rows.keys()].findLast((minute) => floorTo(minute, hour) === start) ?? -1;
  }

  /** Reports a disk error once; the rest of the bridge goes on. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#problem = "";
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#problem) this.#parts.onProblem(problem);
      this.#problem = problem;
    }
  }
}

/** Merges both; the second counts where the first has no value. */
function join(kept: Blocks, past: Blocks): Blocks {
  const all = new Map<string, Block>(kept);
  for (const [controller, added] of past) {
    const block = new Map<string, Points>(kept.get(controller));
    for (const [sensor, points] of added) {
      const own = block.get(sensor);
      block.set(sensor, own === undefined ? points : own.map((point, at) => point ?? points[at] ?? null));
    }
    all.set(controller, block);
  }
  return all;
}

function knownValue({ definition, value, quality }: Sensor): number | null {
  const isKnown = quality === "good" || quality === "uncertain";
  return definition.numeric && isKnown && typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Below this part of the brightest value it is dark. */
const darkPart = 0.01;
/** A shorter darkness may be a cloud. */
const leastNightS = 2 * 3600;

/** When it was dark, judged by the points of a light sensor; pairs of ISO times. */
export function nightsOf(
  points: Points,
  since: string,
  stepS: number,
): readonly (readonly [from: string, until: string])[] {
  const brightest = Math.max(...points.map((point) => point ?? 0));
  const isDark = (point: number | null | undefined) =>
    typeof point === "number" && point <= brightest * darkPart;
  const at = (place: number) => new Date(Date.parse(since) + place * stepS * 1000).toISOString();
  const nights: (readonly [string, string])[] = [];
  let began = -1;
  for (let place = 0; place <= points.length; place += 1) {
    if (isDark(points[place])) {
      if (began < 0) began = place;
    } else if (began >= 0) {
      const isShort = (place - began) * stepS < leastNightS && began > 0 && place < points.length;
      if (!isShort && brightest > 0) nights.push([at(began), at(place)]);
      began = -1;
    }
  }
  return nights;
}
