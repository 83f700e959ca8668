import type { ReadTable } from "./actuator-kinds.js";

/*
 * How an actuator is to be read where the words of the interface document can be meant in two ways. Absent is the usual reading. What each
 * does, and what is concluded without it, stands in readings/.
 */
export interface ActuatorReadings {
  /** Further values that mean a word when they are read; absent where nothing is configured. */
  readonly reads?: ReadTable | undefined;
  /** `mode`: its address goes on reading the mode after a degree, which is all the proof there is. */
  readonly positionReads?: "degree" | "mode" | undefined;
  /** `never`: the mode's own address gives no value; the degree alone is the proof. */
  readonly modeReads?: "value" | "never" | undefined;
  /** `when_needed`: the mode is left out where a fresh read shows it and nothing else was sent since. */
  readonly modeAgain?: "always" | "when_needed" | undefined;
  /** Its register goes back to idle by itself, which is all the proof there is. */
  readonly pulse?: boolean | undefined;
  /** A fresh read may answer the value before, and bring the new one so much later. */
  readonly flushLagMs?: number | undefined;
}
