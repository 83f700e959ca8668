// The account that every part measures: controllers with the same twelve sensors each.

/**
 * Name, factor, unit and kind as the platform or the bridge spells them; a value moves by one step with every answer.
 */
export const sensors = [
  { name: "空气温度", factor: "airtemp", unit: "℃", shown: "°C", kind: "temperature", from: 12, step: 0.1 },
  { name: "空气湿度", factor: "airhumi", unit: "%RH", shown: "%", kind: "humidity", from: 40, step: 0.1 },
  { name: "CO2", factor: "co2", unit: "ppm", shown: "ppm", kind: "co2", from: 400, step: 1 },
  { name: "光照", factor: "light", unit: "klx", shown: "klx", kind: "illuminance", from: 11, step: 0.01 },
  {
    name: "土壤温度",
    factor: "soiltemp",
    unit: "℃",
    shown: "°C",
    kind: "soil_temperature",
    from: 11,
    step: 0.1,
  },
  { name: "土壤湿度", factor: "soilhumi", unit: "%", shown: "%", kind: "soil_moisture", from: 31, step: 0.1 },
  { name: "土壤电导率", factor: "soilec", unit: "mS/cm", shown: "mS/cm", kind: "ec", from: 1, step: 0.01 },
  { name: "露点温度", factor: "dewpoint", unit: "℃", shown: "°C", kind: "dew_point", from: 10, step: 0.1 },
  { name: "饱和水汽压差", factor: "vpd", unit: "kPa", shown: "kPa", kind: "vpd", from: 1, step: 0.01 },
  {
    name: "光合有效辐射",
    factor: "par",
    unit: "umol/m2s",
    shown: "µmol/m²·s",
    kind: "par",
    from: 200,
    step: 1,
  },
  { name: "室外温度", factor: "outtemp", unit: "℃", shown: "°C", kind: "temperature", from: 10, step: 0.1 },
  {
    name: "室外风速",
    factor: "windspeed",
    unit: "m/s",
    shown: "m/s",
    kind: "wind_speed",
    from: 1,
    step: 0.1,
  },
];

/** The messages that one sweep with changed values publishes for a controller: value and JSON of each sensor. */
export const messagesPerController = 2 * sensors.length;

/** The number of answers until a sensor's value repeats. */
const turns = 97;

export const codeOf = (index) => `GH-${String(index + 1).padStart(5, "0")}`;

/** The sensor's value as text at its n-th answer; never the same twice in a row. */
export function valueAt({ from, step }, answer) {
  const decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
  return (from + (answer % turns) * step).toFixed(decimals);
}
