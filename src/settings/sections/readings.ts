import { msg, type Text } from "../../language/text.js";
import { type ActuatorKind, takesDegrees } from "../../greenhouse/actuator-kinds.js";
import { choice, controlValue, duration, flag, list, map, optional, text } from "../values.js";

/*
 * Keys for ambiguous points of the interface document, for an actuator or a whole kind. greenhouse/readings implements
 * them, simulator/readings simulates the platform for each.
 */

export const wordKey = () =>
  text(
    msg`a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"`,
    /^(?!unknown$)[a-z][a-z0-9_]{0,63}$/,
  );

/** Words, each with further values that mean it when read. */
export const readTable = () => map(wordKey(), list(controlValue()));

/** The keys; `example` is that of `reads`. */
export const readingKeys = (example: string) => ({
  reads: optional(
    readTable(),
    "Further values that mean a word when they are read, beside the one that is sent.",
    example,
  ),
  position_reads: optional(
    choice(["degree", "mode"]),
    "Positioners: mode: the address reads 10100 after a degree, and that is the proof. Try position_address first.",
    { default: "degree", off: true },
  ),
  mode_reads: optional(
    choice(["value", "never"]),
    "Positioners with a position_address. never: the mode's address can only be written, and the degree alone is the proof.",
    { default: "value", off: true },
  ),
  mode_again: optional(
    choice(["always", "when_needed"]),
    "Positioners: when_needed: the mode is not sent again while a fresh read shows it.",
    { default: "always", off: true },
  ),
  pulse: optional(
    flag(),
    "The register goes back to idle by itself, and that is the proof. The state is uncertain.",
    "# true",
  ),
  flush_lag: optional(
    duration(),
    "How much later a fresh read brings the new value; a second read then judges `already`.",
    "# 5s",
  ),
});

type ReadingKey = keyof ReturnType<typeof readingKeys>;

export const positionersOnly = {
  who: msg`skylights, curtains, side vents and positioners`,
  holds: takesDegrees,
};

/** The kinds to which a key applies; null for all. */
export const readingsFor: Readonly<
  Record<ReadingKey, { readonly who: Text; readonly holds: (kind: ActuatorKind) => boolean } | null>
> = {
  reads: null,
  position_reads: positionersOnly,
  mode_reads: positionersOnly,
  mode_again: positionersOnly,
  pulse: { who: msg`what takes no degree`, holds: (kind) => !takesDegrees(kind) },
  flush_lag: null,
};
