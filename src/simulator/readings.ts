import { isWindow } from "./control-values.js";

/*
 * What the words of the interface document allow besides the usual reading of them. Any of these may be so beside any dialect; what
 * the platform does then is told here and nowhere from the program's own decoders.
 */

/** Other readings by the name `simulate --reading` takes. */
const readingTexts = {
  actual_positions: "`get-value` gives how far a window is, whatever was set",
  combined_bits: "in automatic the bits are combined with what runs: `11010`, `11001`, `1110`, `1101`",
  mode_stays: "after a degree the address goes on reading `10100`",
  group_of_settings: "`set-value/flush` gives what was set, also where `get-value` gives something else",
  swapped_channels: "registers are pushed on `/ws/device-status`, running statuses on `/ws/set-value`",
  bare_echo: "a control value is answered with its three fields and no code",
  clients_are_controllers:
    "stations and cameras are listed as online, and have no status of their own (`CLIENTID_NOT_FOUND`)",
  last_seen: "`latest_online_datetime` is when a device was last seen",
  plans_end: "an irrigation plan that was turned on ends by itself after 20 minutes",
  curtains_spread: "`10010` spreads a curtain out",
  fan_automatic: "fan and wet curtain take `11111`, which is automatic",
  flagged_refusals: "a refusal is `{code: 200, success: false, data: null}` with message and request id",
  unknown_types:
    "devices have types that the document does not name: greenhouses `W003`, fertilizer machines `C009`, stations `W002`, pest monitors with readings `V001`",
  status_words: "a running status is the control word `1010` or `1001`",
  degrees_apart:
    "the degree of a window has an address of its own in the type of its mode; one that is sent to the mode's is accepted and moves nothing",
} as const;

export type ReadingName = keyof typeof readingTexts;

export const readingNames = Object.keys(readingTexts) as readonly ReadingName[];

export type Readings = ReadonlySet<ReadingName>;

/** Types of devices where the document names none of them, by the ones that it does. */
export const otherTypes: Readonly<Record<string, string>> = {
  C001: "W003",
  C003: "C009",
  W001: "W002",
  V003: "V001",
};

export const planLastsMs = 20 * 60_000;

/** The value that leaves fan and wet curtain to the controller, where there is one. */
export const fanAutomatic = "11111";

/** What `get-value` tells of a register in the platform's other words; `level` is how far its device is, 0 to 1. Null for what is set. */
export function toldInstead(
  { kind, roles }: { readonly kind: string; readonly roles: readonly string[] },
  value: string,
  level: number,
  readings: Readings,
): string | null {
  const isPositioner = isWindow(kind) && roles.length === 1;
  if (readings.has("actual_positions") && isPositioner) return String(Math.round(100 * level));
  if (!readings.has("combined_bits")) return null;
  const isRunning = level > 0.5;
  if (value === "11000" && (isWindow(kind) || kind === "mode")) return isRunning ? "11010" : "11001";
  if (value === "1100") return isRunning ? "1110" : "1101";
  return null;
}
