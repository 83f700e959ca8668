import type { Clock } from "../runtime/clock.js";

const pauseMs = 60_000;

/**
 * Reads everything once after a channel was lost and after it is open again, for what changed meanwhile was pushed to nobody. However
 * often channels come and go, one round ends, and a pause passes, before the next begins.
 */
export class PushRecovery {
  readonly #clock: Clock;
  readonly #refresh: () => Promise<void>;
  #isWanted = false;
  #wake: () => void = () => undefined;

  /** `refresh` resolves when everything has been tried. */
  constructor(clock: Clock, refresh: () => Promise<void>) {
    this.#clock = clock;
    this.#refresh = refresh;
  }

  want(): void {
    this.#isWanted = true;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener(
        "abort",
        () => {
          resolve();
        },
        { once: true },
      );
    });
    const isOver = () => signal.aborted;
    while (!isOver()) {
      if (!this.#isWanted) await Promise.race([this.#wanted(), aborted]);
      if (isOver()) return;
      this.#isWanted = false;
      await Promise.race([this.#refresh(), aborted]);
      await this.#clock.wait(pauseMs, signal).catch(() => undefined);
    }
  }

  #wanted(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
