import { decodeValue, degreeOfState, sendAddresses } from "../actuator-kinds.js";
import type { Step } from "../command/plan.js";
import type { RawValue } from "../ports.js";
import type { ActuatorSettings } from "../settings.js";

/*
 * The address of the mode may only be written. The degree, which has an address of its own then, is the proof: of a degree itself, and
 * of the words that lead to an end of the way. Of automatic there is none.
 */

const isUnread = (settings: ActuatorSettings): boolean =>
  settings.modeReads === "never" && sendAddresses(settings).length > 1;

/** Where a step is read back; null where nothing shows it, so that its acceptance has to be enough to go on. */
export function proofAddress(settings: ActuatorSettings, step: Step): string | null {
  if (!isUnread(settings)) return step.address;
  const [mode, position = mode] = sendAddresses(settings);
  if (step.address !== mode) return step.address;
  return step.purpose === "mode" ? null : position;
}

/** Whether the degree shows that a word sent to the mode's address was done; null where words are read there as usual. */
export function showsByDegree(settings: ActuatorSettings, step: Step, raw: RawValue): boolean | null {
  const [mode] = sendAddresses(settings);
  if (!isUnread(settings) || step.purpose !== "value" || step.address !== mode) return null;
  const end = degreeOfState[decodeValue(settings, step.value).state];
  const { position } = decodeValue(settings, raw);
  return end !== undefined && position !== null && Math.abs(position - end) <= settings.tolerance;
}

/** The degree may match while another mode holds, which nothing would show. */
export const mayBeInOtherMode = isUnread;
