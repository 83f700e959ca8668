/** Every quantity a sensor can be recognised as; `other` is mirrored without a class. */
export const sensorKinds = [
  "temperature",
  "humidity",
  "co2",
  "illuminance",
  "par",
  "irradiance",
  "soil_temperature",
  "soil_moisture",
  "ec",
  "ph",
  "pressure",
  "wind_speed",
  "wind_direction",
  "rain",
  "rain_rate",
  "flow",
  "dew_point",
  "vpd",
  "battery",
  "voltage",
  "other",
] as const;

export type SensorKind = (typeof sensorKinds)[number];

export interface Range {
  readonly min: number;
  readonly max: number;
}

export interface Quantity extends Range {
  /** What a value without a better word is shown in; null where the quantity has none. */
  readonly unit: string | null;
  /** Every unit the platform may give it in, `unit` first, spelt as `normaliseUnit` does. */
  readonly units: readonly string[];
  /** Digits worth showing in the default unit. */
  readonly decimals: number;
}

type Limits = readonly [min: number, max: number];
type UnitRanges = Readonly<Record<string, Limits>>;

/*
 * Plausible means "a working sensor could say so": wide enough for every site and season, narrow enough to catch the
 * numbers a broken probe gives (-99, 999, 6553.5). A barometer and a pipe share `pressure`, so the units mostly used for
 * pipes reach down to 0.
 */
const ranges = {
  temperature: { "°C": [-60, 120], "°F": [-76, 248], K: [213, 394] },
  humidity: { "%": [0, 105] },
  co2: { ppm: [0, 10_000] },
  illuminance: { lx: [0, 250_000], klx: [0, 250] },
  par: { "μmol/m²/s": [0, 4000], "W/m²": [0, 1000] },
  irradiance: { "W/m²": [-30, 2000], "kW/m²": [-0.03, 2] },
  soil_temperature: { "°C": [-40, 80], "°F": [-40, 176], K: [233, 354] },
  soil_moisture: { "%": [0, 105], "m³/m³": [0, 1.05] },
  ec: { "mS/cm": [0, 50], "μS/cm": [0, 50_000], "dS/m": [0, 50], "mS/m": [0, 5000] },
  ph: { pH: [0, 14] },
  pressure: {
    hPa: [300, 1200],
    kPa: [0, 2000],
    Pa: [0, 2_000_000],
    MPa: [0, 4],
    mbar: [300, 1200],
    bar: [0, 40],
    mmHg: [200, 900],
    psi: [0, 600],
  },
  wind_speed: { "m/s": [0, 80], "km/h": [0, 290], mph: [0, 180], kn: [0, 156], "ft/s": [0, 263] },
  wind_direction: { "°": [0, 360] },
  rain: { mm: [0, 20_000], cm: [0, 2000], in: [0, 800] },
  rain_rate: { "mm/h": [0, 1000], "mm/min": [0, 20], "mm/d": [0, 2000], "in/h": [0, 40] },
  flow: {
    "L/min": [0, 50_000],
    "m³/h": [0, 3000],
    "L/h": [0, 3_000_000],
    "L/s": [0, 840],
    "mL/min": [0, 50_000_000],
    "m³/min": [0, 50],
    "m³/s": [0, 0.84],
  },
  dew_point: { "°C": [-80, 60], "°F": [-112, 140], K: [193, 334] },
  vpd: { kPa: [0, 15], hPa: [0, 150], Pa: [0, 15_000], mbar: [0, 150] },
  battery: { "%": [0, 100] },
  voltage: { V: [0, 1000], mV: [0, 1_000_000] },
  other: {},
} as const satisfies Record<SensorKind, UnitRanges>;

function quantity(byUnit: UnitRanges, decimals: number): Quantity {
  const units = Object.keys(byUnit);
  const unit = units[0] ?? null;
  const [min, max] = (unit === null ? undefined : byUnit[unit]) ?? [-Infinity, Infinity];
  return { unit, units, decimals, min, max };
}

/** What is known about each kind of sensor; `min` and `max` are in the default unit. */
export const quantities: Readonly<Record<SensorKind, Quantity>> = {
  temperature: quantity(ranges.temperature, 1),
  humidity: quantity(ranges.humidity, 1),
  co2: quantity(ranges.co2, 0),
  illuminance: quantity(ranges.illuminance, 0),
  par: quantity(ranges.par, 0),
  irradiance: quantity(ranges.irradiance, 0),
  soil_temperature: quantity(ranges.soil_temperature, 1),
  soil_moisture: quantity(ranges.soil_moisture, 1),
  ec: quantity(ranges.ec, 2),
  // Written by some platforms as if it were a unit; it is none.
  ph: { ...quantity(ranges.ph, 2), unit: null },
  pressure: quantity(ranges.pressure, 1),
  wind_speed: quantity(ranges.wind_speed, 1),
  wind_direction: quantity(ranges.wind_direction, 0),
  rain: quantity(ranges.rain, 1),
  rain_rate: quantity(ranges.rain_rate, 1),
  flow: quantity(ranges.flow, 1),
  dew_point: quantity(ranges.dew_point, 1),
  vpd: quantity(ranges.vpd, 2),
  battery: quantity(ranges.battery, 0),
  voltage: quantity(ranges.voltage, 2),
  other: quantity(ranges.other, 2),
};

const limits: Readonly<Record<SensorKind, UnitRanges>> = ranges;

/**
 * What a working sensor of this kind can show in this unit. Without a unit (null) anything plausible in one of the
 * kind's units passes, since nobody said which it is. Null where nothing can be said: `other`, or a foreign unit.
 */
export function plausibleRange(kind: SensorKind, unit: string | null): Range | null {
  const known =
    unit === null
      ? Object.values(limits[kind])
      : [Object.entries(limits[kind]).find(([u]) => u === unit)?.[1]];
  const given = known.filter((range) => range !== undefined);
  if (given.length === 0) return null;
  return { min: Math.min(...given.map(([min]) => min)), max: Math.max(...given.map(([, max]) => max)) };
}

/** Whether a sensor of this kind may be given in this unit; no unit contradicts nothing. */
export const acceptsUnit = (kind: SensorKind, unit: string | null): boolean =>
  unit === null || quantities[kind].units.includes(unit);
