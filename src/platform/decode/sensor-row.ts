import { isMeasurementText } from "../measurement.js";
import { isMetadata } from "./metadata.js";
import type { Roles } from "./roles.js";
import type { SensorRole } from "./sensors.js";
import type { Fields } from "./wire.js";

const ownRoles = ["name", "factor", "channel", "time", "device", "unit"] as const;

/**
 * The readings of an object that keeps them under their names (`{temperature: 23.5, humidity: 60, dateTime}`); null when it is not
 * one. A text that is no number shows that its keys are not quantities, so then nothing is taken.
 */
export function readWideRow(
  fields: Fields,
  roles: Roles<SensorRole>,
): readonly (readonly [string, unknown])[] | null {
  const used = new Set<unknown>(
    ownRoles.map((role) => roles[role]).filter((value) => typeof value === "string"),
  );
  const readings: (readonly [string, unknown])[] = [];
  let hasValue = false;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (isMetadata(key) || (typeof value === "string" && used.has(value))) continue;
    if (typeof value === "boolean" || (typeof value === "string" && !isMeasurementText(value))) return null;
    hasValue ||= value !== null;
    readings.push([key, value]);
  }
  return hasValue && readings.length > 0 ? readings : null;
}
