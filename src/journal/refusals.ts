import type { Clock } from "../runtime/clock.js";
import type { Journal } from "./journal.js";
import type { Refusal, RefusalsCounted } from "./records.js";

/*
 * Every refusal is answered, but a script gone wild must not wear out the card: above so many a minute per actuator the
 * rest of that minute becomes one record with a count.
 */

export const refusalsPerMinute = 60;
const windowMs = 60_000;
/** Unknown actuators are named by whoever sends; beyond this many names they share one count. */
const mostKeys = 1_000;
const sharedKey = "";

/** One minute of one actuator. */
export interface RefusalWindow {
  readonly controller: string | null;
  readonly actuator: string | null;
  readonly openedAt: number;
  readonly admitted: number;
  readonly reasons: Readonly<Record<string, number>>;
  /** ISO time of the first one only counted. */
  readonly since: string | null;
}

/** The window after one more refusal; the refusal has a record of its own when `admitted` grew. */
export function withRefusal(window: RefusalWindow, { result }: Refusal): RefusalWindow {
  if (window.admitted < refusalsPerMinute) return { ...window, admitted: window.admitted + 1 };
  const reason = result.reason ?? "unknown";
  const reasons = { ...window.reasons, [reason]: (window.reasons[reason] ?? 0) + 1 };
  return { ...window, reasons, since: window.since ?? result.finished_at };
}

/** The record of a window that is over; null when nothing was only counted. */
export function countedRecord(window: RefusalWindow): RefusalsCounted | null {
  const { controller, actuator, reasons, since } = window;
  if (since === null) return null;
  const count = Object.values(reasons).reduce((sum, one) => sum + one, 0);
  return { type: "refusals_counted", controller, actuator, count, reasons, since };
}

/** Puts refusals into a journal under the flood rule; never durable. */
export class RefusalBook {
  readonly #journal: Pick<Journal, "append">;
  readonly #clock: Clock;
  readonly #windows = new Map<string, RefusalWindow>();

  constructor(journal: Pick<Journal, "append">, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** Resolves once recorded or counted; rejects like `Journal.append`. */
  async record(refusal: Refusal): Promise<void> {
    const own = `${refusal.controller}/${refusal.target ?? "actuator"}/${refusal.actuator}`;
    const key = this.#windows.has(own) || this.#windows.size < mostKeys ? own : sharedKey;
    const over = this.#isOver(key) ? this.#close(key) : null;
    const before = this.#windows.get(key) ?? this.#opened(key, refusal);
    const after = withRefusal(before, refusal);
    this.#windows.set(key, after);
    await over;
    if (after.admitted > before.admitted) await this.#journal.append(refusal, { durable: false });
  }

  /** Writes counts as their minutes end, and what is left when the signal aborts. Counts that cannot be written are lost. */
  async run(signal: AbortSignal): Promise<void> {
    while (await this.#waited(signal)) await this.#closeAll((key) => this.#isOver(key));
    await this.#closeAll(() => true);
  }

  async #waited(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#clock.wait(windowMs, signal);
      return true;
    } catch {
      return false;
    }
  }

  #opened(key: string, { controller, actuator }: Refusal): RefusalWindow {
    const about = key === sharedKey ? { controller: null, actuator: null } : { controller, actuator };
    return { ...about, openedAt: this.#clock.monotonic(), admitted: 0, reasons: {}, since: null };
  }

  #isOver(key: string): boolean {
    const window = this.#windows.get(key);
    return window !== undefined && this.#clock.monotonic() - window.openedAt >= windowMs;
  }

  async #closeAll(due: (key: string) => boolean): Promise<void> {
    const keys = [...this.#windows.keys()].filter(due);
    await Promise.allSettled(keys.map((key) => this.#close(key)));
  }

  async #close(key: string): Promise<void> {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    const record = window === undefined ? null : countedRecord(window);
    if (record !== null) await this.#journal.append(record, { durable: false });
  }
}
