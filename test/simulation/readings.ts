import { type ReadingName, readingNames, type Readings } from "../../src/simulator/readings.js";
import type { Chance } from "./scenario.js";

/* What the platform of a seed takes otherwise of the interface's words, and the settings that the documentation names for it. */

/** Which can be drawn; the others have tests of their own. */
export const drawable = readingNames.slice(0, readingNames.indexOf("degrees_apart") + 1);

/** Each with a chance of its own, in half of the seeds. */
export function drawnReadings(chance: Chance): readonly ReadingName[] {
  if (!chance.hits(0.5)) return [];
  const drawn = drawable.filter(() => chance.hits(0.3));
  // An address that says how far it is open, or that holds no degree at all, never shows the mode of one.
  const isOther = drawn.includes("actual_positions") || drawn.includes("degrees_apart");
  return isOther ? drawn.filter((name) => name !== "mode_stays") : drawn;
}

const windows = ["skylight", "shade_curtain", "thermal_curtain", "side_vent", "positioner"] as const;
const switched = [
  "circulation_fan",
  "irrigation",
  "light",
  "co2_supply",
  "heating_blower",
  "mist_cooling",
] as const;

/** The lines of a configuration that say so. */
export function settingLines(readings: Readings): readonly string[] {
  const auto = (values: string) => (readings.has("combined_bits") ? [`auto: [${values}]`] : []);
  const ofWindow = (kind: string) => {
    const ends =
      readings.has("actual_positions") && kind !== "positioner" ? ['open: ["100"], close: ["0"]'] : [];
    const reads = [...ends, ...auto('"11010", "11001"')];
    const mode = readings.has("mode_stays") ? ["position_reads: mode"] : [];
    return [...(reads.length === 0 ? [] : [`reads: { ${reads.join(", ")} }`]), ...mode];
  };
  const kinds = [
    ...windows.map((kind) => [kind, ofWindow(kind)] as const),
    ...switched.map((kind) => [kind, auto('"1110", "1101"').map((reads) => `reads: { ${reads} }`)] as const),
    ["fan_wet_curtain", readings.has("fan_automatic") ? ['values: { auto: "11111" }'] : []] as const,
  ].filter(([, keys]) => keys.length > 0);
  return [
    ...(kinds.length === 0
      ? []
      : ["kinds:", ...kinds.map(([kind, keys]) => `  ${kind}: { ${keys.join(", ")} }`)]),
    ...(readings.has("status_words") ? ['running_status: { reads: { on: ["1010"], off: ["1001"] } }'] : []),
  ];
}
