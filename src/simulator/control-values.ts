/*
 * Control values as the interface document has them, and the devices that take them. A copy apart from the program's
 * own tables: it judges what the program sends, so a mistake there must not be one here. A test compares both with the
 * text of the document.
 */

/** Fans, UV, mist, CO2, humidity and heaters. */
const machineValues = {
  "1010": "manual on",
  "1001": "manual off",
  "1100": "automatic",
} as const;

/** Skylights, shade curtains and everything else with a specified position. */
const windowValues = {
  "10010": "manual open",
  "10001": "manual close",
  "11000": "automatic",
  "10100": "specified-position mode",
} as const;

/** Fans of three stages and the wet curtain, one digit each. */
export const fanValues = {
  "11110": "all on",
  "11100": "fans of stages 1, 2, 3 on, wet curtain off",
  "11000": "fans of stages 1 and 2 on, stage 3 off, wet curtain off",
  "10000": "stage 1 fan on, stages 2 and 3 off, wet curtain off",
  "00000": "all off",
} as const;

const irrigationValues = {
  "1010": "manual on",
  "1001": "manual off",
  "1100": "automatic",
  "11111111": "rotation irrigation mode",
} as const;

const lightValues = {
  "1010": "manual on; must be sent first, before any other control of the light",
  "1001": "manual off",
  "1100": "automatic",
} as const;

/** The only value of a motor that the document has. */
const motorStop = "00000100";

const windows = ["skylight", "shade_curtain", "thermal_curtain", "side_vent", "positioner"];

/** Devices that go to a degree after the mode was sent. */
export const isWindow = (kind: string): boolean => windows.includes(kind);

/** The table for a kind of device; machines are all kinds without another table. */
export function documentedValues(kind: string): Readonly<Record<string, string>> {
  if (isWindow(kind) || kind === "mode") return windowValues;
  if (kind === "fan_wet_curtain") return fanValues;
  if (kind === "irrigation") return irrigationValues;
  if (kind === "light") return lightValues;
  if (kind === "motor") return { [motorStop]: "stop" };
  return ["custom", "position", "parameter", "reading"].includes(kind) ? {} : machineValues;
}
