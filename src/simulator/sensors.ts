import { planRoles } from "./addresses.js";
import { deficitKpa, dewPointC, type Plant } from "./plant.js";
import { chanceAt, clamp, type Weather } from "./weather.js";

/** `name`: as growers see it; `factor`: the platform's own code; `spread`: how far a sensor of this kind may be off. */
type Row = readonly [
  name: string,
  factor: string,
  unit: string,
  decimals: number,
  spread: number,
  read: (plant: Plant, outside: Weather, register: ReadRegister) => number,
];

/** A register's value; null for an address that the device lacks. */
type ReadRegister = (address: string) => string | null;

const rowsOf = (rows: readonly Row[]) =>
  rows.map(([name, factor, unit, decimals, spread, read], index) => ({
    name,
    factor,
    channel: index + 1,
    unit,
    decimals,
    spread,
    read,
  }));

export type SensorRow = ReturnType<typeof rowsOf>[number];

const running = (plant: Plant): number => (plant.sample.plans > 0.5 ? 1 : 0);

/**
 * The EC in mS/cm that the running plan's formula asks for, which holds hundredths. Each plan mixes its own, between
 * clear water and the limit.
 */
function mixedEc({ levels }: Plant, register: ReadRegister): number {
  const plan = planRoles.findIndex((role) => levels[role] > 0.5);
  if (plan < 0) return 0.6;
  const wanted = Number(register(String(501 + plan)));
  const most = Number(register("601"));
  return clamp(wanted / 100 || 0.6, 0.6, most / 100 || 3);
}

const sunlightGreenhouse = rowsOf([
  ["空气温度", "airtemp", "℃", 1, 0.3, (plant) => plant.climate.temperatureC],
  ["空气湿度", "airhumi", "%RH", 1, 1.5, (plant) => plant.climate.humidityPct],
  ["CO2", "co2", "ppm", 0, 12, (plant) => plant.climate.co2Ppm],
  ["光照", "light", "klx", 2, 0, (plant) => plant.sample.sunWm2 * 0.11],
  ["土壤温度", "soiltemp", "℃", 1, 0.3, (plant) => plant.climate.soilTemperatureC],
  ["土壤湿度", "soilhumi", "%", 1, 1, (plant) => plant.climate.soilMoisturePct],
  ["土壤电导率", "soilec", "mS/cm", 2, 0.1, (plant) => 2.3 - 0.035 * plant.climate.soilMoisturePct],
  ["露点温度", "dewpoint", "℃", 1, 0.2, ({ climate }) => dewPointC(climate)],
  ["饱和水汽压差", "vpd", "kPa", 2, 0, ({ climate }) => deficitKpa(climate)],
  ["光合有效辐射", "par", "umol/m2s", 0, 0, (plant) => plant.sample.sunWm2 * 2.05],
  ["室外温度", "outtemp", "℃", 1, 0.3, (_plant, outside) => outside.temperatureC],
  ["室外风速", "windspeed", "m/s", 1, 0.2, (_plant, outside) => outside.windMs],
]);

const fertilizerMachine = rowsOf([
  ["管道压力", "lp", "MPa", 2, 0.01, (plant) => 0.08 + 0.17 * running(plant)],
  ["EC反馈", "ecfii", "mS/cm", 2, 0.05, (plant, _outside, register) => mixedEc(plant, register)],
  ["pH反馈", "phfii", "", 2, 0.1, (plant) => 7.1 - 1.2 * running(plant)],
  ["瞬时流量", "flow", "m3/h", 1, 0, (plant) => 6.5 * running(plant)],
  ["累计流量", "tflow", "m3", 1, 0, (plant) => plant.climate.waterM3],
  ["水温", "wt", "℃", 1, 0.3, (plant) => 0.7 * plant.climate.soilTemperatureC + 4],
  ["液位", "level", "%", 0, 4, (plant) => clamp(90 - ((plant.climate.waterM3 * 1.7) % 70), 10, 100)],
  ["供电电压", "voltage", "V", 1, 0.3, () => 24],
]);

const weatherStation = rowsOf([
  ["空气温度", "airtemp", "℃", 1, 0.2, (_plant, outside) => outside.temperatureC],
  ["空气湿度", "airhumi", "%RH", 1, 1, (_plant, outside) => outside.humidityPct],
  ["大气压力", "pressure", "hPa", 1, 0.5, (_plant, outside) => outside.pressureHpa],
  ["风速", "windspeed", "m/s", 1, 0.1, (_plant, outside) => outside.windMs],
  ["风向", "winddir", "°", 0, 0, (_plant, outside) => outside.windDirectionDeg],
  ["降雨量", "rain", "mm", 1, 0, (plant) => plant.climate.rainTodayMm],
  ["雨强", "rainrate", "mm/h", 1, 0, (_plant, outside) => outside.rainMmH],
  ["太阳辐射", "irradiance", "W/m2", 0, 0, (_plant, outside) => outside.irradianceWm2],
  ["光照", "light", "klx", 1, 0, (_plant, outside) => outside.irradianceWm2 * 0.12],
  ["露点温度", "dewpoint", "℃", 1, 0.1, (_plant, outside) => dewPointC(outside)],
  ["电池电压", "battery", "V", 2, 0.1, (_plant, outside) => 12.1 + outside.irradianceWm2 / 900],
]);

const pestMonitor = rowsOf([
  ["害虫数量", "pestcount", "", 0, 3, (plant) => 20 + plant.climate.temperatureC],
  ["空气温度", "airtemp", "℃", 1, 0.3, (_plant, outside) => outside.temperatureC],
]);

const tables = new Map<string, readonly SensorRow[]>([
  ["C001", sunlightGreenhouse],
  ["C003", fertilizerMachine],
  ["W001", weatherStation],
  ["V003", pestMonitor],
]);

/** The sensors of a device type (system 1). Cameras have none, except the pest monitor in a dialect with readings. */
export const sensorTable = (type: string): readonly SensorRow[] => tables.get(type) ?? [];

export interface SampleItem {
  readonly sensor: SensorRow;
  /** In the sensor's unit and resolution; an overridden value is written unchanged. */
  readonly value: string | number | boolean | null;
  readonly isOverridden: boolean;
}

/** One round of readings, all of the same simulated time. */
export interface Sample {
  readonly at: number;
  readonly items: readonly SampleItem[];
}

/** What a device's sensors show; each has a small constant error of its own. */
export function sampleOf(
  type: string,
  seed: number,
  plant: Plant,
  outside: Weather,
  register: ReadRegister,
): Sample {
  const items = sensorTable(type).map((sensor) => {
    const error = sensor.spread * (2 * chanceAt(seed, 100 + sensor.channel) - 1);
    const reading = sensor.read(plant, outside, register) + error;
    const measured = sensor.unit.startsWith("%") ? clamp(reading, 0, 100) : reading;
    const scale = 10 ** sensor.decimals;
    return { sensor, value: Math.round(measured * scale) / scale + 0, isOverridden: false };
  });
  return { at: plant.sampledAt, items };
}

/**
 * A message of the weather station to the local broker, minutes faster than the platform. It has no time stamp, so it
 * is not retained.
 */
export interface StationMessage {
  readonly topic: string;
  readonly payload: string;
}

const round = (value: number, decimals = 1): number => Number(value.toFixed(decimals));

/** The payload of each station sensor: a word or number alone, or JSON with a field for each of its values. */
const stationSensors: Readonly<Record<string, (felt: Weather) => string>> = {
  wind: ({ windMs, windDirectionDeg: direction }) =>
    JSON.stringify({ speed: round(windMs), direction: round(direction, 0) }),
  rain: ({ rainMmH }) => (rainMmH > 0 ? "on" : "off"),
  temperature: ({ temperatureC }) => String(round(temperatureC)),
  irradiance: ({ irradianceWm2 }) => String(round(irradianceWm2, 0)),
};

/** The station's messages about the weather that it measures; a dead sensor sends none. */
export const stationMessages = (
  felt: Weather,
  isSilent: (sensor: string) => boolean,
): readonly StationMessage[] =>
  Object.entries(stationSensors).flatMap(([sensor, say]) =>
    isSilent(sensor) ? [] : [{ topic: `weather/${sensor}`, payload: say(felt) }],
  );
