import { sameValue, textOf } from "../greenhouse/actuator-values.js";
import { futureToleranceMs } from "../greenhouse/freshness.js";
import type { Register } from "../greenhouse/model.js";
import type { RawValue } from "../greenhouse/ports.js";

/*
 * What a pushed value may do to the mirror. A read says when it began, a push often not even when it was sent: so a push
 * is taken only where its own time shows that it is newer than what a read or a POST of ours has shown. One without a time
 * may have waited anywhere for any while. Pure; instants are monotonic ms.
 */

/** What the mirror holds of an address. */
export interface HeldRegister {
  readonly register: Register | null;
  /** Our last POST to it. */
  readonly postedAt: number | null;
}

export interface PushedValue {
  readonly raw: RawValue;
  /** The platform's own time of it; null when there is none that can be used. */
  readonly at: number | null;
  readonly arrivedAt: number;
}

export type Verdict =
  | { readonly type: "take"; readonly startedAt: number }
  /** The mirror shows it already. */
  | { readonly type: "known" }
  /** Older than what is held. */
  | { readonly type: "old" }
  /** Only a fresh read can tell. */
  | { readonly type: "doubtful" };

/** Times of the platform are exact to a second, its clock is known to a few. */
const toleranceMs = 5_000;
/** A value that shows already is worth taking once more after this: it is then known to be younger. */
const renewedAfterMs = 60_000;

/** `openedAt` is when the channel was opened: until the address was read since then, what came meanwhile is unknown. */
export function judgePush(held: HeldRegister, pushed: PushedValue, openedAt: number): Verdict {
  const { register } = held;
  const { at, arrivedAt } = pushed;
  // What came from the platform's memory may be older than the push, however late it was asked for.
  const provenAt = register?.fresh === true ? register.startedAt : -Infinity;
  if (at !== null && at < Math.max(provenAt, held.postedAt ?? -Infinity) - toleranceMs)
    return { type: "old" };
  if (register === null || register.startedAt < openedAt) return { type: "doubtful" };
  const newest = Math.max(register.startedAt, held.postedAt ?? -Infinity);
  const isSame = sameValue(textOf(register.raw), textOf(pushed.raw));
  if (isSame && (at === null || arrivedAt - newest < renewedAfterMs)) return { type: "known" };
  if (at === null || !isNewer(held, register, at)) return { type: "doubtful" };
  return { type: "take", startedAt: Math.max(at, newest) };
}

/** Pushes of one channel come in order, so a later one is newer. */
function isNewer({ postedAt }: HeldRegister, register: Register, at: number): boolean {
  const reference = register.source === "push" ? (postedAt ?? -Infinity) : register.startedAt;
  return at > Math.max(reference, postedAt ?? -Infinity) + toleranceMs;
}

/**
 * The monotonic instant of a platform time; null when it cannot be used: none given, our clocks not compared yet, or in
 * the future.
 */
export function platformInstant(
  at: number | null,
  skewMs: number | null,
  clock: { readonly now: number; readonly monotonic: number },
): number | null {
  if (at === null || skewMs === null) return null;
  const agoMs = clock.now - (at - skewMs);
  return agoMs < -futureToleranceMs ? null : clock.monotonic - Math.max(0, agoMs);
}
