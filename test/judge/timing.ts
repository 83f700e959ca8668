/* Times and pauses demanded by the contract, in ms, for all judges. */

/** The shortest time between the end of a step's first POST and the second. */
export const secondPostMs = 5_000;
/** The longest time until a mode shows. */
export const modeProofMs = 30_000;
/** The same payload within this time is the same command. */
export const samePayloadMs = 2_000;
/** The shortest time between two stops of one actuator. */
export const stopDistanceMs = 2_000;
/** The longest wait of a command for its turn, by its age. */
export const longestWaitMs = 130_000;
/** The greatest error of the bridge's clock while it is trusted. */
export const trustedSkewMs = 121_000;
/** The number of commands a minute to one target that must be accepted. */
export const mostInAMinute = 60;
/** The accuracy of timers. */
export const timerMs = 1;
/** The time that a program gets to catch up after it stood still, and the time for which that excuses it. */
export const catchUpMs = 30_000;
export const stallExcusesMs = 90_000;
/** The longest fresh read: its time limit, plus delays of a loaded machine. */
export const readMs = 35_000;
/** Every command has ended within this time. */
export const endWithinMs = 240_000;
