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

const temperature: SensorClass = {
  deviceClass: "temperature",
  stateClass: "measurement",
  units: { ...same("°C", "°F", "K"), c: { unit: "°C" } },
  decimals: 1,
  icon: "mdi:thermometer",
};

const percent = (deviceClass: string, icon: string): SensorClass => ({
  deviceClass,
  stateClass: "measurement",
  units: { ...same("%"), "%rh": { unit: "%" }, "%vol": { unit: "%" } },
  decimals: deviceClass === "battery" ? 0 : 1,
  icon,
});

export const sensorClasses = {
  temperature,
  soil_temperature: temperature,
  dew_point: temperature,
  humidity: percent("humidity", "mdi:water-percent"),
  soil_moisture: percent("moisture", "mdi:water-percent"),
  battery: percent("battery", "mdi:battery"),
  co2: {
    deviceClass: "carbon_dioxide",
    stateClass: "measurement",
    units: same("ppm"),
    decimals: 0,
    icon: "mdi:molecule-co2",
  },
  illuminance: {
    deviceClass: "illuminance",
    stateClass: "measurement",
    units: {
      ...same("lx"),
      lux: { unit: "lx" },
      klx: { unit: "lx", factor: 1000 },
      klux: { unit: "lx", factor: 1000 },
    },
    decimals: 0,
    icon: "mdi:brightness-5",
  },
  par: {
    deviceClass: null,
    stateClass: "measurement",
    units: {},
    decimals: 0,
    icon: "mdi:white-balance-sunny",
  },
  irradiance: {
    deviceClass: "irradiance",
    stateClass: "measurement",
    units: { ...same("W/m²"), "w/m^2": { unit: "W/m²" }, "kw/m2": { unit: "W/m²", factor: 1000 } },
    decimals: 0,
    icon: "mdi:sun-wireless",
  },
  // Either spelling of micro is refused by some release, so µS/cm is sent as mS/cm.
  ec: {
    deviceClass: "conductivity",
    stateClass: "measurement",
    units: {
      ...same("mS/cm", "S/cm"),
      "us/cm": { unit: "mS/cm", factor: 0.001 },
      "ds/m": { unit: "mS/cm" },
      "ms/m": { unit: "mS/cm", factor: 0.01 },
    },
    decimals: 2,
    icon: "mdi:flash",
  },
  ph: {
    deviceClass: "ph",
    stateClass: "measurement",
    units: { "": { unit: null }, ph: { unit: null } },
    decimals: 2,
    icon: "mdi:ph",
  },
  // Weather stations write hPa; bar, kPa and MPa are as likely a water pipe.
  pressure: {
    deviceClass: "pressure",
    stateClass: "measurement",
    units: {
      ...same("kPa", "bar", "psi"),
      pa: { unit: "Pa", deviceClass: "atmospheric_pressure" },
      hpa: { unit: "hPa", deviceClass: "atmospheric_pressure" },
      mbar: { unit: "mbar", deviceClass: "atmospheric_pressure" },
      mmhg: { unit: "mmHg", deviceClass: "atmospheric_pressure" },
      mpa: { unit: "kPa", factor: 1000 },
    },
    decimals: 1,
    icon: "mdi:gauge",
  },
  wind_speed: {
    deviceClass: "wind_speed",
    stateClass: "measurement",
    units: same("m/s", "km/h", "kn", "mph", "ft/s"),
    decimals: 1,
    icon: "mdi:weather-windy",
  },
  // The class for directions is newer than the oldest release supported, and a mean of degrees would be wrong.
  wind_direction: {
    deviceClass: null,
    stateClass: null,
    units: {},
    decimals: 0,
    icon: "mdi:compass-outline",
  },
  rain: {
    deviceClass: "precipitation",
    stateClass: "total_increasing",
    units: same("mm", "cm", "in"),
    decimals: 1,
    icon: "mdi:weather-rainy",
  },
  rain_rate: {
    deviceClass: "precipitation_intensity",
    stateClass: "measurement",
    units: { ...same("mm/h", "in/h", "mm/d"), "mm/min": { unit: "mm/h", factor: 60 } },
    decimals: 1,
    icon: "mdi:weather-pouring",
  },
  flow: {
    deviceClass: "volume_flow_rate",
    stateClass: "measurement",
    units: {
      ...same("L/min", "m³/h"),
      "l/s": { unit: "L/min", factor: 60 },
      "ml/min": { unit: "L/min", factor: 0.001 },
      "m3/min": { unit: "m³/h", factor: 60 },
      "m3/s": { unit: "m³/h", factor: 3600 },
      "l/h": { unit: "m³/h", factor: 0.001 },
    },
    decimals: 1,
    icon: "mdi:waves-arrow-right",
  },
  // Vapour pressure deficit as `pressure` would be turned into psi or inHg for some users.
  vpd: {
    deviceClass: null,
    stateClass: "measurement",
    units: {},
    decimals: 2,
    icon: "mdi:water-thermometer",
  },
  voltage: {
    deviceClass: "voltage",
    stateClass: "measurement",
    units: same("V", "mV"),
    decimals: 2,
    icon: "mdi:sine-wave",
  },
  other: { deviceClass: null, stateClass: "measurement", units: {}, decimals: 2 },
} satisfies Record<SensorKind, SensorClass>;

/** One spelling per unit: `℃` `°C` → `°c`, `W/㎡` `W/m²` → `w/m2`, `µS/cm` → `us/cm`. */
export function unitKey(unit: string | null): string {
  if (unit === null) return "";
  return unit.normalize("NFKC").toLowerCase().replace(/μ/g, "u").replace(/\s+/g, "");
}

export interface Classified {
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
export function classify(kind: SensorKind, unit: string | null, decimals: number | null): Classified {
  const row: SensorClass = sensorClasses[kind];
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
