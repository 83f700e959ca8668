import type { Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import { every } from "../runtime/schedule.js";
import type { Faults } from "./faults.js";
import type { Trends } from "../page/protocol.js";

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const mostBytes = 16 * 1024 * 1024;

/**
 * The last 24 hours of every numeric sensor, in memory alone: a point a minute, a gap where nothing good was known. Where
 * that would take more than 16 MiB, points stand twice as far apart. What was sampled together is one row, so that a day of
 * many sensors comes minute by minute, in few pieces.
 */
export class TrendRing {
  readonly #clock: Clock;
  readonly #controllers: () => Iterable<Controller>;
  readonly #mostBytes: number;
  readonly #since: number;
  #stepMinutes = 1;
  #newest = 0;
  /** By the minute since 1970 at which the row begins; a later one is never shorter. */
  readonly #rows = new Map<number, Float32Array>();
  /** Where in a row the points of a sensor stand. */
  readonly #places = new Map<string, number>();

  constructor(clock: Clock, controllers: () => Iterable<Controller>, bytes = mostBytes) {
    this.#clock = clock;
    this.#controllers = controllers;
    this.#mostBytes = bytes;
    this.#since = clock.now();
  }

  /** Twice a minute, as a pause of a whole one would leave a minute out now and then. */
  run(signal: AbortSignal, faults: Faults): Promise<void> {
    return every(minuteMs / 2, this.#clock, signal, () => faults.attempt(() => this.sample()));
  }

  get bytes(): number {
    return [...this.#rows.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  sample(): void {
    const points = new Map<string, number>();
    for (const { info, sensors } of this.#controllers())
      for (const { definition, value, quality } of sensors.values()) {
        const isKnown = typeof value === "number" && (quality === "good" || quality === "uncertain");
        if (definition.numeric) points.set(keyOf(info.id, definition.id), isKnown ? value : NaN);
      }
    // A platform that invents names without end gets no memory without end.
    if (this.#places.size > 2 * points.size + 1_000) {
      this.#places.clear();
      this.#rows.clear();
    }
    for (const key of points.keys()) if (!this.#places.has(key)) this.#places.set(key, this.#places.size);
    const dayBytes = this.#places.size * Float32Array.BYTES_PER_ELEMENT * dayMinutes;
    while (dayBytes > this.#mostBytes * this.#stepMinutes && this.#stepMinutes < dayMinutes)
      this.#stepMinutes *= 2;
    const minute = Math.floor(this.#clock.now() / minuteMs);
    this.#newest = minute - (minute % this.#stepMinutes);
    const row = new Float32Array(this.#places.size).fill(NaN);
    row.set(this.#rows.get(this.#newest) ?? []);
    for (const [key, value] of points)
      if (!Number.isNaN(value)) row[this.#places.get(key) ?? row.length] = value;
    this.#rows.set(this.#newest, row);
    // What was not sampled is a gap, also where the clock was set.
    for (const at of this.#rows.keys())
      if (at % this.#stepMinutes > 0 || at > this.#newest || at <= this.#newest - dayMinutes)
        this.#rows.delete(at);
  }

  /** Of these sensors of a controller, of `points` at most, each the last value known in its part of the day. */
  of(controllerId: string, sensorIds: Iterable<string>, points: number): Trends {
    const stride = this.#stepMinutes * Math.ceil(dayMinutes / this.#stepMinutes / points);
    const lists = [...sensorIds].flatMap((id) => {
      const place = this.#places.get(keyOf(controllerId, id));
      return place === undefined ? [] : [[id, this.#read(place, stride)] as const];
    });
    return {
      step_s: stride * 60,
      until: new Date(Math.max(this.#newest * minuteMs, this.#since)).toISOString(),
      since: new Date(this.#since).toISOString(),
      sensors: Object.fromEntries(lists),
    };
  }

  #read(place: number, stride: number): readonly (number | null)[] {
    const points: (number | null)[] = [];
    for (let last = this.#newest; last > this.#newest - dayMinutes; last -= stride) {
      const rows = Array.from({ length: stride }, (_, back) => this.#rows.get(last - back)?.[place] ?? NaN);
      const known = rows.find((value) => !Number.isNaN(value));
      points.push(known === undefined ? null : Number(known.toPrecision(6)));
    }
    return points.reverse();
  }
}

const keyOf = (controllerId: string, sensorId: string) => `${controllerId}/${sensorId}`;
