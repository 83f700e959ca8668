/** What the client has done since it was made. Names are single words, as they are published. */
export interface PlatformCounters {
  /** HTTP requests that went out, sign-ins and control values among them. */
  readonly requests: number;
  readonly writes: number;
  readonly signins: number;
  /** Tokens refused soon after they were issued, from the second in a row. */
  readonly contested: number;
  readonly retries: number;
  /** Requests without a usable answer. */
  readonly failures: number;
  /** Calls held back without a request. */
  readonly paused: number;
}

export type Tally = { -readonly [K in keyof PlatformCounters]: number };

export const newTally = (): Tally => ({
  requests: 0,
  writes: 0,
  signins: 0,
  contested: 0,
  retries: 0,
  failures: 0,
  paused: 0,
});

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
