import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { stackText } from "../runtime/stack-trace.js";

const sayEveryMs = 60_000;
const mostReason = 500;

/**
 * What fails in page, metrics or API must not fail the bridge: it is caught here. Whoever finds a defect may repeat it as often as
 * he likes, so that the log gets one line a minute, with how many there were and where the newest one arose.
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

  /** Runs what must not throw. */
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

/** The error and the first places of its stack, in one line. */
function reasonOf(error: unknown): string {
  const text = stackText(error);
  const [first = "", ...frames] = text.split("\n").map((line) => line.trim());
  return [first, ...frames.slice(0, 3)].join(" ").slice(0, mostReason);
}
