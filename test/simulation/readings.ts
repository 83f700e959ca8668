import { type ReadingName, readingNames, type Readings } from "../../src/simulator/readings.js";
import { compatible, settingsFor } from "../support/reading-settings.js";
import type { Chance } from "./scenario.js";

/* What the platform of a seed takes otherwise of the interface's words. */

/** Each with a chance of its own, in half of the seeds; those that READINGS names in its place. */
export function drawnReadings(chance: Chance): readonly ReadingName[] {
  const named = process.env["READINGS"];
  if (named !== undefined) return readingNames.filter((name) => named.split(" ").includes(name));
  if (!chance.hits(0.5)) return [];
  return compatible(readingNames.filter(() => chance.hits(0.3)));
}

/** The sections of a configuration that say so, as lines: JSON is YAML. `commands` are joined with those of the seed. */
export function settingLines(readings: Readings, commands: Readonly<Record<string, string | boolean>>) {
  const { kinds = {}, running_status, commands: own } = settingsFor(readings);
  const sections = { kinds, ...(running_status && { running_status }), commands: { ...commands, ...own } };
  return Object.entries(sections).map(([name, section]) => `${name}: ${JSON.stringify(section)}`);
}
