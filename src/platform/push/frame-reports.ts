import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import { isContainer } from "../decode/wire.js";
import type { Redact } from "../../runtime/redaction.js";
import { oneLine } from "../one-line.js";
import type { ShapeReport } from "../shape-reports.js";

const maxReports = 60;
const maxNames = 20;
const maxTextLength = 60;

/** Counts what could not be read in pushed frames, keeps a short sample of each kind without its values, and logs it once. */
export class FrameReports {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #redact: Redact;
  readonly #reports = new Map<string, ShapeReport>();

  constructor(log: Logger, clock: Clock, redact: Redact) {
    this.#log = log;
    this.#clock = clock;
    this.#redact = redact;
  }

  list(): readonly ShapeReport[] {
    return [...this.#reports.values()];
  }

  /** `channel` as the configuration names it: `ws/set-value`. */
  add(channel: string, problem: string, found: unknown): void {
    const now = this.#clock.now();
    const key = this.#keyOf(channel, problem, found);
    const known = this.#reports.get(key);
    if (known) {
      this.#reports.set(key, { ...known, count: known.count + 1, lastAt: now });
      return;
    }
    const sample = this.#sampleOf(found);
    this.#reports.set(key, { operation: channel, problem, sample, count: 1, firstAt: now, lastAt: now });
    this.#log.warn(
      { channel, problem, sample },
      `a frame of ${channel} holds something that cannot be read; it is left out. platform.shapes.${channel} can say where things are`,
    );
  }

  /** Frames that differ in their names are shapes of their own; texts, and what comes when the list is full, are not. */
  #keyOf(channel: string, problem: string, found: unknown): string {
    const shape = isContainer(found) ? this.#sampleOf(found) : [];
    const key = JSON.stringify([channel, problem, shape]);
    if (this.#reports.has(key) || this.#reports.size < maxReports) return key;
    return JSON.stringify([channel]);
  }

  #sampleOf(found: unknown): readonly string[] {
    if (typeof found === "string") return [this.#skeleton(found)];
    if (!isContainer(found)) return [];
    if (Array.isArray(found)) return ["(list)"];
    return Object.keys(found)
      .slice(0, maxNames)
      .map((name) => oneLine(this.#redact(name), 40));
  }

  /** The look of a text: every letter of a value is an `x`, every digit a `0`. */
  #skeleton(text: string): string {
    const plain = oneLine(text, maxTextLength);
    return plain.replace(/\p{L}/gu, "x").replace(/\p{N}/gu, "0");
  }
}
