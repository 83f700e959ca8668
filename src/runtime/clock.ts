import { ignored } from "./failures.js";
import { joinSignals } from "./signals.js";
import { msg, TextError } from "../language/text.js";
import os from "node:os";

/* Time and chance, passed to the code that decides by them. */

/**
 * Time for the rest of the program. `now` is the wall clock (epoch ms) and may jump. `monotonic` (ms from an arbitrary
 * start) never goes back and includes the time in which the computer is suspended, so waits, deadlines and ages use it.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Calls `call` after `ms`; the returned function cancels that. */
  after(ms: number, call: () => void): () => void;
  /**
   * Calls `call` repeatedly, `ms` before each time, with one timer; the returned function ends it. If absent, single
   * timers do the same. A thousand accounts have ten such checks each, and their single timers were a third of the
   * garbage collector's old objects.
   */
  readonly repeat?: ((ms: number, call: () => void) => () => void) | undefined;
  /** Calls `call` soon, after requests that have begun are written, so that display work never delays them. */
  soon(call: () => void): void;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Makes a clock's `wait` from its timers. */
export const waitingBy =
  (after: Clock["after"]): Clock["wait"] =>
  (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortReason(signal));
        return;
      }
      const takeBack = after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      const abort = () => {
        takeBack();
        reject(signal ? abortReason(signal) : new Error("aborted"));
      };
      signal?.addEventListener("abort", abort, { once: true });
    });

/** Calls `call` repeatedly, `ms` before each time, with a new timer for each; the returned function ends it. */
const repeatBy =
  (clock: Pick<Clock, "after">): Clock["after"] =>
  (ms, call) => {
    let isOver = false;
    let takeBack = clock.after(ms, turn);
    function turn() {
      call();
      if (!isOver) takeBack = clock.after(ms, turn);
    }
    return () => {
      isOver = true;
      takeBack();
    };
  };

/** The sources of time in a process, all in ms. A simulated computer has its own. */
interface TimeSources {
  readonly wall: () => number;
  /** Node's own clock, which on Linux stands still while the computer is suspended. */
  readonly monotonic: () => number;
  /** Time since the computer started, including its sleep; a hundred times as slow to read. */
  readonly uptime: () => number;
  /** Node's timers, which stand still with its clock; the returned function cancels the timer. */
  readonly timer: (ms: number, call: () => void) => () => void;
  /** A repeating timer; made of single timers if absent. */
  readonly interval?: TimeSources["timer"];
}

const nodeTime: TimeSources = {
  wall: Date.now.bind(Date),
  monotonic: performance.now.bind(performance),
  uptime: () => os.uptime() * 1_000,
  timer: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  interval: (ms, call) => {
    const timer = setInterval(call, ms);
    return () => clearInterval(timer);
  },
};

/** If the wall clock moves by more than this against Node's clock, it was set or the computer slept. */
const suspiciousMs = 100;
/** Some systems give the time since their start in whole seconds. */
const leastSleepMs = 2_000;
/** Shorter timers are not corrected for sleep, as their delay matters too little. */
const shortTimerMs = 1_000;

interface LongTimer {
  dueAt: number;
  readonly call: () => void;
  /** Starts the repeating timer after the first, corrected call. */
  readonly goOn?: () => void;
  takeBack: () => void;
}

/** Node's clock and timers, with the time added in which the computer was suspended. */
class SleepAwareTime {
  readonly #sources: TimeSources;
  readonly #timers = new Set<LongTimer>();
  #wallAhead: number;
  #uptimeAhead: number | null = null;
  #sleptMs = 0;

  constructor(sources: TimeSources) {
    this.#sources = sources;
    this.#wallAhead = sources.wall() - sources.monotonic();
  }

  /** Reading the wall clock costs almost nothing, and shows when the slow clock has to be read. */
  readonly monotonic = (): number => {
    const { wall, monotonic } = this.#sources;
    const now = monotonic();
    const wallAhead = wall() - now;
    if (this.#uptimeAhead === null || Math.abs(wallAhead - this.#wallAhead) > suspiciousMs) {
      this.#wallAhead = wallAhead;
      this.#compare(now);
    }
    return now + this.#sleptMs;
  };

  readonly after = (ms: number, call: () => void): (() => void) => {
    const { timer } = this.#sources;
    if (ms <= shortTimerMs) return timer(ms, call);
    const one: LongTimer = { dueAt: this.monotonic() + ms, call, takeBack: () => undefined };
    this.#start(one, ms);
    this.#timers.add(one);
    return () => {
      this.#timers.delete(one);
      one.takeBack();
    };
  };

  /** Calls `call` repeatedly with one timer. */
  readonly repeat = (ms: number, call: () => void): (() => void) => {
    const { interval } = this.#sources;
    if (interval === undefined) return repeatBy(this)(ms, call);
    if (ms <= shortTimerMs) return interval(ms, call);
    const wait = () => {
      // Reading the time may find that the computer slept, and this timer is being handled already.
      this.#timers.delete(one);
      one.dueAt = this.monotonic() + ms;
      this.#timers.add(one);
    };
    const goOn = () => {
      wait();
      one.takeBack = interval(ms, () => {
        wait();
        call();
      });
    };
    const one: LongTimer = { dueAt: 0, call, goOn, takeBack: () => undefined };
    goOn();
    return () => {
      this.#timers.delete(one);
      one.takeBack();
    };
  };

  #start(one: LongTimer, ms: number): void {
    one.takeBack = this.#sources.timer(ms, () => {
      if (one.goOn === undefined) this.#timers.delete(one);
      else one.goOn();
      one.call();
    });
  }

  #compare(now: number): void {
    const uptimeAhead = this.#sources.uptime() - now;
    const sleptMs = uptimeAhead - (this.#uptimeAhead ?? uptimeAhead);
    this.#uptimeAhead ??= uptimeAhead;
    if (sleptMs < leastSleepMs) return;
    this.#uptimeAhead = uptimeAhead;
    this.#sleptMs += sleptMs;
    // Timers that became due while the computer slept are due now.
    for (const one of this.#timers) {
      one.takeBack();
      this.#start(one, Math.max(0, one.dueAt - now - this.#sleptMs));
    }
  }
}

/** The clock of a process on a computer that may be suspended. */
export function clockOf(sources: TimeSources): Clock {
  const { monotonic, after, repeat } = new SleepAwareTime(sources);
  return {
    now: sources.wall,
    monotonic,
    after,
    repeat,
    // Writing a request is itself put off to the next turn.
    soon: (call) => void setImmediate(setImmediate, call),
    wait: waitingBy(after),
  };
}

export const systemClock: Clock = clockOf(nodeTime);

/** Whether `event` came within `ms`; leaves no timer behind. Rejects if `event` does so in time. */
export const cameWithin = (clock: Clock, ms: number, event: Promise<unknown>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const takeBack = clock.after(ms, () => resolve(false));
    event.then(() => resolve(true), reject).finally(takeBack);
  });

/** The time limit of `within` has passed. */
export class TooLate extends Error {
  override name = "TooLate" as const;
}

/**
 * The result of `work` within `ms`. Otherwise, or when `stop` aborts, its signal aborts and this rejects with TooLate
 * or the reason, so that work which ignores its signal holds up nobody. Whatever such work does later is ignored.
 */
export function within<T>(
  clock: Pick<Clock, "after">,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  stop?: AbortSignal,
): Promise<T> {
  const late = new AbortController();
  const { signal, release } =
    stop === undefined ? { signal: late.signal, release: ignored } : joinSignals(late.signal, stop);
  return new Promise((resolve, reject) => {
    const takeBack = clock.after(ms, () => late.abort(new TooLate(`no end within ${ms / 1_000} s`)));
    const over = new AbortController();
    void untilAborted(signal, over.signal).then(() => {
      takeBack();
      reject(abortReason(signal));
    });
    const working = signal.aborted ? Promise.reject<T>(abortReason(signal)) : work(signal);
    working.then(resolve, reject).finally(() => {
      takeBack();
      over.abort();
      release();
    });
  });
}

/**
 * Resolves on the next turn of the event loop, after work that was put off to it earlier, such as writing a request.
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The longest delay of a Node timer; a longer one would fire at once. Ending a pause early does no harm. */
const longestTimerMs = 2_147_483_647;

/** A pause that others may end early; a wake-up between pauses ends the next one. */
export class Rest {
  readonly #clock: Clock;
  #isWoken = false;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  /** Ends after `ms` (Infinity allowed), at the next wake-up, or when the signal aborts. */
  async for(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const takeBack =
          ms === Infinity ? null : this.#clock.after(Math.min(ms, longestTimerMs), () => resolve());
        this.#end = () => {
          takeBack?.();
          resolve();
        };
        signal.addEventListener("abort", this.#end, { once: true });
      });
      signal.removeEventListener("abort", this.#end);
    }
    this.#isWoken = false;
  }
}

/**
 * Does `work` repeatedly, with a pause before each time, until the signal aborts. Rejects with an error of the work.
 */
export const every = (
  ms: number,
  clock: Pick<Clock, "after" | "repeat">,
  signal: AbortSignal,
  work: () => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let takeBack: (() => void) | null = null;
    const end = () => {
      takeBack?.();
      resolve();
    };
    const turn = () => {
      try {
        work();
      } catch (error) {
        signal.removeEventListener("abort", end);
        takeBack?.();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    else takeBack = clock.repeat?.(ms, turn) ?? repeatBy(clock)(ms, turn);
  });

/** Resolves when the signal aborts; once `over` has aborted, no listener is left on a long-lived signal. */
export const untilAborted = (signal: AbortSignal, over?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, ...(over && { signal: over }) });
  });

export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted");
}

/** Time servers correct smaller differences every day. */
const noticeableMs = 2_000;

/** How far the wall clock was set, in ms (positive: forward), from its lead over the monotonic clock; null for none. */
export const jumpMs = (aheadBefore: number, aheadAfter: number): number | null =>
  Math.abs(aheadAfter - aheadBefore) > noticeableMs ? Math.round(aheadAfter - aheadBefore) : null;

/** Up to this difference from the platform's clock ours is trusted, for ages and for the age limit of journals. */
export const trustedSkewMs = 120_000;

/** Factor for a wait that has to outlast another, as two clocks never run quite alike. */
export const driftAllowance = 1.1;

/** Whether our clock agrees with the platform's; null while nothing was compared. */
export const clockAgrees = (skewMs: number | null): boolean | null =>
  skewMs === null ? null : Math.abs(skewMs) <= trustedSkewMs;

/** A number in [0, 1). Chance is passed in, so that a seed repeats a run. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Full jitter: anything from 0 to the doubled-and-capped ceiling of this attempt (counted from 0), so that many
 * bridges that lost the same service do not come back at the same moment.
 */
export function fullJitter(attempt: number, range: BackoffRange, chance: number): number {
  const ceiling = Math.min(range.maxMs, range.firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(ceiling * chance);
}

/** How long a part waits for the disk at its start or end: the bridge goes on although a disk hangs. */
export const diskPatienceMs = 5_000;

/** A longer write gets an answer that says so; the journal itself counts as away by then. */
const longestDiskMs = 10_000;
const diskSilent = msg`The disk has not answered for 10 s, so this is not saved yet. What forbids counts already; what lets something move again counts once the disk has it. Check the disk or SD card, then ask again.`;

/** Waits until the disk has the data; rejects with a sentence for the sender if that takes too long. */
export async function onDisk(clock: Clock, write: () => Promise<unknown>): Promise<void> {
  await within(clock, longestDiskMs, write).catch((error: unknown) => {
    throw error instanceof TooLate ? new TextError(diskSilent) : error;
  });
}
