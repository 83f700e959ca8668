import type { RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { ServiceManager } from "../runtime/systemd.js";

/** What shows that the bridge really works. Instants are monotonic ms. */
export interface Progress {
  readonly startedAt: number;
  /** How late the newest look came. */
  readonly lateMs: number;
  /** The publishing half was last at work. */
  readonly outputsAt: number | null;
  /** A read of the platform last ended, however it ended. */
  readonly readEndedAt: number | null;
  /** The longest pause between two reads that can be right. */
  readonly readPauseMs: number;
}

const mostLateMs = 1_000;
const outputsPauseMs = 30_000;

/** Which part makes no progress, as a word for the log; null while all do. */
export function stuckPart(progress: Progress, now: number): string | null {
  const { startedAt, lateMs, outputsAt, readEndedAt, readPauseMs } = progress;
  if (lateMs > mostLateMs) return "event loop";
  if (now - (outputsAt ?? startedAt) > outputsPauseMs) return "outputs";
  return now - (readEndedAt ?? startedAt) > readPauseMs ? "polling" : null;
}

/** The shortest interval of the reads made, several times over, but never less than any deadline of a request. */
export const readPauseMs = (shortestIntervalMs: number): number => Math.max(300_000, 3 * shortestIntervalMs);

interface WatchdogPorts {
  readonly manager: ServiceManager;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: () => Omit<Progress, "lateMs">;
  /** A line for `systemctl status`. */
  readonly status: () => string;
}

const statusEveryMs = 30_000;
/** Looks per watchdog time: one that is left out must not be the one that kills us. */
const looksPerWatchdog = 4;

/** Tells systemd that we are ready, that we live as long as work gets done, and that we stop. */
export class Watchdog {
  readonly #ports: WatchdogPorts;
  #stuck: string | null = null;

  constructor(ports: WatchdogPorts) {
    this.#ports = ports;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { manager, clock, status } = this.#ports;
    const { watchdogMs } = manager;
    const everyMs = watchdogMs === null ? statusEveryMs : watchdogMs / looksPerWatchdog;
    manager.tell("READY=1", `STATUS=${status()}`);
    let due = clock.monotonic() + everyMs;
    while (!signal.aborted) {
      await clock.wait(Math.max(0, due - clock.monotonic()), signal).catch(() => undefined);
      if (isAborted(signal)) break;
      this.#look(clock.monotonic() - due, watchdogMs !== null);
      due = clock.monotonic() + everyMs;
    }
    manager.tell("STOPPING=1", "STATUS=stopping");
  }

  #look(lateMs: number, isWatched: boolean): void {
    const { manager, clock, log, progress, status } = this.#ports;
    const stuck = stuckPart({ ...progress(), lateMs }, clock.monotonic());
    if (stuck !== null && stuck !== this.#stuck)
      log.error({ part: stuck }, "a part makes no progress; systemd restarts the bridge if it stays so");
    this.#stuck = stuck;
    const alive = isWatched && stuck === null ? ["WATCHDOG=1"] : [];
    manager.tell(...alive, `STATUS=${stuck === null ? status() : `${stuck} makes no progress`}`);
  }
}

// The signal changes during the awaits, which the compiler's narrowing of `aborted` does not know.
const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** Says in log and journal that the wall clock was set, so that times in both can be understood later. */
export function tellClockSet(
  byMs: number,
  { clock, log }: Pick<WatchdogPorts, "clock" | "log">,
  note: (record: RecordBody) => void,
): void {
  const now = clock.now();
  log.warn(
    { by_s: Math.round(byMs / 1_000), now: Math.abs(now) <= 8.64e15 ? new Date(now).toISOString() : null },
    "the clock of this computer was set; deadlines and intervals are not affected by it",
  );
  note({ type: "clock_jump", by_ms: byMs });
}
