import type { RawValue } from "../ports.js";
import type { ActuatorSettings } from "../settings.js";

/** Whether the mode is left out before a degree: a fresh read shows it, and everything sent so far has been read back. */
export const leavesModeOut = (
  { modeAgain }: Pick<ActuatorSettings, "modeAgain">,
  freshMode: RawValue | null,
  isPositionMode: (raw: RawValue) => boolean,
): boolean => modeAgain === "when_needed" && freshMode !== null && isPositionMode(freshMode);
