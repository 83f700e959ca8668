import { msg, type Text } from "../language/text.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Redact } from "../runtime/redaction.js";
import { oneLine } from "./answer.js";
import { isContainer, type ReportShape } from "./decode/decoding.js";
import { lookOf, masked, placeIn } from "./decode/place.js";

/** Counts of the client's work since it was made. Names are single words, as they are published. */
export const newTally = () => ({
  /** All HTTP requests, including sign-ins and control values. */
  requests: 0,
  writes: 0,
  signins: 0,
  /** Tokens refused soon after they were issued, from the second in a row. */
  contested: 0,
  retries: 0,
  /** Requests without a usable answer. */
  failures: 0,
  /** Calls that were held back without a request. */
  paused: 0,
});

export type Tally = ReturnType<typeof newTally>;
export type PlatformCounters = Readonly<Tally>;

/** Counts of the push channels since the start. */
export const newPushTally = () => ({
  /** Channels that are open now. */
  open: 0,
  connects: 0,
  /** Open channels that ended. */
  lost: 0,
  /** Attempts that opened no channel. */
  failures: 0,
  frames: 0,
  /** Frames without usable content. */
  unreadable: 0,
});

export type PushTally = ReturnType<typeof newPushTally>;
export type PushCounters = Readonly<PushTally>;

/** Something unreadable in answers or frames, with its field names but never its values. */
export interface ShapeReport {
  /** The name in the configuration: `sensor-data`, `ws/set-value`. */
  readonly operation: string;
  readonly problem: Text;
  /** Field names of the first such item; its type where it has none, or the pattern of a text that is no JSON. */
  readonly sample: readonly string[];
  /** The place of the first one in the answer; null where unknown. */
  readonly place: string | null;
  /** What was there, without values. */
  readonly found: string;
  /** The whole answer is unusable, so no shape of items would help. */
  readonly whole?: true;
  /** No setting would make it readable, so it was left out. */
  readonly isLeftOut?: true;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/**
 * The most reports from one answer or frame. Each costs more than reading a good item, and further ones say nothing
 * new.
 */
const mostOfOne = 100;

/** Passes on only the first reports of one answer or frame. */
export function firstOnes(report: ReportShape): ReportShape {
  let left = mostOfOne;
  return (...told) => {
    if (left > 0) report(...told);
    left -= 1;
  };
}

const helpOf = (operation: string): string => `platform.shapes.${operation} can say where things are`;

const frameTold = ({ operation, isLeftOut }: ShapeReport): string =>
  isLeftOut === true
    ? `a frame of ${operation} is left out; polling reads what it was about`
    : `a frame of ${operation} holds something that cannot be read; it is left out. ${helpOf(operation)}`;

const mostKept = { answer: 200, frame: 60 } as const;
const maxNames = 20;

/** Counts unreadable shapes and logs each kind once. */
export class ShapeReports {
  readonly #of: keyof typeof mostKept;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #redact: Redact;
  readonly #reports = new Map<string, ShapeReport>();
  #isFull = false;

  constructor(of: keyof typeof mostKept, log: Logger, clock: Clock, redact: Redact) {
    this.#of = of;
    this.#log = log;
    this.#clock = clock;
    this.#redact = redact;
  }

  of(operation: string): ReportShape {
    return (problem, sample, answer) => this.#add({ operation, problem }, sample, answer);
  }

  /** Reports what no setting would make readable. */
  ofLeftOut(operation: string): ReportShape {
    return (problem, sample) => this.#add({ operation, problem, isLeftOut: true }, sample, undefined);
  }

  /** Counts answers that are unusable as a whole; the caller logs them. */
  useless(operation: string, what: string): void {
    const key = JSON.stringify([operation, what]);
    const { firstAt, count } = this.#reports.get(key) ?? { firstAt: this.#clock.now(), count: 0 };
    if (count === 0 && this.#reports.size >= mostKept[this.#of]) return;
    const problem = msg`no usable answer`;
    const [lastAt, place] = [this.#clock.now(), "the whole answer"];
    this.#reports.set(key, {
      operation,
      problem,
      sample: [],
      place,
      found: what,
      whole: true,
      count: count + 1,
      firstAt,
      lastAt,
    });
  }

  list(): readonly ShapeReport[] {
    return [...this.#reports.values()];
  }

  #add(
    about: Pick<ShapeReport, "operation" | "problem" | "isLeftOut">,
    found: unknown,
    answer: unknown,
  ): void {
    const { operation, problem } = about;
    const sample = this.#sampleOf(found);
    // Objects with other field names are shapes of their own; texts are not.
    const key = JSON.stringify([operation, problem, isContainer(found) ? sample : typeof found]);
    const now = this.#clock.now();
    const known = this.#reports.get(key);
    if (known) {
      this.#reports.set(key, { ...known, count: known.count + 1, lastAt: now });
      return;
    }
    const most = mostKept[this.#of];
    if (this.#reports.size >= most) {
      if (!this.#isFull) this.#log.warn(`more than ${most} unreadable shapes; further ones are not kept`);
      this.#isFull = true;
      return;
    }
    const place = answer === undefined ? null : this.#plain(placeIn(answer, found));
    const look = this.#plain(String(lookOf(found))) ?? "";
    const times = { count: 1, firstAt: now, lastAt: now };
    const report = { ...about, sample, place, found: look, ...times };
    this.#reports.set(key, report);
    if (this.#of === "frame") this.#log.warn({ channel: operation, problem, sample }, frameTold(report));
    else {
      const where = place === null ? "" : ` (${place}: ${look})`;
      const text = `an answer of ${operation} holds something that cannot be read: ${String(problem)}${where}; ${helpOf(operation)}`;
      this.#log.warn({ operation, problem, sample }, text);
    }
  }

  #plain(text: string | null): string | null {
    return text === null ? null : oneLine(this.#redact(text), 120);
  }

  #sampleOf(found: unknown): readonly string[] {
    if (Array.isArray(found)) return ["(list)"];
    if (typeof found === "string" && this.#of === "frame") return [masked(found)];
    if (!isContainer(found)) return [found === null ? "(null)" : `(${typeof found})`];
    const names: string[] = [];
    for (const name in found) {
      if (names.length === maxNames) break;
      names.push(oneLine(this.#redact(name), 40));
    }
    return names;
  }
}
