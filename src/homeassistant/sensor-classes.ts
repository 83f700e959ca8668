import type { SensorKind } from "../greenhouse/sensors.js";

/*
 * Home Assistant's class for each kind of reading. It refuses an entity whose unit is not in its device class's list
 * (since 2025.7), so a class is sent only with a unit listed here.
 */

/**
 * Home Assistant's spelling of the unit, null for a class without one; the factor on the platform's value; the class,
 * where the unit decides it.
 */
type UnitRow = readonly [unit: string | null, factor?: number, deviceClass?: string];

interface SensorClass {
  readonly deviceClass: string | null;
  readonly stateClass: "measurement" | "total_increasing" | null;
  /** By normalised spelling of the platform's unit; `""` is "no unit". */
  readonly units: Readonly<Record<string, UnitRow>>;
  /** Decimals shown in Home Assistant's unit, unless the configuration gives them. */
  readonly decimals: number;
  /** Icon for a reading without a class that brings one. */
  readonly icon: string | null;
}

/** `units` are sent as they are; `others` are converted or spelt differently. */
const row = (
  deviceClass: string | null,
  decimals: number,
  icon: string | null,
  units = "",
  others: SensorClass["units"] = {},
  stateClass: SensorClass["stateClass"] = "measurement",
): SensorClass => {
  const taken = units.split(" ").filter((unit) => unit !== "");
  const same = Object.fromEntries(taken.map((unit) => [unitKey(unit), [unit] as const]));
  return { deviceClass, stateClass, units: { ...same, ...others }, decimals, icon };
};

const temperature = row("temperature", 1, "mdi:thermometer", "°C °F K", { c: ["°C"] });
const percents: SensorClass["units"] = { "%rh": ["%"], "%vol": ["%"] };
const air = "atmospheric_pressure";

export const sensorClasses = {
  temperature,
  soil_temperature: temperature,
  dew_point: temperature,
  humidity: row("humidity", 1, "mdi:water-percent", "%", percents),
  soil_moisture: row("moisture", 1, "mdi:water-percent", "%", percents),
  battery: row("battery", 0, "mdi:battery", "%", percents),
  co2: row("carbon_dioxide", 0, "mdi:molecule-co2", "ppm"),
  illuminance: row("illuminance", 0, "mdi:brightness-5", "lx", {
    lux: ["lx"],
    klx: ["lx", 1000],
    klux: ["lx", 1000],
  }),
  par: row(null, 0, "mdi:white-balance-sunny"),
  irradiance: row("irradiance", 0, "mdi:sun-wireless", "W/m²", {
    "w/m^2": ["W/m²"],
    "kw/m2": ["W/m²", 1000],
  }),
  // Each spelling of micro is refused by some release, so µS/cm is sent as mS/cm.
  ec: row("conductivity", 2, "mdi:flash", "mS/cm S/cm", {
    "us/cm": ["mS/cm", 0.001],
    "ds/m": ["mS/cm"],
    "ms/m": ["mS/cm", 0.01],
  }),
  ph: row("ph", 2, "mdi:ph", "", { "": [null], ph: [null] }),
  // Weather stations use hPa. Readings in bar, kPa or MPa may as well be of a water pipe.
  pressure: row("pressure", 1, "mdi:gauge", "kPa bar psi", {
    pa: ["Pa", 1, air],
    hpa: ["hPa", 1, air],
    mbar: ["mbar", 1, air],
    mmhg: ["mmHg", 1, air],
    mpa: ["kPa", 1000],
  }),
  wind_speed: row("wind_speed", 1, "mdi:weather-windy", "m/s km/h kn mph ft/s"),
  // The class for directions is newer than the oldest supported release, and a mean of degrees would be wrong.
  wind_direction: row(null, 0, "mdi:compass-outline", "", {}, null),
  rain: row("precipitation", 1, "mdi:weather-rainy", "mm cm in", {}, "total_increasing"),
  rain_rate: row("precipitation_intensity", 1, "mdi:weather-pouring", "mm/h in/h mm/d", {
    "mm/min": ["mm/h", 60],
  }),
  flow: row("volume_flow_rate", 1, "mdi:waves-arrow-right", "L/min m³/h", {
    "l/s": ["L/min", 60],
    "ml/min": ["L/min", 0.001],
    "m3/min": ["m³/h", 60],
    "m3/s": ["m³/h", 3600],
    "l/h": ["m³/h", 0.001],
  }),
  // As `pressure`, a vapour pressure deficit would be converted to psi or inHg for some users.
  vpd: row(null, 2, "mdi:water-thermometer"),
  voltage: row("voltage", 2, "mdi:sine-wave", "V mV"),
  other: row(null, 2, null),
} satisfies Record<SensorKind, SensorClass>;

/** Counters by their word in the catalogue, as they have no kind of their own; only these can be summed. */
const water = row("water", 2, "mdi:water", "L m³", { t: ["m³"] }, "total_increasing");
const energy = row("energy", 2, "mdi:lightning-bolt", "kWh Wh MWh", {}, "total_increasing");
const counters: Readonly<Record<string, SensorClass>> = { flow_total: water, water_volume: water, energy };

/** One spelling per unit: `℃` `°C` → `°c`, `W/㎡` `W/m²` → `w/m2`, `µS/cm` → `us/cm`. */
function unitKey(unit: string | null): string {
  return (unit ?? "").normalize("NFKC").toLowerCase().replace(/μ/g, "u").replace(/\s+/g, "");
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
 * Class, unit and conversion of a numeric reading. If Home Assistant refuses the class with this unit, the unit stays
 * and the class goes. `decimals`: of the mirrored value; null for the kind's default.
 */
export const classify = (kind: SensorKind, unit: string | null, decimals: number | null): Classified =>
  classifyBy(sensorClasses[kind], unit, decimals);

/** The class of a counter; null where the word names none, or not in this unit. */
export function counter(
  word: string | null,
  unit: string | null,
  decimals: number | null,
): Classified | null {
  const found = word !== null && Object.hasOwn(counters, word) ? counters[word] : undefined;
  return found && Object.hasOwn(found.units, unitKey(unit)) ? classifyBy(found, unit, decimals) : null;
}

function classifyBy(row: SensorClass, read: string | null, decimals: number | null): Classified {
  const key = unitKey(read);
  const known = row.deviceClass !== null && Object.hasOwn(row.units, key) ? row.units[key] : undefined;
  const [unit, factor = 1, ofUnit = row.deviceClass] = known ?? [read, 1, null];
  return {
    deviceClass: ofUnit,
    stateClass: row.stateClass,
    unit,
    factor,
    decimals: decimals === null ? row.decimals : Math.max(0, decimals - Math.round(Math.log10(factor))),
    icon: ofUnit === null ? row.icon : null,
  };
}
