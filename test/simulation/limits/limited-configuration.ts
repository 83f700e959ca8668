import type { AddressRow } from "../../../src/simulator/addresses.js";
import type { Chance } from "../chance.js";

/* Limits as a user writes them: what a seed's configuration says beside its actuators. */

/** The lines of `weather`. */
export const weatherLines = (chance: Chance): readonly string[] => [
  "weather:",
  `  wind: { topic: weather/station, field: wind.speed, unit: m/s, stale_after: ${chance.of(["30s", "90s", "5m"])} }`,
  `  rain: { topic: weather/rain, stale_after: ${chance.of(["60s", "2m", "10m"])} }`,
];

interface Other {
  readonly id: string;
  readonly kind: AddressRow["kind"];
}

interface Words {
  /** The word that ends what runs. */
  readonly end: string;
  readonly endIsNamed: boolean;
  readonly always?: readonly string[];
  /** What a guard may leave: lists without the end. */
  readonly others: readonly string[];
  /** States that a guard on it may ask for. */
  readonly states: readonly string[];
  /** Degrees or two directions. */
  readonly reverses: boolean;
}

const machine: Words = {
  end: "off",
  endIsNamed: false,
  others: ["auto"],
  states: ['"on"', "auto"],
  reverses: false,
};
const window: Words = {
  end: "close",
  endIsNamed: false,
  others: ["0..10", "auto", "0..45"],
  states: ["open", "auto"],
  reverses: true,
};

const special: Partial<Record<AddressRow["kind"], Words>> = {
  motor: { end: "close", endIsNamed: true, others: ["stop"], states: ["open"], reverses: true },
  custom: { end: "low", endIsNamed: true, others: [], states: ["high"], reverses: false },
  fan_wet_curtain: { ...machine, others: ["fan_1"], states: ["all_on", "fan_1"] },
  // What always sends `on` first has to be allowed it.
  light: { ...machine, others: [], always: ['"on"'] },
  skylight: window,
  shade_curtain: window,
  thermal_curtain: window,
  side_vent: window,
  mode: window,
};

const wordsOf = (kind: AddressRow["kind"]): Words => special[kind] ?? machine;

/** What runs at a simulated greenhouse, as the running statuses say. */
const statuses = ["16_fan_stage_1", "19_wet_curtain", "49_irrigation_plan_1", "37_outdoor_roof_spray"];

/** The draws that limits come from; running statuses have their own, so that they change nothing else of a seed. */
export interface LimitChances {
  readonly limits: Chance;
  readonly statuses: Chance;
}

/** The limits of an actuator as YAML, null for none; `others` are actuators that guards may look at. */
export function limitsLine(row: AddressRow, others: readonly Other[], chances: LimitChances): string | null {
  const chance = chances.limits;
  if (chance.hits(0.35)) return null;
  const words = wordsOf(row.kind);
  const isLeased = chance.hits(0.4);
  const hasFor = chance.hits(0.5);
  const parts = [
    ...(chance.hits(0.3) ? [`rest: ${chance.of(["2s", "10s", "40s"])}`] : []),
    ...(words.reverses && chance.hits(0.3) ? [`reversal: ${chance.of(["5s", "20s", "60s"])}`] : []),
    ...(chance.hits(0.3) ? [`starts_per_hour: ${chance.of([1, 3, 6, 20])}`] : []),
    ...(isLeased && hasFor ? [`for: ${chance.of(["40s", "3m", "15m"])}`] : []),
    ...(isLeased && (!hasFor || chance.hits(0.5)) ? [`at_most: ${chance.of(["16m", "45m"])}`] : []),
    ...(words.endIsNamed && (isLeased || chance.hits(0.5)) ? [`ends_with: ${words.end}`] : []),
    guardsPart(words, others, isLeased, chances),
  ];
  return `{ ${parts.join(", ")} }`;
}

function guardsPart(
  words: Words,
  others: readonly Other[],
  isLeased: boolean,
  { limits: drawn, statuses: ofStatuses }: LimitChances,
): string {
  const guards: string[] = [];
  const add = (name: string, rate: number, input: () => string, mayLast: boolean, chance = drawn) => {
    if (!chance.hits(rate)) return;
    const allowed = [
      ...(words.always ?? []),
      ...(isLeased || chance.hits(0.7) ? [words.end] : []),
      ...(words.others.length > 0 && chance.hits(0.5) ? [chance.of(words.others)] : []),
    ];
    const sends = allowed.includes(words.end) && mayLast && chance.hits(0.5);
    const parts = [
      input(),
      ...(mayLast ? [`clear_after: ${chance.of(["0s", "20s", "3m"])}`] : []),
      `allow: [${allowed.join(", ")}]`,
      ...(sends ? [`then: ${words.end}`] : []),
      ...(sends && chance.hits(0.2) ? ["blind: act"] : []),
    ];
    guards.push(`${name}: { ${parts.join(", ")} }`);
  };
  const clearAt = drawn.of(["", ", clear_at: 9"]);
  add("wind", 0.5, () => `sensor: weather/wind, above: 12${clearAt}`, true);
  const rain = drawn.of(['is: "on"', 'is_not: "off"', 'is: ["on", heavy]']);
  add("rain", 0.4, () => `sensor: weather/rain, ${rain}`, true);
  const warm = drawn.of(["above: 26, clear_at: 24", "below: 16, clear_at: 17"]);
  add("warm", 0.3, () => `sensor: air_temperature, ${warm}`, true);
  if (others.length > 0) {
    add("twin", 0.35, () => `actuator: ${drawn.of(others).id}, moving: true`, false);
    const { id, kind } = drawn.of(others);
    add("other", 0.25, () => `actuator: ${id}, is: [${wordsOf(kind).states.join(", ")}]`, false);
  }
  const isRunning = ofStatuses.of(['is: "on"', 'is_not: "off"', 'is: "off"']);
  add("running", 0.25, () => `status: ${ofStatuses.of(statuses)}, ${isRunning}`, true, ofStatuses);
  return `guards: { ${guards.join(", ")} }`;
}
