import { ignored } from "./failures.js";
import { joinSignals } from "./signals.js";
import { msg, TextError } from "../language/text.js";
import os from "node:os";

/* Time and chance, which are handed to whatever decides by them. */

/**
 * Time as the rest of the program sees it. `now` is the wall clock (epoch ms) and may jump; `monotonic` (ms from
 * an arbitrary start) never goes back and counts the time in which the computer is suspended, so every wait, deadline and age is
 * measured with it.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Calls back after `ms`; what it returns takes that back. */
  after(ms: number, call: () => void): () => void;
  /**
   * Calls back again and again with `ms` before each time, by one timer; what it returns ends that. Made of timers where absent. A thousand
   * accounts look at ten things each every few seconds: timers that are old before they are due were a third of the old objects collected.
   */
  readonly repeat?: ((ms: number, call: () => void) => () => void) | undefined;
  /** Calls back soon, once requests that have begun by now are written: what is shown must not hold up what is sent. */
  soon(call: () => void): void;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock's `wait`, made of its timers. */
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

/** Calls back again and again, with a pause of `ms` before each time, by a timer for each; what it returns ends that. */
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

/** What a process can ask for the time; all in ms. A simulated computer gives its own. */
interface TimeSources {
  readonly wall: () => number;
  /** Node's own clock, which on Linux stands still while the computer is suspended. */
  readonly monotonic: () => number;
  /** Since the computer was started, its sleep included; costs a hundred times as much to ask for. */
  readonly uptime: () => number;
  /** Node's timers, which stand still as its clock does; what it returns takes the timer back. */
  readonly timer: (ms: number, call: () => void) => () => void;
  /** The same of one that goes on; made of timers where absent. */
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

/** A wall clock that moved by more than this against Node's clock was set, or the computer slept. */
const suspiciousMs = 100;
/** The time since the start of the computer is told in whole seconds by some systems. */
const leastSleepMs = 2_000;
/** What is due as soon is late by less than that is worth. */
const shortTimerMs = 1_000;

interface LongTimer {
  dueAt: number;
  readonly call: () => void;
  /** After its first time it goes on by itself. */
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

  /** The wall clock costs next to nothing to ask, and tells when it is worth asking more. */
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

  /** Calls back again and again by one timer. */
  readonly repeat = (ms: number, call: () => void): (() => void) => {
    const { interval } = this.#sources;
    if (interval === undefined) return repeatBy(this)(ms, call);
    if (ms <= shortTimerMs) return interval(ms, call);
    const wait = () => {
      // As time is asked for it may turn out that the computer slept, and this one is being dealt with already.
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
    // What was due while the computer slept is due now.
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

/** Whether `event` came before `ms` were over; leaves no timer behind. Rejects as it does where it fails in time. */
export const cameWithin = (clock: Clock, ms: number, event: Promise<unknown>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const takeBack = clock.after(ms, () => resolve(false));
    event.then(() => resolve(true), reject).finally(takeBack);
  });

/** The time was over. */
export class TooLate extends Error {
  override name = "TooLate" as const;
}

/**
 * What `work` comes to within `ms`. Then, or once `stop` aborts, its signal aborts and this rejects, with TooLate or the reason: a party
 * that does not let go, when it is told to, holds up nobody. What becomes of the work afterwards is nobody's concern.
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

/** Resolves on the next turn of the event loop, after what was put off to it earlier, such as a request being written. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A longer timer would fire at once, again and again; ending a sleep early does no harm. */
const longestTimerMs = 2_147_483_647;

/** A pause that others may end early; a wake that comes while there is none ends the next one. */
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

  /** Ends after `ms`, which may be Infinity, with the next wake, or when the signal aborts. */
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

/** Does something again and again, with a pause before each time, until the signal aborts. Rejects with what the work throws. */
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

/** Resolves when the signal aborts; nothing is left at a long-lived signal once `over` has aborted. */
export const untilAborted = (signal: AbortSignal, over?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, ...(over && { signal: over }) });
  });

export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted");
}

/** Smaller steps are what time servers make every day. */
const noticeableMs = 2_000;

/** By how much the wall clock was set, from how far it was ahead of the monotonic one; null where it only went on. Positive: forward. */
export const jumpMs = (aheadBefore: number, aheadAfter: number): number | null =>
  Math.abs(aheadAfter - aheadBefore) > noticeableMs ? Math.round(aheadAfter - aheadBefore) : null;

/** Our wall clock is trusted, for judging ages and for keeping journals by age, while it is this close to the platform's. */
export const trustedSkewMs = 120_000;

/** A wait is longer than what is waited for by more than two clocks go apart. */
export const driftAllowance = 1.1;

/** Null while nothing was there to compare it with. */
export const clockAgrees = (skewMs: number | null): boolean | null =>
  skewMs === null ? null : Math.abs(skewMs) <= trustedSkewMs;

/** A number in [0, 1). Passed in wherever chance decides, so that a seed repeats a run. */
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

/** An answer says so then; the journal itself counts as away by this time. */
const longestDiskMs = 10_000;
const diskSilent = msg`The disk has not answered for 10 s, so this is not saved yet. What forbids counts already; what lets something move again counts once the disk has it. Check the disk or SD card, then ask again.`;

/** An answer promises what the disk has, and says where that takes too long. */
export async function onDisk(clock: Clock, write: () => Promise<unknown>): Promise<void> {
  await within(clock, longestDiskMs, write).catch((error: unknown) => {
    throw error instanceof TooLate ? new TextError(diskSilent) : error;
  });
}
