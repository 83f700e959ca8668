import type { AddressRow } from "./addresses.js";
import type { Dialect } from "./dialects.js";
import { actualPositions } from "./readings/actual-positions.js";
import { channelsAsk } from "./readings/channels-ask.js";
import { combinedBits } from "./readings/combined-bits.js";
import { degreesApart } from "./readings/degrees-apart.js";
import { fanAutomatic } from "./readings/fan-automatic.js";
import { flushOrders } from "./readings/flush-orders.js";
import { modeRestarts } from "./readings/mode-restarts.js";
import { modeStays } from "./readings/mode-stays.js";
import { modeWriteOnly } from "./readings/mode-write-only.js";
import { motorsPulse } from "./readings/motors-pulse.js";
import { offlineQueues } from "./readings/offline-queues.js";
import { oneAtATime } from "./readings/one-at-a-time.js";
import { plansEnd } from "./readings/plans-end.js";
import { setPointsInGroups } from "./readings/set-points-in-groups.js";
import type { Behaviour, Held, Put, Trait } from "./readings/trait.js";
import { twinSensors } from "./readings/twin-sensors.js";
import type { SampleItem } from "./sensors.js";
import { windowsAsked } from "./readings/windows-asked.js";

/*
 * What the words of the interface document allow besides the usual reading of them. Any of these may be so beside any dialect. One that
 * does something is a file in readings/; of one that is a single word of an answer the text stands here, and the answer asks for it by
 * its name.
 */

/** Other readings by the name that `simulate --readings` takes. */
const traits = {
  actual_positions: actualPositions,
  combined_bits: combinedBits,
  mode_stays: modeStays,
  group_of_settings: {
    text: "`set-value/flush` gives what was set, also where `get-value` gives something else",
  },
  swapped_channels: {
    text: "registers are pushed on `/ws/device-status`, running statuses on `/ws/set-value`",
  },
  bare_echo: { text: "a control value is answered with its three fields and no code" },
  clients_are_controllers: {
    text: "stations and cameras are listed as online, and have no status of their own (`CLIENTID_NOT_FOUND`)",
  },
  last_seen: { text: "`latest_online_datetime` is when a device was last seen" },
  plans_end: plansEnd,
  curtains_spread: { text: "`10010` spreads a curtain out" },
  fan_automatic: fanAutomatic,
  flagged_refusals: {
    text: "a refusal is `{code: 200, success: false, data: null}` with message and request id",
  },
  unknown_types: {
    text: "devices have types that the document does not name: greenhouses `W003`, fertilizer machines `C009`, stations `W002`, pest monitors with readings `V001`",
  },
  status_words: { text: "a running status is the control word `1010` or `1001`" },
  degrees_apart: degreesApart,
  mode_write_only: modeWriteOnly,
  flush_orders: flushOrders,
  one_at_a_time: oneAtATime,
  motors_pulse: motorsPulse,
  channels_ask: channelsAsk,
  set_points_in_groups: setPointsInGroups,
  windows_asked: windowsAsked,
  twin_sensors: twinSensors,
  mode_restarts: modeRestarts,
  offline_queues: offlineQueues,
} as const satisfies Record<string, Trait>;

export type ReadingName = keyof typeof traits;

export const readingNames = Object.keys(traits) as readonly ReadingName[];

export type Readings = ReadonlySet<ReadingName>;

/** Types of devices where the document names none of them, by the ones that it does. */
export const otherTypes: Readonly<Record<string, string>> = {
  C001: "W003",
  C003: "C009",
  W001: "W002",
  V003: "V001",
};

/** In the order of the table. */
const traitsOf = (readings: Readings): readonly Trait[] =>
  readingNames.flatMap((name) => (readings.has(name) ? [traits[name]] : []));

/** What of a dialect the readings decide. */
export const dialectOf = (readings: Readings): Partial<Dialect> =>
  Object.assign({}, ...traitsOf(readings).map(({ dialect }) => dialect)) as Partial<Dialect>;

/** What stands in the address table in the place of these rows. */
export const rowsIn = (readings: Readings, rows: readonly AddressRow[]): readonly AddressRow[] =>
  traitsOf(readings).reduce((all, trait) => (trait.rows ? all.flatMap(trait.rows) : all), rows);

/** What a register tells in the platform's other words; null for what is set. */
export function toldInstead(readings: Readings, held: Held): string | null {
  for (const { told } of traitsOf(readings)) {
    const instead = told?.(held) ?? null;
    if (instead !== null) return instead;
  }
  return null;
}

/** What a device does of its own accord once it has taken a value. */
export function onTaken(readings: Readings, put: Put): void {
  for (const { taken } of traitsOf(readings)) taken?.(put);
}

/** What `sensor-data` lists in the place of these. */
export const itemsIn = (readings: Readings, dialect: Dialect, listed: readonly SampleItem[]) =>
  traitsOf(readings).reduce((all, { items }) => items?.(all, dialect) ?? all, listed);

/** What an operation does not answer without, beside what it always needs. */
export const needsOf = (readings: Readings, operation: string): readonly string[] =>
  traitsOf(readings).flatMap(({ needs }) => needs?.[operation] ?? []);

/** What the readings remember of one platform. */
export const behavioursOf = (readings: Readings): readonly Behaviour[] =>
  traitsOf(readings).flatMap(({ begin }) => (begin ? [begin()] : []));
