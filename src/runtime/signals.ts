import { setMaxListeners } from "node:events";

/*
 * One signal for several. Node's own `AbortSignal.any` refers to its signals weakly both ways: in some releases of Node
 * 22 and 24 a garbage collection loses an abort, and then nothing ends any more.
 */

interface Joined {
  readonly signal: AbortSignal;
  /** Removes the listeners from signals that live longer. */
  readonly release: () => void;
}

/** Aborts with the first of the signals and for its reason, until released. */
export function joinSignals(...signals: readonly AbortSignal[]): Joined {
  const first = new AbortController();
  const release = () => {
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  };
  const onAbort = () => {
    release();
    first.abort(signals.find(({ aborted }) => aborted)?.reason);
  };
  // Any number may be joined with one long-lived signal, where Node warns of a leak from the eleventh listener on.
  setMaxListeners(0, ...signals);
  for (const signal of signals) signal.addEventListener("abort", onAbort);
  if (signals.some(({ aborted }) => aborted)) onAbort();
  return { signal: first.signal, release };
}

/** The same for signals that live no longer than their use. */
export const anyOf = (...signals: readonly AbortSignal[]): AbortSignal => joinSignals(...signals).signal;
