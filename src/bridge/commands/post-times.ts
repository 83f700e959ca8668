import type { Clock } from "../../runtime/clock.js";
import type { PostMemory } from "./checks.js";
import type { Command } from "./command.js";
import type { PostMoment } from "./post-step.js";

/** Least time between two stops sent to one actuator, ms. */
const stopIntervalMs = 2_000;

/** What an actuator's lane knows of its POSTs; instants are monotonic ms. */
export class PostTimes {
  readonly #clock: Pick<Clock, "monotonic">;
  #firstPostAt: number | null = null;
  #stopPostAt: number | null = null;
  #endedAt: number | null = null;
  #unread: boolean;

  constructor(clock: Pick<Clock, "monotonic">, unread: boolean) {
    this.#clock = clock;
    this.#unread = unread;
    // How long ago the last run sent it, no clock tells: it may be moving as if it had been sent just now.
    if (unread) this.ended();
  }

  /** A command begins to send. */
  begins(): void {
    this.#firstPostAt = this.#clock.monotonic();
  }

  /** Returns when. */
  posted({ wanted }: Command, moment: PostMoment): number {
    const at = this.ended();
    if (wanted.type === "stop" && moment === "begins") this.#stopPostAt = at;
    return at;
  }

  /** Something of ours went out until now that nobody has read back. */
  ended(): number {
    this.#unread = true;
    this.#endedAt = this.#clock.monotonic();
    return this.#endedAt;
  }

  /** A valid read begun at `startedMono`: true when it accounts for POSTs nobody had read back. */
  readSince(startedMono: number): boolean {
    if (!this.#unread || (this.#endedAt !== null && startedMono < this.#endedAt)) return false;
    this.#unread = false;
    return true;
  }

  /** From when the command may go: stops keep a distance from stops alone, others `min_interval`. */
  mayGoFrom({ wanted, settings }: Command): number {
    const isStop = wanted.type === "stop";
    const since = isStop ? this.#stopPostAt : this.#firstPostAt;
    return since === null ? -Infinity : since + (isStop ? stopIntervalMs : settings.minIntervalMs);
  }

  isWithin(travelMs: number): boolean {
    return this.#endedAt !== null && this.#clock.monotonic() - this.#endedAt < travelMs;
  }

  /** A command that still confirms may show at any moment: until then nothing is there already. */
  memory(isConfirming: boolean): PostMemory {
    return {
      lastPostEndedAt: this.#endedAt,
      unread: this.#unread || isConfirming,
    };
  }
}
