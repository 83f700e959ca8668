import type { Gap, Gaps } from "../../src/runtime/gaps.js";

/** Gaps that a test sets. */
export function gapsByHand() {
  const listeners = new Set<() => void>();
  let newest: Gap | null = null;
  let unread: Gap | null = null;
  const gaps: Gaps = {
    newest: () => newest,
    sentSince: (readAt) =>
      unread !== null && readAt > unread.from && readAt <= unread.until ? unread.from : readAt,
    onGap: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    ...gaps,
    /** The process stood still; what its sockets hold is not read yet. */
    stoodStill: (from: number, until: number) => {
      newest = { from, until };
      unread = { from, until: Infinity };
      for (const listener of listeners) listener();
    },
    /** Its sockets were read empty. */
    readEmpty: (at: number) => {
      if (unread !== null) unread = { from: unread.from, until: at };
    },
  };
}
