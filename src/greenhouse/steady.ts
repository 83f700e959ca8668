/*
 * Damps published states so that they do not flicker: a shown state stays for a while before another replaces it. A
 * change that stops something or warns is never delayed. Pure; instants are ms of one clock.
 */

export interface Shown<State> {
  readonly state: State;
  readonly since: number;
}

interface Standing<State> {
  readonly standsMs: number;
  /** Changes that take effect at once. */
  readonly isUrgent: (from: State, to: State) => boolean;
}

const standsMs = 10_000;

/**
 * The only table of damped states. The rest needs no damping: availability of controllers is the platform's own word,
 * read at its own pace; guards and a cluster's lease are judged and shown at once, only guard events are damped; links
 * and channels lengthen their pauses themselves and read everything again at most once a minute.
 */
export const standings = {
  /**
   * Somebody waits for the end of a refused credential; and a part that fails is often the beginning of a whole outage.
   */
  platform: {
    standsMs,
    isUrgent: (from: string, to: string) =>
      from === "unauthorized" || (from === "degraded" && to === "unreachable"),
  },
  /**
   * Whether the platform counts as reachable: guards react at once when it is gone. Commands of rules do not wait for
   * this.
   */
  reachable: { standsMs, isUrgent: (_: boolean, isThere: boolean) => !isThere },
  alarm: { standsMs, isUrgent: (_: boolean, isOn: boolean) => isOn },
  /** Commands are refused as soon as another bridge is certain. */
  otherBridge: { standsMs, isUrgent: (_: boolean, isThere: boolean) => isThere },
  /** Messages about a controller that goes offline and returns again and again. */
  offlineTold: { standsMs: 60_000, isUrgent: () => false },
  /** Messages about a guard: at once when it trips, after a while when it is clear. */
  guardTold: { standsMs: 60_000, isUrgent: (_: boolean, isTripped: boolean) => isTripped },
} as const satisfies Readonly<Record<string, Standing<never>>>;

/** When the next state may be shown. */
export function givesWayAt<State>(
  { state, since }: Shown<State>,
  next: State,
  { standsMs: ms, isUrgent }: Standing<State>,
): number {
  return isUrgent(state, next) ? since : since + ms;
}

/** Whether the next state may be shown now, as the first one may. A clock that was set back ends the wait. */
export const mayFollow = <State>(
  shown: Shown<State> | null,
  next: State,
  now: number,
  standing: Standing<State>,
): boolean => shown === null || now < shown.since || now >= givesWayAt(shown, next, standing);
