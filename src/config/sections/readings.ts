import { type ActuatorKind, takesDegrees } from "../../greenhouse/actuator-kinds.js";
import { choice, controlValue, duration, flag, list, map, optional, text } from "../../settings/values.js";

/*
 * Where the words of the interface document can be meant in two ways: one key each, of an actuator or of a whole kind. What it does
 * stands in greenhouse/readings, and the simulated platform that is so in simulator/readings.
 */

export const wordKey = () =>
  text(
    'a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"',
    /^(?!unknown$)[a-z][a-z0-9_]{0,63}$/,
  );

/** Words and further values that mean them when they are read. */
export const readTable = () => map(wordKey(), list(controlValue()));

/** The keys; `example` is one of `reads`. */
export const readingKeys = (example: string) => ({
  reads: optional(
    readTable(),
    "Further values that mean a word when they are read, beside the one that is sent.",
    example,
  ),
  position_reads: optional(
    choice(["degree", "mode"]),
    "Positioners: what the address reads after a degree. mode: it goes on reading 10100, which then is the proof that the degree was taken; only where you saw it go there, as a degree that has an address of its own (position_address) reads the same.",
    { default: "degree", off: true },
  ),
  mode_reads: optional(
    choice(["value", "never"]),
    "Positioners with a position_address. never: the mode's address can only be written, and the degree alone is the proof.",
    { default: "value", off: true },
  ),
  mode_again: optional(
    choice(["always", "when_needed"]),
    "Positioners: whether the mode is sent before each degree. when_needed: not where a fresh read shows it and nothing else was sent since.",
    { default: "always", off: true },
  ),
  pulse: optional(
    flag(),
    "Its register goes back to idle by itself: taken, and idle again, is all the proof there is. The state is the last word, and uncertain.",
    "# true",
  ),
  flush_lag: optional(
    duration(),
    "A fresh read may answer the value before and bring the new one so much later: `already` is then judged by a second read.",
    "# 5s",
  ),
});

type ReadingKey = keyof ReturnType<typeof readingKeys>;

export const positionersOnly = {
  who: "skylights, curtains, side vents and positioners",
  holds: takesDegrees,
};

/** For which kinds a key means something; null for all. */
export const readingsFor: Readonly<
  Record<ReadingKey, { readonly who: string; readonly holds: (kind: ActuatorKind) => boolean } | null>
> = {
  reads: null,
  position_reads: positionersOnly,
  mode_reads: positionersOnly,
  mode_again: positionersOnly,
  pulse: { who: "what takes no degree", holds: (kind) => !takesDegrees(kind) },
  flush_lag: null,
};
