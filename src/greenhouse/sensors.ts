export interface Range {
  readonly min: number;
  readonly max: number;
}

export interface Quantity extends Range {
  /** The default unit; null where the quantity has none. */
  readonly unit: string | null;
  /** Every unit that the platform may give, spelt by `normaliseUnit`; `unit` comes first. */
  readonly units: readonly string[];
  /** Decimals shown in the default unit. */
  readonly decimals: number;
  /** The default deadband of alarms, in the default unit. */
  readonly deadband: number;
  /** By unit. */
  readonly limits: Limits;
}

type Limits = Readonly<Record<string, readonly [min: number, max: number]>>;

function quantity(decimals: number, deadband: number, limits: Limits): Quantity {
  const units = Object.keys(limits);
  const [unit = null] = units;
  const [min, max] = Object.values(limits)[0] ?? [-Infinity, Infinity];
  return { unit, units, decimals, deadband, min, max, limits };
}

/**
 * Facts about each kind of sensor: decimals, deadband and, by unit, the plausible range; `min` and `max` are in the
 * default unit. Plausible is what a working sensor may show: wide enough for every site and season, narrow enough to
 * exclude numbers of broken probes (-99, 999, 6553.5). Barometers and pipes share `pressure`, so units mostly used for
 * pipes reach down to 0.
 */
const rows = {
  temperature: quantity(1, 0.5, { "°C": [-60, 120], "°F": [-76, 248], K: [213, 394] }),
  humidity: quantity(1, 2, { "%": [0, 105] }),
  co2: quantity(0, 50, { ppm: [0, 10_000] }),
  illuminance: quantity(0, 1000, { lx: [0, 250_000], klx: [0, 250] }),
  par: quantity(0, 20, { "μmol/m²/s": [0, 4000], "W/m²": [0, 1000] }),
  irradiance: quantity(0, 20, { "W/m²": [-30, 2000], "kW/m²": [-0.03, 2] }),
  soil_temperature: quantity(1, 0.5, { "°C": [-40, 80], "°F": [-40, 176], K: [233, 354] }),
  soil_moisture: quantity(1, 1, { "%": [0, 105], "m³/m³": [0, 1.05] }),
  ec: quantity(2, 0.1, { "mS/cm": [0, 50], "μS/cm": [0, 50_000], "dS/m": [0, 50], "mS/m": [0, 5000] }),
  // Some platforms write it like a unit, though it is none.
  ph: { ...quantity(2, 0.1, { pH: [0, 14] }), unit: null },
  pressure: quantity(1, 2, {
    hPa: [300, 1200],
    kPa: [0, 2000],
    Pa: [0, 2_000_000],
    MPa: [0, 4],
    mbar: [300, 1200],
    bar: [0, 40],
    mmHg: [200, 900],
    psi: [0, 600],
  }),
  wind_speed: quantity(1, 1, {
    "m/s": [0, 80],
    "km/h": [0, 290],
    mph: [0, 180],
    kn: [0, 156],
    "ft/s": [0, 263],
  }),
  wind_direction: quantity(0, 5, { "°": [0, 360] }),
  rain: quantity(1, 0.2, { mm: [0, 20_000], cm: [0, 2000], in: [0, 800] }),
  rain_rate: quantity(1, 0.5, { "mm/h": [0, 1000], "mm/min": [0, 20], "mm/d": [0, 2000], "in/h": [0, 40] }),
  flow: quantity(1, 1, {
    "L/min": [0, 50_000],
    "m³/h": [0, 3000],
    "L/h": [0, 3_000_000],
    "L/s": [0, 840],
    "mL/min": [0, 50_000_000],
    "m³/min": [0, 50],
    "m³/s": [0, 0.84],
  }),
  dew_point: quantity(1, 0.5, { "°C": [-80, 60], "°F": [-112, 140], K: [193, 334] }),
  vpd: quantity(2, 0.05, { kPa: [0, 15], hPa: [0, 150], Pa: [0, 15_000], mbar: [0, 150] }),
  battery: quantity(0, 2, { "%": [0, 100] }),
  voltage: quantity(2, 0.2, { V: [0, 1000], mV: [0, 1_000_000] }),
  other: quantity(2, 0, {}),
} satisfies Readonly<Record<string, Quantity>>;

export type SensorKind = keyof typeof rows;
export const quantities: Readonly<Record<SensorKind, Quantity>> = rows;

/** Every quantity that can be recognised; `other` is mirrored without a class. */
export const sensorKinds = Object.keys(rows) as unknown as readonly [SensorKind, ...SensorKind[]];

/**
 * The plausible range of this kind in this unit. Without a unit (null) any range of the kind's units counts. Null where
 * unknown: for `other`, or a foreign unit.
 */
export function plausibleRange(kind: SensorKind, unit: string | null): Range | null {
  const given = Object.entries(quantities[kind].limits).filter(([one]) => unit === null || one === unit);
  if (given.length === 0) return null;
  return {
    min: Math.min(...given.map(([, [min]]) => min)),
    max: Math.max(...given.map(([, [, max]]) => max)),
  };
}

/** Whether the unit fits the kind; no unit always does. */
export const acceptsUnit = (kind: SensorKind, unit: string | null): boolean =>
  unit === null || quantities[kind].units.includes(unit);
