import { kindRows } from "../actuator-kinds.js";
import { decodeValue, degreeOf } from "../actuator-values.js";
import type { RawValue } from "../ports.js";
import type { ActuatorSettings } from "../settings.js";
import type { Step } from "./plan.js";

/**
 * Whether a read after the POST of a degree shows a position on its way: another degree than the register held before, or
 * one where it held the mode. `before` is null where nothing was known.
 */
export function travels(
  settings: ActuatorSettings,
  step: Step,
  before: RawValue | null,
  read: RawValue,
): boolean {
  const isDegree = kindRows[settings.kind].positionMode !== null && degreeOf(step.value) !== null;
  if (!isDegree || step.purpose !== "value") return false;
  const degree = decodeValue(settings, read).position;
  return degree !== null && (before === null || decodeValue(settings, before).position !== degree);
}
