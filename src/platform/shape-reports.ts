import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { isContainer } from "./decode/wire.js";
import type { Operation } from "./operations.js";

/** Something in the answers of one operation that could not be read, with the names it had and never its values. */
export interface ShapeReport {
  readonly operation: string;
  readonly problem: string;
  /** Names of the first such item's fields, or its type where it has none. */
  readonly sample: readonly string[];
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Takes what decoders of one operation could not read. */
export type ReportShape = (problem: string, sample: unknown) => void;

const maxReports = 200;
const maxNames = 20;

/** Counts unreadable shapes and logs each kind of them once. */
export class ShapeReports {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #reports = new Map<string, ShapeReport>();
  #isFull = false;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  of(operation: Operation): ReportShape {
    return (problem, sample) => {
      this.#add(operation.name, problem, sampleOf(sample));
    };
  }

  list(): readonly ShapeReport[] {
    return [...this.#reports.values()];
  }

  #add(operation: string, problem: string, sample: readonly string[]): void {
    const key = JSON.stringify([operation, problem, sample]);
    const now = this.#clock.now();
    const known = this.#reports.get(key);
    if (known) {
      this.#reports.set(key, { ...known, count: known.count + 1, lastAt: now });
      return;
    }
    if (this.#reports.size >= maxReports) {
      if (!this.#isFull) this.#log.warn("more than 200 unreadable shapes; further ones are not kept");
      this.#isFull = true;
      return;
    }
    this.#reports.set(key, { operation, problem, sample, count: 1, firstAt: now, lastAt: now });
    this.#log.warn(
      { operation, problem, sample },
      `an answer of ${operation} holds something that cannot be read: ${problem}; platform.shapes.${operation} can say where things are`,
    );
  }
}

function sampleOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return ["(list)"];
  if (!isContainer(value)) return [value === null ? "(null)" : `(${typeof value})`];
  const names: string[] = [];
  for (const name in value) {
    if (names.length === maxNames) break;
    names.push(name.length > 40 ? `${name.slice(0, 40)}…` : name);
  }
  return names;
}
