/**
 * Time as the rest of the program sees it. `now` is the wall clock (epoch ms) and may jump; `monotonic` (ms from
 * an arbitrary start) never does, so every wait, deadline and age is measured with it.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  // Bound and not wrapped: nothing is called as often.
  now: Date.now.bind(Date),
  monotonic: performance.now.bind(performance),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortReason(signal));
        return;
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, ms);
      const abort = () => {
        clearTimeout(timer);
        reject(signal ? abortReason(signal) : new Error("aborted"));
      };
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

/** Resolves on the next turn of the event loop, after what was put off to it earlier, such as a request being written. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Calls back once requests begun by now have been written, which itself is put off to the next turn. */
export function afterRequests(tell: () => void): void {
  setImmediate(setImmediate, tell);
}

export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted");
}

/** Smaller steps are what time servers make every day. */
const noticeableMs = 2_000;

/** By how much the wall clock was set, from how far it was ahead of the monotonic one; null where it only went on. Positive: forward. */
export const jumpMs = (aheadBefore: number, aheadAfter: number): number | null =>
  Math.abs(aheadAfter - aheadBefore) > noticeableMs ? Math.round(aheadAfter - aheadBefore) : null;

/** Our wall clock is trusted, for judging ages and for keeping journals by age, while it is this close to the platform's. */
const trustedSkewMs = 120_000;

/** Null while nothing was there to compare it with. */
export const clockAgrees = (skewMs: number | null): boolean | null =>
  skewMs === null ? null : Math.abs(skewMs) <= trustedSkewMs;
