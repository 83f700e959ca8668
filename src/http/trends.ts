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
 * that would take more than 16 MiB, points stand further apart.
 */
export class TrendRing {
  readonly #parts: TrendParts;
  readonly #mostBytes: number;
  readonly #since: number;
  #stepMinutes = 1;
  #rings = new Map<string, Float32Array>();
  /** The slot of the newest points: steps since 1970. */
  #newest = 0;

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

  /** Memory that the points take. */
  get bytes(): number {
    return this.#rings.size * this.#slots * Float32Array.BYTES_PER_ELEMENT;
  }

  sample(): void {
    this.#moveTo(this.#slotOf(this.#parts.clock.now()));
    const seen = new Set<string>();
    for (const { info, sensors } of this.#parts.controllers())
      for (const { definition, value, quality } of sensors.values()) {
        if (!definition.numeric) continue;
        const key = keyOf(info.id, definition.id);
        seen.add(key);
        const isKnown = quality === "good" || quality === "uncertain";
        if (isKnown && typeof value === "number") this.#ringOf(key)[this.#newest % this.#slots] = value;
      }
    for (const key of this.#rings.keys()) if (!seen.has(key)) this.#rings.delete(key);
  }

  /** Of one sensor, or of all of a controller; of `points` at most, each the last value known in its part of the day. */
  of(controllerId: string, sensorIds: Iterable<string>, points: number): Trends {
    const stride = Math.ceil(this.#slots / points);
    const stepMs = this.#stepMinutes * minuteMs;
    const sensors: Record<string, readonly (number | null)[]> = {};
    for (const id of sensorIds) {
      const ring = this.#rings.get(keyOf(controllerId, id));
      if (ring !== undefined) sensors[id] = this.#read(ring, stride);
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

  #slotOf(at: number): number {
    return Math.floor(at / minuteMs / this.#stepMinutes);
  }

  #read(ring: Float32Array, stride: number): readonly (number | null)[] {
    const slots = this.#slots;
    const read: (number | null)[] = [];
    for (let last = slots - 1; last >= 0; last -= stride) {
      let found: number | null = null;
      for (let back = 0; back < stride && found === null && last - back >= 0; back += 1) {
        const value = ring[(this.#newest + 1 + last - back) % slots] ?? NaN;
        if (!Number.isNaN(value)) found = Number(value.toPrecision(6));
      }
      read.unshift(found);
    }
    return read;
  }

  #ringOf(key: string): Float32Array {
    const held = this.#rings.get(key);
    if (held !== undefined) return held;
    const ring = new Float32Array(this.#slots).fill(NaN);
    this.#rings.set(key, ring);
    if (this.bytes <= this.#mostBytes) return ring;
    this.#widen();
    return this.#ringOf(key);
  }

  /** What was not sampled is a gap, also where the clock was set. */
  #moveTo(slot: number): void {
    const slots = this.#slots;
    const [from, to] = slot >= this.#newest ? [this.#newest + 1, slot] : [slot + 1, this.#newest];
    for (const ring of this.#rings.values())
      if (to - from >= slots) ring.fill(NaN);
      else for (let at = from; at <= to; at += 1) ring[at % slots] = NaN;
    this.#newest = slot;
  }

  /** Puts points further apart; of several that fall together the newest stays. */
  #widen(): void {
    const [before, slots, newest] = [this.#stepMinutes, this.#slots, this.#newest];
    const held = this.#rings;
    this.#stepMinutes = before + 1;
    this.#rings = new Map();
    this.#newest = Math.floor((newest * before) / this.#stepMinutes);
    for (const [key, ring] of held) {
      const wide = new Float32Array(this.#slots).fill(NaN);
      for (let at = Math.max(0, newest - slots + 1); at <= newest; at += 1) {
        const value = ring[at % slots] ?? NaN;
        const slot = Math.floor((at * before) / this.#stepMinutes);
        if (!Number.isNaN(value) && slot > this.#newest - this.#slots) wide[slot % this.#slots] = value;
      }
      this.#rings.set(key, wide);
    }
  }
}

const keyOf = (controllerId: string, sensorId: string) => `${controllerId}/${sensorId}`;
