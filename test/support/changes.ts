/** Looks at each change, told through `listeners`, until the condition holds; rejects with `what` when it does not in time. */
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
