/* How long things may take and have to wait by the contract, ms: one set for every judge. */

/** No second POST of a step sooner than this after the first has ended. */
export const secondPostMs = 5_000;
/** So long a mode may take to show. */
export const modeProofMs = 30_000;
/** The same payload again within this is the same command. */
export const samePayloadMs = 2_000;
/** Between two stops of one actuator. */
export const stopDistanceMs = 2_000;
/** No command waits longer for its turn than its age allows. */
export const longestWaitMs = 130_000;
/** By so much the bridge's clock may be wrong while it is trusted. */
export const trustedSkewMs = 121_000;
/** Commands to one target within a minute of which none is too many. */
export const mostInAMinute = 60;
/** Timers are as exact as this. */
export const timerMs = 1;
/** A program that stood still has so much time to catch up, and is excused for so long. */
export const catchUpMs = 30_000;
export const stallExcusesMs = 90_000;
/** Longest a fresh read lasts: its deadline, and what a loaded machine adds. */
export const readMs = 35_000;
/** Within this every command has ended. */
export const endWithinMs = 240_000;
