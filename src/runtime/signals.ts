import { setMaxListeners } from "node:events";

/*
 * One signal for several. Node's own `AbortSignal.any` holds those that it depends on, and those that depend on it, weakly: in some
 * releases of Node 22 and 24 a collection of garbage loses an abort, and then nothing ends any more.
 */

interface Joined {
  readonly signal: AbortSignal;
  /** Nothing is left at signals that live longer. */
  readonly release: () => void;
}

/** Aborts with the first of them, and for the same reason, until it is released. */
export function joinSignals(...signals: readonly AbortSignal[]): Joined {
  const first = new AbortController();
  const release = () => {
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  };
  const onAbort = () => {
    release();
    first.abort(signals.find(({ aborted }) => aborted)?.reason);
  };
  // Any number may be joined with one that lives long, where Node warns of a leak from the eleventh listener on.
  setMaxListeners(0, ...signals);
  for (const signal of signals) signal.addEventListener("abort", onAbort);
  if (signals.some(({ aborted }) => aborted)) onAbort();
  return { signal: first.signal, release };
}

/** The same, of signals that live no longer than what it is for. */
export const anyOf = (...signals: readonly AbortSignal[]): AbortSignal => joinSignals(...signals).signal;
