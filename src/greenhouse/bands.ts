import { quantities, type SensorKind } from "./sensors.js";

/*
 * Between which values a reading is as it should be: as the configuration says it, by kind and nearer by sensor, key by key. What
 * becomes of it is judged in `src/limits/readings`.
 */

export const bandLimits = ["low_low", "low", "high", "high_high"] as const;

export type BandLimit = (typeof bandLimits)[number];

/** What a section says; `false` takes away what one further away says. Durations are ms. */
export type BandSettings =
  | false
  | (Readonly<Partial<Record<BandLimit, number | false>>> & {
      readonly deadband?: number;
      readonly delay?: number;
    });

export type BandsByKind = Readonly<Partial<Record<SensorKind, BandSettings>>>;

/** In the reading's own unit. */
export interface Bands {
  readonly limits: Readonly<Partial<Record<BandLimit, number>>>;
  /** So far back inside of a limit a value has to be before the alarm is over. */
  readonly deadband: number;
  /** How long it has to be beyond a limit, by the times of measuring. */
  readonly delayMs: number;
}

const defaultDelayMs = 300_000;

/**
 * What most growers want to be told of, to begin with: for `init` alone, which shows the numbers first. What depends on the crop, such
 * as EC and pH, is for the grower. In the default unit of the kind, and the delay as it is written.
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

/** As many units as the default one has: 0.5 °C are 0.9 °F. */
function defaultDeadband(kind: SensorKind, unit: string | null): number {
  const { limits, min, max, deadband } = quantities[kind];
  const [least, most] = limits[unit ?? ""] ?? [min, max];
  const isScaled = Number.isFinite(max - min) && max > min;
  return isScaled ? Number(((deadband * (most - least)) / (max - min)).toPrecision(3)) : 0;
}

/** What is no more than noise is drawn no higher than a tenth. */
export const leastSpan = (kind: SensorKind, unit: string | null): number => 10 * defaultDeadband(kind, unit);

/** What the crop feels: of the air outside of a greenhouse the same number means nothing. */
const ofTheCrop: ReadonlySet<SensorKind> = new Set<SensorKind>([
  ...(["temperature", "humidity", "co2", "dew_point", "vpd"] as const),
  ...(["soil_temperature", "soil_moisture"] as const),
]);

/** Who asks for one by name means it. */
const isJudgedByKind = ({ kind, average, outdoors }: JudgedSensor): boolean =>
  // What a day was like on average is no reading of now.
  average !== true && !(outdoors === true && ofTheCrop.has(kind));

interface JudgedSensor {
  readonly kind: SensorKind;
  readonly unit: string | null;
  readonly average?: boolean;
  readonly outdoors?: boolean;
}

/** What holds for a sensor: its own keys before those of its kind; null where nothing does. */
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

/** Between the lower and the upper limit that lie nearest to each other. */
export function roomBetween({ low_low: lowLow, low, high, high_high: highHigh }: Bands["limits"]): number {
  const lower = low ?? lowLow ?? -Infinity;
  const upper = high ?? highHigh ?? Infinity;
  return upper - lower;
}

/** The limit that a value is beyond, the outer one first; null where it is between all. */
export function beyondOf({ limits }: Pick<Bands, "limits">, value: number): BandLimit | null {
  const { low_low: lowLow, low, high, high_high: highHigh } = limits;
  if (lowLow !== undefined && value < lowLow) return "low_low";
  if (highHigh !== undefined && value > highHigh) return "high_high";
  if (low !== undefined && value < low) return "low";
  return high !== undefined && value > high ? "high" : null;
}
