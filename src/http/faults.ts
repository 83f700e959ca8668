import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { stackText } from "../runtime/stack-trace.js";

const sayEveryMs = 60_000;
const mostReason = 500;

/**
 * Catches errors of page, metrics and API, which must not fail the bridge. A client can repeat an error at will, so the
 * log gets one line a minute: how many there were, and where the newest arose.
 */
export class Faults {
  readonly #log: Logger;
  readonly #clock: Clock;
  #unsaid = 0;
  #saidAt = -Infinity;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Runs a function and notes what it throws. */
  attempt(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.note(error);
    }
  }

  note(error: unknown): void {
    this.#unsaid += 1;
    const now = this.#clock.monotonic();
    if (now - this.#saidAt < sayEveryMs) return;
    const said =
      "page, metrics or API met a defect; the bridge itself goes on. Please report it with this line";
    this.#log.error({ count: this.#unsaid, reason: reasonOf(error) }, said);
    this.#saidAt = now;
    this.#unsaid = 0;
  }
}

/** The error and the top of its stack, in one line. */
function reasonOf(error: unknown): string {
  const text = stackText(error);
  const [first = "", ...frames] = text.split("\n").map((line) => line.trim());
  return [first, ...frames.slice(0, 3)].join(" ").slice(0, mostReason);
}
