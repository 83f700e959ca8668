import { acceptsUnit } from "../quantities.js";
import { sensorKinds, type SensorKind } from "../sensor-kinds.js";

/** What a name can stand for; the first one where no unit decides, unless the name says too little without. */
export interface Kinds {
  readonly kinds: readonly SensorKind[];
  readonly needsUnit: boolean;
}

/** Reads `rain+rain_rate` or `?battery+voltage`. */
export function kindsOf(text: string): Kinds {
  const needsUnit = text.startsWith("?");
  const words = (needsUnit ? text.slice(1) : text).split("+");
  return { kinds: sensorKinds.filter((kind) => words.includes(kind)).sort(byPlaceIn(words)), needsUnit };
}

const byPlaceIn = (words: readonly string[]) => (one: SensorKind, other: SensorKind) =>
  words.indexOf(one) - words.indexOf(other);

/** The kind that goes with the unit; `other` where the unit contradicts every one of them, or is needed and missing. */
export function kindWithUnit({ kinds, needsUnit }: Kinds, unit: string | null): SensorKind {
  if (unit === null) return needsUnit ? "other" : (kinds[0] ?? "other");
  return kinds.find((kind) => acceptsUnit(kind, unit)) ?? "other";
}
