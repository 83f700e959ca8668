import type { SensorKind } from "../greenhouse/sensors.js";

/*
 * What Home Assistant makes of each kind of reading. A unit outside a device class's list gets the entity refused (since
 * 2025.7), so a class is only sent together with a unit listed here.
 */

interface UnitRow {
  /** As Home Assistant spells it; null for a class that takes no unit. */
  readonly unit: string | null;
  /** What a value in the platform's unit is multiplied with. */
  readonly factor?: number;
  /** Where the unit decides the class. */
  readonly deviceClass?: string;
}

interface SensorClass {
  readonly deviceClass: string | null;
  readonly stateClass: "measurement" | "total_increasing" | null;
  /** By normalised spelling of the platform's unit; `""` is "no unit". */
  readonly units: Readonly<Record<string, UnitRow>>;
  /** Decimals shown of a value in Home Assistant's unit when the configuration says nothing. */
  readonly decimals: number;
  /** Shown where there is no class to bring one. */
  readonly icon?: string;
}

const same = (...units: string[]): Record<string, UnitRow> =>
  Object.fromEntries(units.map((unit) => [unitKey(unit), { unit }]));

const row = (
  deviceClass: string | null,
  decimals: number,
  icon: string | undefined,
  units: SensorClass["units"] = {},
): SensorClass => ({ deviceClass, stateClass: "measurement", units, decimals, icon });

const temperature = row("temperature", 1, "mdi:thermometer", {
  ...same("°C", "°F", "K"),
  c: { unit: "°C" },
});

const percent = (deviceClass: string, decimals: number, icon: string) =>
  row(deviceClass, decimals, icon, { ...same("%"), "%rh": { unit: "%" }, "%vol": { unit: "%" } });

export const sensorClasses = {
  temperature,
  soil_temperature: temperature,
  dew_point: temperature,
  humidity: percent("humidity", 1, "mdi:water-percent"),
  soil_moisture: percent("moisture", 1, "mdi:water-percent"),
  battery: percent("battery", 0, "mdi:battery"),
  co2: row("carbon_dioxide", 0, "mdi:molecule-co2", same("ppm")),
  illuminance: row("illuminance", 0, "mdi:brightness-5", {
    ...same("lx"),
    lux: { unit: "lx" },
    klx: { unit: "lx", factor: 1000 },
    klux: { unit: "lx", factor: 1000 },
  }),
  par: row(null, 0, "mdi:white-balance-sunny"),
  irradiance: row("irradiance", 0, "mdi:sun-wireless", {
    ...same("W/m²"),
    "w/m^2": { unit: "W/m²" },
    "kw/m2": { unit: "W/m²", factor: 1000 },
  }),
  // Either spelling of micro is refused by some release, so µS/cm is sent as mS/cm.
  ec: row("conductivity", 2, "mdi:flash", {
    ...same("mS/cm", "S/cm"),
    "us/cm": { unit: "mS/cm", factor: 0.001 },
    "ds/m": { unit: "mS/cm" },
    "ms/m": { unit: "mS/cm", factor: 0.01 },
  }),
  ph: row("ph", 2, "mdi:ph", { "": { unit: null }, ph: { unit: null } }),
  // Weather stations write hPa; bar, kPa and MPa are as likely a water pipe.
  pressure: row("pressure", 1, "mdi:gauge", {
    ...same("kPa", "bar", "psi"),
    pa: { unit: "Pa", deviceClass: "atmospheric_pressure" },
    hpa: { unit: "hPa", deviceClass: "atmospheric_pressure" },
    mbar: { unit: "mbar", deviceClass: "atmospheric_pressure" },
    mmhg: { unit: "mmHg", deviceClass: "atmospheric_pressure" },
    mpa: { unit: "kPa", factor: 1000 },
  }),
  wind_speed: row("wind_speed", 1, "mdi:weather-windy", same("m/s", "km/h", "kn", "mph", "ft/s")),
  // The class for directions is newer than the oldest release supported, and a mean of degrees would be wrong.
  wind_direction: { ...row(null, 0, "mdi:compass-outline"), stateClass: null },
  rain: {
    ...row("precipitation", 1, "mdi:weather-rainy", same("mm", "cm", "in")),
    stateClass: "total_increasing",
  },
  rain_rate: row("precipitation_intensity", 1, "mdi:weather-pouring", {
    ...same("mm/h", "in/h", "mm/d"),
    "mm/min": { unit: "mm/h", factor: 60 },
  }),
  flow: row("volume_flow_rate", 1, "mdi:waves-arrow-right", {
    ...same("L/min", "m³/h"),
    "l/s": { unit: "L/min", factor: 60 },
    "ml/min": { unit: "L/min", factor: 0.001 },
    "m3/min": { unit: "m³/h", factor: 60 },
    "m3/s": { unit: "m³/h", factor: 3600 },
    "l/h": { unit: "m³/h", factor: 0.001 },
  }),
  // Vapour pressure deficit as `pressure` would be turned into psi or inHg for some users.
  vpd: row(null, 2, "mdi:water-thermometer"),
  voltage: row("voltage", 2, "mdi:sine-wave", same("V", "mV")),
  other: row(null, 2, undefined),
} satisfies Record<SensorKind, SensorClass>;

/** Counters, which have no kind of their own, by their word in the catalogue: only what adds up can be summed. */
const water: SensorClass = {
  ...row("water", 2, "mdi:water", { ...same("L", "m³"), t: { unit: "m³" } }),
  stateClass: "total_increasing",
};
const counters: Readonly<Record<string, SensorClass>> = {
  flow_total: water,
  water_volume: water,
  energy: {
    ...row("energy", 2, "mdi:lightning-bolt", same("kWh", "Wh", "MWh")),
    stateClass: "total_increasing",
  },
};

/** One spelling per unit: `℃` `°C` → `°c`, `W/㎡` `W/m²` → `w/m2`, `µS/cm` → `us/cm`. */
function unitKey(unit: string | null): string {
  if (unit === null) return "";
  return unit.normalize("NFKC").toLowerCase().replace(/μ/g, "u").replace(/\s+/g, "");
}

interface Classified {
  readonly deviceClass: string | null;
  readonly stateClass: string | null;
  readonly unit: string | null;
  readonly factor: number;
  readonly decimals: number;
  readonly icon: string | null;
}

/**
 * Class, unit and conversion of a numeric reading. A unit that the class would be refused with is kept and the class
 * dropped; `decimals` are those of the mirrored value, null for the kind's own.
 */
export const classify = (kind: SensorKind, unit: string | null, decimals: number | null): Classified =>
  classified(sensorClasses[kind], unit, decimals);

/** The same of a counter; null for a word or a unit that is none. */
export function counter(
  word: string | null,
  unit: string | null,
  decimals: number | null,
): Classified | null {
  const row = word !== null && Object.hasOwn(counters, word) ? counters[word] : undefined;
  return row && unitRow(row.units, unitKey(unit)) ? classified(row, unit, decimals) : null;
}

function classified(row: SensorClass, unit: string | null, decimals: number | null): Classified {
  const known = row.deviceClass === null ? undefined : unitRow(row.units, unitKey(unit));
  const factor = known?.factor ?? 1;
  const deviceClass = known === undefined ? null : (known.deviceClass ?? row.deviceClass);
  return {
    deviceClass,
    stateClass: row.stateClass,
    unit: known === undefined ? unit : known.unit,
    factor,
    decimals: decimals === null ? row.decimals : Math.max(0, decimals - Math.round(Math.log10(factor))),
    icon: deviceClass === null ? (row.icon ?? null) : null,
  };
}

const unitRow = (units: Readonly<Record<string, UnitRow>>, key: string): UnitRow | undefined =>
  Object.hasOwn(units, key) ? units[key] : undefined;
