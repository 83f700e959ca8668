/** What the client has done since it was made. Names are single words, as they are published. */
export const newTally = () => ({
  /** HTTP requests that went out, sign-ins and control values among them. */
  requests: 0,
  writes: 0,
  signins: 0,
  /** Tokens refused soon after they were issued, from the second in a row. */
  contested: 0,
  retries: 0,
  /** Requests without a usable answer. */
  failures: 0,
  /** Calls held back without a request. */
  paused: 0,
});

export type Tally = ReturnType<typeof newTally>;
export type PlatformCounters = Readonly<Tally>;

/** What the push channels have done since the start. */
export const newPushTally = () => ({
  /** Channels that stand now. */
  open: 0,
  connects: 0,
  /** Open channels that ended. */
  lost: 0,
  /** Tries that did not open one. */
  failures: 0,
  frames: 0,
  /** Frames nothing could be made of. */
  unreadable: 0,
});

export type PushTally = ReturnType<typeof newPushTally>;
export type PushCounters = Readonly<PushTally>;
