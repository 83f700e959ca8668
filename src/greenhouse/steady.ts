/*
 * What others read must not flicker: a state that is shown stands for a while before another takes its place, however often what it
 * tells of changes meanwhile. Nothing is ever late in the direction in which it keeps something back or warns. Pure; instants are ms
 * of one clock.
 */

export interface Shown<State> {
  readonly state: State;
  readonly since: number;
}

interface Standing<State> {
  readonly standsMs: number;
  /** What waits for nothing. */
  readonly isUrgent: (from: State, to: State) => boolean;
}

const standsMs = 10_000;

/**
 * The one table of what stands. What is not in it needs no damping: the availability of a controller is the platform's own word, and so
 * often as it is read; a guard and a lease of a cluster are judged at the moment and shown as they are, and only the events of a guard
 * are damped; links and channels grow their pauses by themselves, and read everything again at most once a minute.
 */
export const standings = {
  /** A refused credential is what somebody waits to see the end of; and a part that fails is often how a whole outage begins. */
  platform: {
    standsMs,
    isUrgent: (from: string, to: string) =>
      from === "unauthorized" || (from === "degraded" && to === "unreachable"),
  },
  /** Whether readings count as those of a platform that is there: guards hold as soon as it is gone. What rules send waits for no such time. */
  reachable: { standsMs, isUrgent: (_: boolean, isThere: boolean) => !isThere },
  alarm: { standsMs, isUrgent: (_: boolean, isOn: boolean) => isOn },
  /** Commands are refused as soon as it is certain. */
  otherBridge: { standsMs, isUrgent: (_: boolean, isThere: boolean) => isThere },
  /** Messages about a controller that goes offline and comes back, again and again. */
  offlineTold: { standsMs: 60_000, isUrgent: () => false },
  /** Messages about a guard: that it has tripped at once, that it is clear once it has stood. */
  guardTold: { standsMs: 60_000, isUrgent: (_: boolean, isTripped: boolean) => isTripped },
} as const satisfies Readonly<Record<string, Standing<never>>>;

/** When it may give way to the other; an instant ahead of now is of a clock that was set back since. */
export function givesWayAt<State>(
  { state, since }: Shown<State>,
  next: State,
  { standsMs: ms, isUrgent }: Standing<State>,
): number {
  return isUrgent(state, next) ? since : since + ms;
}

/** Whether the other may take its place now; nothing stands before the first. */
export const mayFollow = <State>(
  shown: Shown<State> | null,
  next: State,
  now: number,
  standing: Standing<State>,
): boolean => shown === null || now < shown.since || now >= givesWayAt(shown, next, standing);
