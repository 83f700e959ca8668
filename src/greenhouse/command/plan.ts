import {
  decodeValue,
  degreeOf,
  degreeRead,
  type KindRow,
  kindRows,
  meansSame,
  sameValue,
  sendAddresses,
  stateAddresses,
  textOf,
} from "../actuator-kinds.js";
import type { RawValue } from "../ports.js";
import { showsByDegree } from "../readings.js";
import type { ActuatorSettings } from "../settings.js";
import type { StepReport } from "./outcomes.js";
import type { Wanted } from "./words.js";

/** One value to be POSTed to one address. */
export type Step = Pick<StepReport, "purpose" | "address" | "value">;

/** The time in which a mode has to be shown before its degree may follow. */
const modeWithinMs = 30_000;

/** The longest time for the read-back of a step. */
export const confirmWithinMs = (settings: ActuatorSettings, { purpose }: Pick<Step, "purpose">): number =>
  purpose === "mode" ? modeWithinMs : settings.confirmWithinMs;

/**
 * The steps of a command in order; the last one is the command itself. `isRead`: everything sent so far has been read
 * back.
 */
export function stepsOf(
  settings: ActuatorSettings,
  wanted: Wanted,
  freshMode: RawValue | null,
  { isRead = false }: { readonly isRead?: boolean } = {},
): readonly Step[] {
  if (wanted.type === "stop") return [{ purpose: "stop", address: wanted.address, value: wanted.value }];
  const [mode, position = mode] = sendAddresses(settings);
  if (wanted.type === "position") {
    const degree: Step = { purpose: "value", address: position, value: String(wanted.degree) };
    const isLeftOut = settings.modeAgain === "when_needed" && isRead && freshMode !== null;
    return isLeftOut && isInPositionMode(settings, freshMode)
      ? [degree]
      : [{ purpose: "mode", address: mode, value: kindRows[settings.kind].positionMode ?? "" }, degree];
  }
  const step: Step = { purpose: "value", address: mode, value: wanted.value };
  return needsLeadIn(settings, wanted.word, freshMode)
    ? [{ ...step, purpose: "lead_in", value: leadInValue }, step]
    : [step];
}

const leadInValue = "1010";

/** Whether `on` has to go first: the platform demands manual on before any other control of a light. */
export function needsLeadIn(settings: ActuatorSettings, word: string, fresh: RawValue | null): boolean {
  if (settings.kind !== "light" || settings.leadIn === "never" || word === "on") return false;
  return settings.leadIn === "always" || fresh === null || !meansSame(settings, leadInValue, textOf(fresh));
}

/** Whether a read-back of the step's address shows what the step asked for. */
export function shows(settings: ActuatorSettings, step: Step, raw: RawValue): boolean {
  const text = textOf(raw);
  if (step.purpose === "mode") return showsPositionMode(settings, raw);
  const byDegree = showsByDegree(settings, step, raw);
  if (byDegree !== null) return byDegree;
  if (step.purpose === "value" && kindRows[settings.kind].positionMode !== null) {
    const wanted = degreeOf(step.value);
    const read = decodeValue(settings, raw);
    if (wanted !== null)
      return read.position !== null && Math.abs(read.position - wanted) <= settings.tolerance;
  }
  if (step.purpose === "stop")
    return [step.value, ...(settings.reads?.["stop"] ?? [])].some((value) => sameValue(value, text));
  return meansSame(settings, step.value, text);
}

/**
 * Whether a read after the POST of a degree shows the mode, at an address that never shows more. It confirms the degree
 * only if the platform accepted it.
 */
export const showsModeOfDegree = (settings: ActuatorSettings, step: Step, raw: RawValue | null): boolean =>
  settings.positionReads === "mode" && showsModeOnly(settings, step, raw);

/**
 * Whether a read after the POST of a degree shows the mode and no degree, so that nothing shows the movement. `raw` is
 * null where nothing was read.
 */
export function showsModeOnly(settings: ActuatorSettings, step: Step, raw: RawValue | null): boolean {
  if (raw === null || step.purpose !== "value" || degreeOf(step.value) === null) return false;
  const { state, position } = decodeValue(settings, raw);
  return state === "position" && position === null;
}

/** Whether a read shows the position mode. At an address shared by mode and position any degree shows it too. */
export function showsPositionMode(settings: ActuatorSettings, raw: RawValue): boolean {
  const row: KindRow = kindRows[settings.kind];
  const { state, position } = decodeValue(settings, raw);
  if (row.positionMode !== null && state === "position" && position === null) return true;
  return stateAddresses(settings).length === 1 && position !== null;
}

/**
 * Whether the actuator is already in position mode. Where reads map degrees to words, a degree may show the opening in
 * any mode and is no proof.
 */
function isInPositionMode(settings: ActuatorSettings, raw: RawValue): boolean {
  const tellsPosition = Object.values(settings.reads ?? {}).some((values) =>
    values.some((value) => degreeRead(value) !== null),
  );
  return showsPositionMode(settings, raw) && !(tellsPosition && decodeValue(settings, raw).position !== null);
}

/** Whether the step ends at a degree: it is one, or a word that the configuration maps to a degree in reads. */
function endsAtDegree(settings: ActuatorSettings, { purpose, value }: Step): boolean {
  const row: KindRow = kindRows[settings.kind];
  if (purpose !== "value" || row.positionMode === null) return false;
  if (degreeOf(value) !== null) return true;
  const means = Object.values(settings.reads ?? {}).flat();
  return means.some((read) => degreeRead(read) !== null && meansSame(settings, value, read));
}

/**
 * Whether a read after the POST shows a movement to a degree: another position than before, or a position after a mode.
 * `before` is null where unknown.
 */
export function travels(
  settings: ActuatorSettings,
  step: Step,
  before: RawValue | null,
  read: RawValue,
): boolean {
  if (!endsAtDegree(settings, step)) return false;
  const degree = decodeValue(settings, read).position;
  return degree !== null && (before === null || decodeValue(settings, before).position !== degree);
}
