import { type ReadingName, readingNames, type Readings } from "../../src/simulator/readings.js";
import { compatible, settingsFor } from "../support/reading-settings.js";
import type { Chance } from "./scenario.js";

/* How a seed's platform differs from the interface document. */

/** Half of the seeds draw readings, each with its own probability; READINGS names them instead. */
export function drawnReadings(chance: Chance): readonly ReadingName[] {
  const named = process.env["READINGS"];
  if (named !== undefined) return readingNames.filter((name) => named.split(" ").includes(name));
  if (!chance.hits(0.5)) return [];
  return compatible(readingNames.filter(() => chance.hits(0.3)));
}

/** The configuration's sections for these readings, as lines: JSON is YAML. `commands` are merged with the seed's. */
export function settingLines(readings: Readings, commands: Readonly<Record<string, string | boolean>>) {
  const { kinds = {}, running_status, commands: own } = settingsFor(readings);
  const sections = { kinds, ...(running_status && { running_status }), commands: { ...commands, ...own } };
  return Object.entries(sections).map(([name, section]) => `${name}: ${JSON.stringify(section)}`);
}
