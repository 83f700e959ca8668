import type { SensorKind } from "../greenhouse/sensors.js";

/*
 * What Home Assistant makes of each kind of reading. A unit outside a device class's list gets the entity refused (since
 * 2025.7), so a class is only sent together with a unit listed here.
 */

/** As Home Assistant spells it, or null for a class that takes none; what a value in the platform's unit is multiplied with; the class, where the unit decides it. */
type UnitRow = readonly [unit: string | null, factor?: number, deviceClass?: string];

interface SensorClass {
  readonly deviceClass: string | null;
  readonly stateClass: "measurement" | "total_increasing" | null;
  /** By normalised spelling of the platform's unit; `""` is "no unit". */
  readonly units: Readonly<Record<string, UnitRow>>;
  /** Decimals shown of a value in Home Assistant's unit when the configuration says nothing. */
  readonly decimals: number;
  /** Shown where there is no class to bring one. */
  readonly icon: string | null;
}

/** `units` are those that Home Assistant takes as they are; `others` are converted or spelt another way. */
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
  // Either spelling of micro is refused by some release, so µS/cm is sent as mS/cm.
  ec: row("conductivity", 2, "mdi:flash", "mS/cm S/cm", {
    "us/cm": ["mS/cm", 0.001],
    "ds/m": ["mS/cm"],
    "ms/m": ["mS/cm", 0.01],
  }),
  ph: row("ph", 2, "mdi:ph", "", { "": [null], ph: [null] }),
  // Weather stations write hPa; bar, kPa and MPa are as likely a water pipe.
  pressure: row("pressure", 1, "mdi:gauge", "kPa bar psi", {
    pa: ["Pa", 1, air],
    hpa: ["hPa", 1, air],
    mbar: ["mbar", 1, air],
    mmhg: ["mmHg", 1, air],
    mpa: ["kPa", 1000],
  }),
  wind_speed: row("wind_speed", 1, "mdi:weather-windy", "m/s km/h kn mph ft/s"),
  // The class for directions is newer than the oldest release supported, and a mean of degrees would be wrong.
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
  // Vapour pressure deficit as `pressure` would be turned into psi or inHg for some users.
  vpd: row(null, 2, "mdi:water-thermometer"),
  voltage: row("voltage", 2, "mdi:sine-wave", "V mV"),
  other: row(null, 2, null),
} satisfies Record<SensorKind, SensorClass>;

/** Counters, which have no kind of their own, by their word in the catalogue: only what adds up can be summed. */
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
 * Class, unit and conversion of a numeric reading. A unit that the class would be refused with is kept and the class
 * dropped; `decimals` are those of the mirrored value, null for the kind's own.
 */
export const classify = (kind: SensorKind, unit: string | null, decimals: number | null): Classified =>
  classifyBy(sensorClasses[kind], unit, decimals);

/** The same of a counter; null for a word or a unit that is none. */
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
