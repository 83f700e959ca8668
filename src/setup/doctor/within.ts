import type { Clock } from "../../runtime/clock.js";

/** Runs an errand with a signal that aborts after `ms`, or with `stop`; leaves no timer behind. */
export async function within<T>(
  clock: Clock,
  ms: number,
  stop: AbortSignal,
  errand: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const done = new AbortController();
  const timer = clock.wait(ms, done.signal).then(
    () => {
      late.abort(new Error("out of time"));
    },
    () => undefined,
  );
  try {
    return await errand(AbortSignal.any([stop, late.signal]));
  } finally {
    done.abort();
    await timer;
  }
}

/** Whether `event` came before `ms` were over. */
export async function cameWithin(clock: Clock, ms: number, event: Promise<unknown>): Promise<boolean> {
  const done = new AbortController();
  const timer = clock.wait(ms, done.signal).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([event.then(() => true), timer]);
  } finally {
    done.abort();
  }
}
