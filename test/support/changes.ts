/**
 * Checks the condition at each change that `listeners` report, until it holds; rejects with `what` after the time
 * limit.
 */
export function holdsWithin(
  timeoutMs: number,
  condition: () => boolean,
  listeners: Set<() => void>,
  what: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(late);
      listeners.delete(look);
    };
    const look = () => {
      if (!condition()) return;
      stop();
      resolve();
    };
    const late = setTimeout(() => {
      stop();
      reject(new Error(`not within ${timeoutMs} ms: ${what}`));
    }, timeoutMs);
    listeners.add(look);
    look();
  });
}
