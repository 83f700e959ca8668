import type { RecordBody } from "../../journal/records.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";

export interface ClockJumpPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly note: (record: RecordBody) => void;
}

const lookMs = 1_000;
/** Smaller steps are what time servers make every day. */
const noticeableMs = 2_000;

/** A pair of readings, taken together. */
export interface Reading {
  readonly wall: number;
  readonly monotonic: number;
}

/** By how much the wall clock was set between two readings; null where it only went on. Positive: forward. */
export function jumpMs(before: Reading, after: Reading): number | null {
  const jump = after.wall - before.wall - (after.monotonic - before.monotonic);
  return Math.abs(jump) > noticeableMs ? Math.round(jump) : null;
}

/** Says in log and journal when the wall clock is set, so that times in both can be understood later. */
export class ClockJumps {
  readonly #ports: ClockJumpPorts;
  #count = 0;

  constructor(ports: ClockJumpPorts) {
    this.#ports = ports;
  }

  get count(): number {
    return this.#count;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const read = (): Reading => ({ wall: clock.now(), monotonic: clock.monotonic() });
    let before = read();
    while (!signal.aborted) {
      await clock.wait(lookMs, signal).catch(() => undefined);
      const after = read();
      const jump = jumpMs(before, after);
      before = after;
      if (jump !== null) this.#tell(jump, after.wall);
    }
  }

  #tell(byMs: number, wall: number): void {
    const { log, note } = this.#ports;
    this.#count += 1;
    log.warn(
      { by_s: Math.round(byMs / 1_000), now: isoOf(wall) },
      "the clock of this computer was set; deadlines and intervals are not affected by it",
    );
    note({ type: "clock_jump", by_ms: byMs });
  }
}

const isoOf = (wall: number): string | null =>
  Number.isFinite(wall) && Math.abs(wall) <= 8.64e15 ? new Date(wall).toISOString() : null;
