import { decodeValue, kindRows, sameValue, textOf } from "../actuator-kinds.js";
import type { RawValue } from "../ports.js";
import type { ActuatorSettings } from "../settings.js";

/*
 * A register may be a pulse: a value starts or stops a motor, and the register goes back to idle by itself. Taken by the platform, and
 * idle again, is all the proof there is of it; the last word stands for the state.
 */

type Settings = Pick<ActuatorSettings, "kind" | "values" | "reads" | "pulse">;

/** Zeros alone that are no word of the kind, or the word stop. */
export function isIdle(settings: Settings, raw: RawValue): boolean {
  const text = textOf(raw);
  const { state } = decodeValue(settings, raw);
  return state === "stop" || (state === "unknown" && /^0+$/.test(text));
}

/** Whether the register of a pulse is idle, so that it says nothing of what was sent. */
export const isIdlePulse = (settings: Settings, raw: RawValue): boolean =>
  settings.pulse === true && isIdle(settings, raw);

/** Whether a register that reads this, and kept nothing of what was sent, may be a pulse; `before` is null where that is not known. */
export function maybePulse(
  settings: Settings,
  sent: string,
  raw: RawValue,
  before: RawValue | null,
): boolean {
  const hasDegrees = kindRows[settings.kind].positionMode !== null;
  if (settings.pulse === true || hasDegrees) return false;
  const isAsBefore = before === null || sameValue(textOf(before), textOf(raw));
  return isIdle(settings, raw) && isAsBefore && /^[01]{2,}$/.test(sent);
}

export const pulseAdvice =
  "Only if you saw it do what was asked, its register is a pulse that goes back to idle by itself: set pulse: true.";
