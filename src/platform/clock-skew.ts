import type { Clock } from "../runtime/clock.js";

const everyMs = 5_000;

/**
 * How far the platform's clock is ahead of ours, from the `Date` header of its answers. The date is carried forward on the
 * monotonic clock, so that a jump of the wall clock shows at once and not with the next answer.
 */
export class ClockSkew {
  readonly #clock: Clock;
  #dateAt = 0;
  #notedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(dateHeader: string | undefined): void {
    const now = this.#clock.monotonic();
    if (dateHeader === undefined || (this.#notedAt !== null && now - this.#notedAt < everyMs)) return;
    const dateAt = Date.parse(dateHeader);
    if (!Number.isFinite(dateAt)) return;
    this.#dateAt = dateAt;
    this.#notedAt = now;
  }

  /** Ms the platform is ahead, exact to a few seconds; null while it gave no date. */
  skewMs(): number | null {
    if (this.#notedAt === null) return null;
    return this.#dateAt + (this.#clock.monotonic() - this.#notedAt) - this.#clock.now();
  }
}
