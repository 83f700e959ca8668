import type { RawValue } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { isWindow } from "../../src/simulator/control-values.js";
import { type ReadingName, readingNames, type Readings } from "../../src/simulator/readings.js";
import type { Chance } from "./scenario.js";

/*
 * What the platform of a seed takes otherwise of the interface's words, and the settings that the documentation names for it. What a
 * read means under it is written down here; nothing is asked of the program's decoders.
 */

/** Each with a chance of its own, in half of the seeds. */
export function drawnReadings(chance: Chance): readonly ReadingName[] {
  if (!chance.hits(0.5)) return [];
  const drawn = readingNames.filter(() => chance.hits(0.3));
  // An address that says how far it is open never shows the mode.
  return drawn.includes("actual_positions") ? drawn.filter((name) => name !== "mode_stays") : drawn;
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

const isApart = ({ address, modeAddress = address, positionAddress = address }: ActuatorSettings): boolean =>
  modeAddress !== positionAddress;

/** What else a read may show where this value was taken, and stays so. */
export function alsoMeans(readings: Readings, settings: ActuatorSettings, value: string): readonly string[] {
  const { kind } = settings;
  if (kind === "motor" || kind === "custom") return [];
  const combined = readings.has("combined_bits");
  if (combined && value === "1100" && !isWindow(kind)) return ["1110", "1101"];
  if (!isWindow(kind)) return [];
  const ends = readings.has("actual_positions") && !isApart(settings);
  if (ends && value === "10010") return ["100"];
  if (ends && value === "10001") return ["0"];
  return combined && value === "11000" ? ["11010", "11001"] : [];
}

/** Whether a read that goes on showing the mode is all that such a platform ever shows of a degree. */
export const showsModeAlone = (readings: Readings, wanted: string, raw: RawValue): boolean =>
  readings.has("mode_stays") && /^\d{1,3}$/.test(wanted) && Number(wanted) <= 100 && String(raw) === "10100";

/** Whether an honest platform may show this while its register holds that. */
export function mayTell(readings: Readings, held: string, raw: RawValue): boolean {
  const text = String(raw);
  const isDegree = /^\d{1,3}$/.test(text) && Number(text) <= 100;
  if (readings.has("actual_positions") && isDegree) return true;
  if (showsModeAlone(readings, held, raw)) return true;
  if (!readings.has("combined_bits")) return false;
  return (
    (held === "11000" && ["11010", "11001"].includes(text)) ||
    (held === "1100" && ["1110", "1101"].includes(text))
  );
}

/** What such a platform never shows, so that no command for it can be confirmed: a window left to itself, or stopped. */
export const isNeverShown = (readings: Readings, { kind }: ActuatorSettings, word: string | null): boolean =>
  readings.has("actual_positions") && isWindow(kind) && (word === "auto" || word === "stop");
