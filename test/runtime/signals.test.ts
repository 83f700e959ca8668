import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { anyOf, joinSignals } from "../../src/runtime/signals.js";

it("aborts once, with the first that does and for its reason, also where that was before", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const reasons: unknown[] = [];
  const signal = anyOf(one.signal, other.signal);
  signal.addEventListener("abort", () => reasons.push(signal.reason));
  const why = new Error("over");
  other.abort(why);
  one.abort(new Error("later"));
  expect(reasons).toEqual([why]);
  expect(anyOf(new AbortController().signal, other.signal).reason).toBe(why);
});

it("leaves nothing at a signal that lives longer, once it is released or has aborted", () => {
  const [long, short] = [new AbortController(), new AbortController()];
  const released = joinSignals(long.signal, short.signal);
  const aborted = joinSignals(long.signal, short.signal);
  expect(getEventListeners(long.signal, "abort")).toHaveLength(2);
  released.release();
  short.abort();
  expect(getEventListeners(long.signal, "abort")).toHaveLength(0);
  expect([released.signal.aborted, aborted.signal.aborted]).toEqual([false, true]);
});
