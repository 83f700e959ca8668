import { knownUnit } from "../greenhouse/units.js";

/** What a reading says: a number where the text is one, with its unit if it carries one. */
export interface Measurement {
  readonly value: number | string | null;
  readonly unit: string | null;
}

const nothing: Measurement = { value: null, unit: null };

/** What platforms write where there is no reading. */
const placeholders = new Set([
  "",
  "-",
  "--",
  "---",
  "—",
  "——",
  "/",
  "null",
  "nil",
  "none",
  "nan",
  "n/a",
  "na",
  "undefined",
  "无",
  "暂无",
  "无数据",
]);

/**
 * Units that may stand behind a number besides those with a spelling of ours. A closed list: `3号风机` is a name, not
 * three of anything.
 */
const units = new Set(
  [
    "℃ °C C ° 度 摄氏度 ℉ °F F K",
    "% %RH RH% %rh ％ ‰ %VOL %vol %vwc %VWC m3/m3 m³/m³",
    "ppm PPM ppb mg/L mg/l mg/kg mg/m3 mg/m³ ug/m3 ug/m³ μg/m3 μg/m³ µg/m³ g/m3 g/m³ g/kg kg",
    "lx lux Lux LUX Lx klx Klx klux Klux kLux 勒克斯 千勒克斯 W/m2 W/m² W/㎡ w/m2 w/m² w/㎡ MJ/m2 MJ/m² kWh/m2",
    "umol/m2/s umol/m²/s μmol/m2/s μmol/m²/s µmol/m²/s μmol/(m²·s) umol/(m2·s) μmol/㎡/s μmol/㎡·s μmol/m²·s umol mol/m2/d",
    "mS/cm ms/cm us/cm uS/cm μS/cm µS/cm dS/m S/m mS/m mS uS μS pH PH ph",
    "Pa hPa kPa KPa Kpa kpa MPa Mpa mPa bar mbar psi mmHg 帕 百帕 千帕 兆帕",
    "m/s M/S 米/秒 km/h mph kn 级",
    "mm cm m km 毫米 厘米 米 mm/h mm/min mm/d",
    "L l mL ml m3 m³ 升 毫升 立方米 方 L/h L/min L/s l/h l/min m3/h m³/h 升/分 升/小时 立方米/小时",
    "V mV kV A mA W kW KW kWh KWh kwh Wh Hz hz dBm dB 伏 安 瓦 千瓦 伏特",
    "s min h d 秒 分 分钟 小时 天 时 次 g",
  ].flatMap((line) => line.split(" ")),
);

const numeric = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*)$/su;
const longest = 64;

/** Reads the text of a value; `unit` is the unit said elsewhere, which may be repeated behind the number. */
export function measurement(text: string, unit: string | null): Measurement {
  const trimmed = text.trim();
  if (placeholders.has(trimmed.toLowerCase())) return nothing;
  const match = trimmed.length <= longest ? numeric.exec(trimmed) : null;
  const value = match ? Number(match[1]) : Number.NaN;
  const rest = match?.[2] ?? "";
  if (!Number.isFinite(value)) return { value: trimmed, unit: null };
  if (rest === "") return { value, unit: null };
  const isUnit = rest === unit || units.has(rest) || knownUnit(rest) !== null;
  return isUnit ? { value, unit: rest } : { value: trimmed, unit: null };
}

/** Whether a text is a number, with or without unit, or stands for a missing one. */
export function isMeasurementText(text: string): boolean {
  return typeof measurement(text, null).value !== "string";
}
