import { isMeasurementText } from "../measurement.js";
import { isMetadata } from "./metadata.js";
import type { ReadRoles } from "./roles.js";
import type { SensorRole } from "./sensors.js";
import type { Fields } from "./wire.js";

/**
 * The readings of an object that keeps them under their names (`{temperature: 23.5, humidity: 60, dateTime}`); null when it is not
 * one. A text that is no number shows that its keys are not quantities, so then nothing is taken.
 */
export function readWideRow(
  fields: Fields,
  roles: ReadRoles<SensorRole>,
): readonly (readonly [string, unknown])[] | null {
  const readings: (readonly [string, unknown])[] = [];
  let hasValue = false;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (key.trim() === "" || isMetadata(key) || hasRole(key, value, roles)) continue;
    if (typeof value === "boolean" || (typeof value === "string" && !isMeasurementText(value))) return null;
    hasValue ||= value !== null;
    readings.push([key, value]);
  }
  return hasValue ? readings : null;
}

const hasRole = (key: string, value: unknown, roles: ReadRoles<SensorRole>): boolean =>
  Object.keys(roles({ [key]: value })).length > 0;
