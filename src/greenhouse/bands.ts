import { quantities, type SensorKind } from "./sensors.js";

/* Limits of readings from the configuration, by kind and by sensor, key by key. `src/limits/readings` judges them. */

export const bandLimits = ["low_low", "low", "high", "high_high"] as const;

export type BandLimit = (typeof bandLimits)[number];

/** A section of the configuration; `false` removes what an outer section sets. Durations are ms. */
export type BandSettings =
  | false
  | (Readonly<Partial<Record<BandLimit, number | false>>> & {
      readonly deadband?: number;
      readonly delay?: number;
    });

export type BandsByKind = Readonly<Partial<Record<SensorKind, BandSettings>>>;

/** In the unit of the reading. */
export interface Bands {
  readonly limits: Readonly<Partial<Record<BandLimit, number>>>;
  /** How far back inside a limit a value has to be before the alarm ends. */
  readonly deadband: number;
  /** How long it has to be beyond a limit, by the times of measuring. */
  readonly delayMs: number;
}

const defaultDelayMs = 300_000;

/**
 * Suggestions that `init` offers with their numbers. Quantities that depend on the crop, such as EC and pH, are left to
 * the grower. Limits are in the kind's default unit, the delay is as written.
 */
export const suggestedBands = {
  temperature: { low_low: 2, low: 5, high: 35, high_high: 40, delay: "10m" },
  humidity: { low: 30, high: 95, delay: "30m" },
  co2: { high: 2000, high_high: 5000, delay: "10m" },
  soil_temperature: { low: 8, high: 32, delay: "30m" },
  soil_moisture: { low: 15, delay: "30m" },
} as const satisfies Partial<
  Record<SensorKind, Readonly<Partial<Record<BandLimit, number>>> & { readonly delay: string }>
>;

/** The default deadband in another unit: 0.5 °C are 0.9 °F. */
function defaultDeadband(kind: SensorKind, unit: string | null): number {
  const { limits, min, max, deadband } = quantities[kind];
  const [least, most] = limits[unit ?? ""] ?? [min, max];
  const isScaled = Number.isFinite(max - min) && max > min;
  return isScaled ? Number(((deadband * (most - least)) / (max - min)).toPrecision(3)) : 0;
}

/** The smallest span of a chart's axis, so that noise fills at most a tenth of it. */
export const leastSpan = (kind: SensorKind, unit: string | null): number => 10 * defaultDeadband(kind, unit);

/** Kinds whose limits are for the crop, so the same number outdoors means nothing. */
const ofTheCrop: ReadonlySet<SensorKind> = new Set<SensorKind>([
  ...(["temperature", "humidity", "co2", "dew_point", "vpd"] as const),
  ...(["soil_temperature", "soil_moisture"] as const),
]);

/** Whether limits by kind apply. Limits of a sensor by name always do. */
const isJudgedByKind = ({ kind, average, outdoors }: JudgedSensor): boolean =>
  // The average of a day is no present reading.
  average !== true && !(outdoors === true && ofTheCrop.has(kind));

interface JudgedSensor {
  readonly kind: SensorKind;
  readonly unit: string | null;
  readonly average?: boolean;
  readonly outdoors?: boolean;
}

/** The limits of a sensor: its own keys before those of its kind; null for none. */
export function bandsOf(
  sensor: JudgedSensor,
  own: BandSettings | undefined,
  byKind: BandsByKind | undefined,
): Bands | null {
  const further = isJudgedByKind(sensor) ? byKind?.[sensor.kind] : undefined;
  if (own === false || (own === undefined && further === undefined)) return null;
  const { deadband, delay = defaultDelayMs, ...given } = { ...(further === false ? {} : further), ...own };
  const limits = Object.fromEntries(
    bandLimits.flatMap((limit) => {
      const value = given[limit];
      return typeof value === "number" ? [[limit, value] as const] : [];
    }),
  );
  if (Object.keys(limits).length === 0) return null;
  const usual = Math.min(defaultDeadband(sensor.kind, sensor.unit), roomBetween(limits) / 2);
  return { limits, deadband: deadband ?? usual, delayMs: delay };
}

/** The distance between the innermost lower and upper limit. */
export function roomBetween({ low_low: lowLow, low, high, high_high: highHigh }: Bands["limits"]): number {
  const lower = low ?? lowLow ?? -Infinity;
  const upper = high ?? highHigh ?? Infinity;
  return upper - lower;
}

/** The limit that a value is beyond, the outer one first; null for none. */
export function beyondOf({ limits }: Pick<Bands, "limits">, value: number): BandLimit | null {
  const { low_low: lowLow, low, high, high_high: highHigh } = limits;
  if (lowLow !== undefined && value < lowLow) return "low_low";
  if (highHigh !== undefined && value > highHigh) return "high_high";
  if (low !== undefined && value < low) return "low";
  return high !== undefined && value > high ? "high" : null;
}
