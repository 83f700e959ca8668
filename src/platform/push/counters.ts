/** What the push channels have done since the start. */
export interface PushCounters {
  /** Channels that stand now. */
  readonly open: number;
  readonly connects: number;
  /** Open channels that ended. */
  readonly lost: number;
  /** Tries that did not open one. */
  readonly failures: number;
  readonly frames: number;
  /** Frames nothing could be made of. */
  readonly unreadable: number;
}

export type PushTally = { -readonly [K in keyof PushCounters]: number };

export const newPushTally = (): PushTally => ({
  open: 0,
  connects: 0,
  lost: 0,
  failures: 0,
  frames: 0,
  unreadable: 0,
});
