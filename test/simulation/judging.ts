import { modeAddress, positionAddress } from "../../src/greenhouse/fold-registers.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { Ask, Write } from "./history.js";

// What the checks judge by is written without the product's own comparisons.

export const positionMode = "10100";

export const isDegree = (raw: RawValue): boolean =>
  /^\d{1,3}$/.test(String(raw).trim()) && Number(raw) <= 100;

/** Equal as the platform may write a value: as text or as a number that lost its leading zeros. */
export function sameAs(value: string, raw: RawValue): boolean {
  const text = String(raw).trim();
  return text === value || (/^\d+$/.test(text) && /^\d+$/.test(value) && Number(text) === Number(value));
}

export const laneOf = (ask: Ask): string => `${ask.code}/${ask.actuator}`;

/** The bridge said that it took it. */
export const isTaken = (ask: Ask): boolean => ask.phases.length > 0;

export function isNear(settings: ActuatorSettings | null, wanted: string, raw: RawValue): boolean {
  if (settings === null || settings.tolerance <= 0 || !isDegree(wanted) || !isDegree(raw)) return false;
  return Math.abs(Number(wanted) - Number(raw)) <= settings.tolerance;
}

/** Whether a read of the mode address proves position mode; where the position has an address of its own, no number does. */
export const provesMode = (settings: ActuatorSettings, raw: RawValue): boolean =>
  sameAs(positionMode, raw) || (modeAddress(settings) === positionAddress(settings) && isDegree(raw));

/** Whether a read shows what was sent. */
export function shows(ask: Ask, step: Pick<Write, "address" | "value">, raw: RawValue): boolean {
  const { settings, word } = ask;
  const isMode = step.value === positionMode && word !== "stop";
  if (settings !== null && isMode && step.address === modeAddress(settings)) return provesMode(settings, raw);
  return sameAs(step.value, raw) || isNear(settings, step.value, raw);
}

/** Whether the POST was a step towards a degree, not the value itself. */
export const isModeStep = (ask: Ask, write: Write): boolean =>
  write.value === positionMode && ask.word !== "stop";
