import { chanceAt } from "./noise.js";
import type { Plant } from "./plant.js";
import { sensorTable, type SensorRow } from "./sensor-table.js";
import type { Weather } from "./weather.js";

export interface SampleItem {
  readonly sensor: SensorRow;
  /** In the sensor's unit and resolution, unless overridden by something to be written as it stands. */
  readonly value: string | number | boolean | null;
  readonly isOverridden: boolean;
}

/** One round of readings, all taken at the same simulated instant. */
export interface Sample {
  readonly at: number;
  readonly items: readonly SampleItem[];
}

const limits: Readonly<Record<string, readonly [number, number]>> = { "%RH": [0, 100], "%": [0, 100] };

/** What the sensors of a device show; each has its own small constant error. */
export function sampleOf(type: string, seed: number, plant: Plant, outside: Weather): Sample {
  const items = sensorTable(type).map((sensor) => {
    const error = sensor.spread * (2 * chanceAt(seed, 100 + sensor.channel) - 1);
    const [low, high] = limits[sensor.unit] ?? [-Infinity, Infinity];
    const measured = Math.min(high, Math.max(low, sensor.read(plant, outside) + error));
    const scale = 10 ** sensor.decimals;
    return { sensor, value: Math.round(measured * scale) / scale + 0, isOverridden: false };
  });
  return { at: plant.sampledAt, items };
}
