import type { Clock } from "../../../src/runtime/clock.js";
import { abortReason } from "../../../src/runtime/clock.js";

interface Wait {
  readonly until: number;
  readonly resolve: () => void;
}

export interface ManualClock extends Clock {
  advance(ms: number): void;
  jump(ms: number): void;
  waiting(): number;
}

/** Time that stands still until told otherwise. */
export function manualClock(startAt = Date.UTC(2026, 4, 1, 6)): ManualClock {
  let monotonic = 1_000;
  let offset = startAt - monotonic;
  let waits: Wait[] = [];
  return {
    now: () => monotonic + offset,
    monotonic: () => monotonic,
    wait: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(abortReason(signal));
          return;
        }
        const abort = () => {
          waits = waits.filter((other) => other !== wait);
          if (signal) reject(abortReason(signal));
        };
        const fulfil = () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        const wait = { until: monotonic + ms, resolve: fulfil };
        waits.push(wait);
        signal?.addEventListener("abort", abort, { once: true });
      }),
    advance: (ms) => {
      monotonic += ms;
      const due = waits.filter(({ until }) => until <= monotonic);
      waits = waits.filter(({ until }) => until > monotonic);
      for (const { resolve } of due) resolve();
    },
    jump: (ms) => {
      offset += ms;
    },
    waiting: () => waits.length,
  };
}
