import { setMaxListeners } from "node:events";

/**
 * Callers pass one signal to any number of calls, and Node warns of a leak from the eleventh listener on. Returns the function
 * that tells it once per signal that this is meant.
 */
export function sharedSignals(): (signal: AbortSignal) => void {
  const known = new WeakSet<AbortSignal>();
  return (signal) => {
    if (known.has(signal)) return;
    known.add(signal);
    setMaxListeners(0, signal);
  };
}
