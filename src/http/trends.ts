import type { Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Trends } from "../page/protocol.js";

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const mostBytes = 16 * 1024 * 1024;

interface TrendParts {
  readonly clock: Clock;
  readonly controllers: () => Iterable<Controller>;
}

/**
 * The last 24 hours of every numeric sensor, in memory alone: a point a minute, a gap where nothing good was known. Where
 * that would take more than 16 MiB, points stand further apart. What was sampled together is one row, so that a day of
 * many sensors comes minute by minute, in few pieces.
 */
export class TrendRing {
  readonly #parts: TrendParts;
  readonly #mostBytes: number;
  readonly #since: number;
  #stepMinutes = 1;
  /** By slot, which counts steps since 1970; the oldest first. A later row is never shorter than an earlier one. */
  #rows = new Map<number, Float32Array>();
  #newest = 0;
  /** Where in a row the points of a sensor stand. */
  readonly #places = new Map<string, number>();
  readonly #freePlaces: number[] = [];

  constructor(parts: TrendParts, bytes = mostBytes) {
    this.#parts = parts;
    this.#mostBytes = bytes;
    this.#since = parts.clock.now();
  }

  /** Once in each minute of the clock: a pause from one time to the next would leave one out now and then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    for (;;) {
      await clock.wait(minuteMs - (clock.now() % minuteMs), signal).catch(() => undefined);
      if (signal.aborted) return;
      this.sample();
    }
  }

  get bytes(): number {
    return [...this.#rows.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  sample(): void {
    const known = new Map<string, number>();
    for (const { info, sensors } of this.#parts.controllers())
      for (const { definition, value, quality } of sensors.values()) {
        const isKnown = typeof value === "number" && (quality === "good" || quality === "uncertain");
        if (definition.numeric) known.set(keyOf(info.id, definition.id), isKnown ? value : NaN);
      }
    this.#settle(known);
    this.#newest = Math.floor(this.#parts.clock.now() / minuteMs / this.#stepMinutes);
    // What was not sampled is a gap, also where the clock was set.
    for (const slot of this.#rows.keys())
      if (slot > this.#newest || slot <= this.#newest - this.#slots) this.#rows.delete(slot);
    const row = new Float32Array(this.#width).fill(NaN);
    row.set(this.#rows.get(this.#newest) ?? []);
    for (const [key, value] of known)
      if (!Number.isNaN(value)) row[this.#places.get(key) ?? this.#width] = value;
    this.#rows.set(this.#newest, row);
  }

  /** Of one sensor, or of all of a controller; of `points` at most, each the last value known in its part of the day. */
  of(controllerId: string, sensorIds: Iterable<string>, points: number): Trends {
    const stride = Math.ceil(this.#slots / points);
    const stepMs = this.#stepMinutes * minuteMs;
    const sensors: Record<string, readonly (number | null)[]> = {};
    for (const id of sensorIds) {
      const place = this.#places.get(keyOf(controllerId, id));
      if (place !== undefined) sensors[id] = this.#read(place, stride);
    }
    return {
      step_s: (stride * stepMs) / 1000,
      until: new Date(this.#newest * stepMs).toISOString(),
      since: new Date(this.#since).toISOString(),
      sensors,
    };
  }

  get #slots(): number {
    return Math.ceil(dayMinutes / this.#stepMinutes);
  }

  get #width(): number {
    return this.#places.size + this.#freePlaces.length;
  }

  #read(place: number, stride: number): readonly (number | null)[] {
    const before = this.#newest - this.#slots;
    const read: (number | null)[] = [];
    for (let last = this.#newest; last > before; last -= stride) {
      let found = NaN;
      for (let slot = last; slot > Math.max(before, last - stride) && Number.isNaN(found); slot -= 1)
        found = this.#rows.get(slot)?.[place] ?? NaN;
      read.push(Number.isNaN(found) ? null : Number(found.toPrecision(6)));
    }
    return read.reverse();
  }

  /** Gives each sensor its place; that of one which is gone is emptied for another. */
  #settle(sensors: ReadonlyMap<string, unknown>): void {
    for (const [key, place] of this.#places) {
      if (sensors.has(key)) continue;
      this.#places.delete(key);
      this.#freePlaces.push(place);
      for (const row of this.#rows.values()) if (place < row.length) row[place] = NaN;
    }
    for (const key of sensors.keys())
      if (!this.#places.has(key)) this.#places.set(key, this.#freePlaces.pop() ?? this.#places.size);
    const rowBytes = this.#width * Float32Array.BYTES_PER_ELEMENT;
    while (this.#slots > 1 && this.#slots * rowBytes > this.#mostBytes) this.#widen();
  }

  /** Puts points further apart; of several that fall together the newest stays. */
  #widen(): void {
    const before = this.#stepMinutes;
    this.#stepMinutes += 1;
    const rows = new Map<number, Float32Array>();
    for (const [earlierSlot, row] of this.#rows) {
      const slot = Math.floor((earlierSlot * before) / this.#stepMinutes);
      for (const [place, value] of rows.get(slot)?.entries() ?? [])
        if (Number.isNaN(row[place])) row[place] = value;
      rows.set(slot, row);
    }
    this.#rows = rows;
  }
}

const keyOf = (controllerId: string, sensorId: string) => `${controllerId}/${sensorId}`;
