import type { Clock } from "../../../src/runtime/clock.js";
import type { Chance } from "../../simulation/scenario.js";
import { waitingBy } from "../../../src/runtime/clock.js";
import type { VirtualTime } from "../../support/virtual-clock.js";

/** By a right clock, at the beginning of the virtual time. */
export const epochMs = Date.parse("2026-03-01T08:00:00Z");

/**
 * A process on a computer of its own. Its clocks run slightly fast or slow and may be set, and it may stop before any
 * event, for a while or for good.
 */
export class Process {
  readonly id: string;
  readonly clock: Clock;
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  /** The speed of its clocks. */
  readonly #rate: number;
  readonly #startedAt: number;
  #wallOffset: number;
  /** What the monotonic clock missed while the computer was suspended. */
  #suspended = 0;
  #isAlive = true;
  #isStopped = false;
  #waiting: (() => void)[] = [];
  #wake: () => void = () => undefined;
  /** The probability that it is stopped before an event. */
  pauses = 0;
  /** The total by which its wall clock was set forward. */
  forwardMs = 0;

  constructor(id: string, time: VirtualTime, chance: Chance) {
    this.id = id;
    this.#time = time;
    this.#chance = chance;
    this.#rate = chance.between(0.98, 1.02);
    this.#startedAt = time.now - chance.between(0, 1_000_000);
    this.#wallOffset = epochMs + chance.between(-5_000, 5_000);
    const after: Clock["after"] = (ms, call) => {
      let isWanted = true;
      const takeBack = time.in(Math.max(1, ms) / this.#rate, () =>
        this.goOn(() => {
          if (isWanted) call();
        }),
      );
      return () => {
        isWanted = false;
        takeBack();
      };
    };
    this.clock = {
      now: () => Math.round(this.#wallOffset + time.now * this.#rate),
      monotonic: () => this.upMs() - this.#suspended,
      soon: (call) => {
        after(1, call);
      },
      after,
      wait: waitingBy(after),
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  readonly upMs = (): number => (this.#time.now - this.#startedAt) * this.#rate;

  /** All events of the process come in here: answers, messages, timers. */
  goOn(call: () => void): void {
    if (!this.#isAlive) return;
    if (!this.#isStopped && this.#chance.hits(this.pauses))
      this.stop(this.#chance.logUniform(100, 70_000), false);
    if (this.#isStopped) this.#waiting.push(call);
    else call();
  }

  /** Stops it as SIGSTOP does, or with its computer, whose monotonic clock then stands still. */
  stop(ms: number, withComputer: boolean): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    const from = this.#time.now;
    const wake = () => {
      takeBack();
      if (withComputer) this.#suspended += (this.#time.now - from) * this.#rate;
      this.#isStopped = false;
      // One after the other: what follows from the first comes before the second, as in a real process.
      for (const call of this.#waiting.splice(0)) this.#time.in(0, () => this.goOn(call));
    };
    const takeBack = this.#time.in(ms, wake);
    this.#wake = wake;
  }

  /** Ends a stop early. */
  wake(): void {
    if (this.#isStopped) this.#wake();
  }

  setWall(byMs: number): void {
    this.#wallOffset += byMs;
    this.forwardMs += Math.max(0, byMs);
  }

  /** How far its wall clock is ahead of a right one. */
  get aheadMs(): number {
    return this.clock.now() - epochMs - this.#time.now;
  }

  kill(): void {
    this.#isAlive = false;
    this.#waiting = [];
  }
}
