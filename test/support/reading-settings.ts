import type { ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import type { ReadingName } from "../../src/simulator/readings.js";

/*
 * The settings for platforms that differ from the interface document, as in docs/platform.md. All tests that draw such
 * readings share this table, so that none can be drawn without its settings.
 */

type Section = Readonly<Record<string, unknown>>;

interface Settings {
  readonly kinds?: Readonly<Partial<Record<ActuatorKind, Section>>>;
  readonly running_status?: Section;
  readonly commands?: Section;
  readonly platform?: Section;
  /** Settings of each greenhouse. */
  readonly controller?: Section;
}

const windowKinds = ["skylight", "shade_curtain", "thermal_curtain", "side_vent"] as const;
const positionerKinds = [...windowKinds, "positioner"] as const;
/** The other kinds of the simulated greenhouse. */
const otherKinds = [
  ...(["circulation_fan", "irrigation", "light", "co2_supply", "heating_blower", "mist_cooling"] as const),
  ...(["fan_wet_curtain", "motor", "custom"] as const),
];
const switchedKinds = otherKinds.slice(0, 6);

const each = (kinds: readonly ActuatorKind[], section: Section): Settings["kinds"] =>
  Object.fromEntries(kinds.map((kind) => [kind, section]));

const nothing: Settings = {};
const window = { deviceCode: "{deviceCode}", startTime: "{since}", endTime: "{until}" };

const table: Readonly<Record<ReadingName, Settings>> = {
  actual_positions: { kinds: each(windowKinds, { reads: { open: ["100"], close: ["0"] } }) },
  combined_bits: {
    kinds: {
      ...each(positionerKinds, { reads: { auto: ["11010", "11001"] } }),
      ...each(switchedKinds, { reads: { auto: ["1110", "1101"] } }),
    },
  },
  mode_stays: { kinds: each(positionerKinds, { position_reads: "mode" }) },
  // The degree's address is set at each actuator.
  degrees_apart: nothing,
  group_of_settings: nothing,
  swapped_channels: nothing,
  bare_echo: nothing,
  clients_are_controllers: nothing,
  last_seen: nothing,
  plans_end: nothing,
  // This is set only for Home Assistant, at each actuator.
  curtains_spread: nothing,
  fan_automatic: { kinds: { fan_wet_curtain: { values: { auto: "11111" } } } },
  flagged_refusals: nothing,
  unknown_types: nothing,
  status_words: { running_status: { reads: { on: ["1010"], off: ["1001"] } } },
  mode_write_only: { kinds: { positioner: { mode_reads: "never" } } },
  flush_orders: { kinds: each([...positionerKinds, ...otherKinds], { flush_lag: "5s" }) },
  // Longer than the platform needs, as the network may shorten the distance.
  one_at_a_time: { commands: { controller_interval: "3500ms" } },
  motors_pulse: { kinds: { motor: { pulse: true } } },
  channels_ask: {
    platform: {
      push: {
        subscribe: {
          "/ws/set-value": "subscribe",
          "/ws/device-status": "subscribe",
          "/ws/sensor-data/weather-station-data/{deviceCode}": "subscribe",
        },
      },
    },
  },
  set_points_in_groups: nothing,
  windows_asked: {
    platform: {
      shapes: {
        "weather-data/list": { params: window },
        "weather-data/avg": { params: window },
      },
    },
  },
  // The name of the second one depends on the dialect.
  twin_sensors: nothing,
  stations_apart: nothing,
  mode_restarts: { kinds: each(positionerKinds, { mode_again: "when_needed" }) },
  offline_queues: nothing,
};

/** The settings for all of these readings together. */
export const settingsFor = (readings: Iterable<ReadingName>): Settings => {
  let all: Settings = {};
  for (const name of readings) all = merged(all, table[name]) as Settings;
  return all;
};

function merged(one: unknown, other: unknown): unknown {
  if (!isSection(one) || !isSection(other)) return other ?? one;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(one[key], other[key])]));
}

const isSection = (value: unknown): value is Section =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The readings without those that exclude each other. */
export function compatible(drawn: readonly ReadingName[]): readonly ReadingName[] {
  // An address that gives the position, or that holds no degree, never shows a degree's mode.
  const isOther = drawn.includes("actual_positions") || drawn.includes("degrees_apart");
  return isOther ? drawn.filter((name) => name !== "mode_stays") : drawn;
}
