import { loadConfiguration } from "../../src/config/load.js";
import type { Configuration } from "../../src/config/schema.js";
import { type AddressRow, addressTable, louvre } from "../../src/simulator/addresses.js";
import { actuatorKeys, inBraces } from "../../src/simulator/printable-configuration.js";
import type { Readings } from "../../src/simulator/readings.js";
import { groupLines } from "./groups.js";
import { settingLines } from "./readings.js";
import type { Chance } from "./scenario.js";

/**
 * A user's configuration, read by the product's own reader; `limits` draws the limits of actuators. `isNovice`: the
 * user does not know yet that a degree has an address of its own.
 */
export async function configurationOf(
  chance: Chance,
  controllers: number,
  actuators: number,
  limits: LimitChances | null,
  readings: Readings,
  groups: Chance,
  isNovice = false,
): Promise<Configuration> {
  const all = Array.from({ length: controllers }, (_, index) => `GH-${String(index + 1).padStart(4, "0")}`);
  const rows = all.flatMap((code) =>
    [...addressTable("C001", { readings }).values()]
      .filter(({ id, kind }) => id !== null && kind !== "parameter" && kind !== "reading")
      .map((row) => ({ code, row, order: chance.random() })),
  );
  const chosen = rows.sort((one, other) => one.order - other.order).slice(0, Math.max(1, actuators));
  const settings = {
    settle: chance.of(["0s", "2s", "2s", "5s"]),
    minInterval: chance.of(["0s", "2s", "2s", "10s"]),
    maxAge: chance.of(["60s", "60s", "60s", "30s", "120s"]),
    readOnly: chance.hits(0.03),
    requireAge: chance.hits(0.05),
    dryRun: chance.hits(0.03),
  };
  const lines = all.flatMap((code) => {
    const own = chosen.filter((one) => one.code === code);
    return [
      `  ${code}:`,
      "    actuators:",
      ...own.map(({ row }) => {
        const others = own.flatMap((one) =>
          one.row === row ? [] : [{ id: idOf(one.row), kind: one.row.kind }],
        );
        const limited = limits === null ? null : limitsLine(row, others, limits);
        const line = actuatorLine(isNovice ? unlearnt(row) : row, settings.settle, chance, limited);
        return `      ${line}`;
      }),
    ].slice(0, own.length === 0 ? 1 : undefined);
  });
  const isWatched = lines.some((line) => line.includes("status: "));
  const text = [
    "platform:",
    "  business_url: https://business.example.com",
    "  realtime_url: https://realtime.example.com",
    "  sign_in: { body: { account: grower, password: secret-canary-1 } }",
    `  requests_per_minute: ${chance.of([0, 300, 120])}`,
    "  push: { enabled: false }",
    "mqtt: { url: mqtt://broker.example.com }",
    "data_dir: /data",
    "homeassistant: { enabled: false }",
    "http: false",
    "mirror: listed",
    // Values that no command reads are polled seldom, to leave the time for commands.
    `polling: { sensors: ${limits === null ? "15m" : "4m"}, running_status: ${isWatched ? "4m" : "30m"} }`,
    ...(limits === null ? [] : weatherLines(limits.limits)),
    ...settingLines(readings, {
      read_only: settings.readOnly,
      dry_run: settings.dryRun,
      require_age: settings.requireAge,
      max_age: settings.maxAge,
      min_interval: settings.minInterval,
    }),
    "controllers:",
    ...lines.map((line) =>
      /^ {2}GH-\d+:$/.test(line) && !lines.includes("    actuators:") ? `${line} {}` : line,
    ),
    ...groupLines(groups, lines),
    "",
  ].join("\n");
  const bytes = new TextEncoder().encode(text);
  const loaded = await loadConfiguration("config.yaml", {
    readFile: (path) =>
      Promise.resolve(
        path === "config.yaml" ? { ok: true, bytes, mode: 0o600 } : { ok: false, reason: "missing" },
      ),
    env: {},
  });
  if (!loaded.ok) throw new Error(`${JSON.stringify(loaded.problems)}\n${text}`);
  return loaded.configuration;
}

/** The row without its degree's address, except for the device that the interface document names. */
const unlearnt = (row: AddressRow): AddressRow =>
  row.address === louvre.mode ? row : { ...row, otherHalf: undefined };

const idOf = ({ id, address }: AddressRow): string => id ?? address;

function actuatorLine(row: AddressRow, settle: string, chance: Chance, limits: string | null): string {
  const isPositioner = row.roles.length === 1 && row.travelMs > 10_000 && row.kind !== "motor";
  const stops = isPositioner && row.kind !== "mode" && chance.hits(0.4);
  const keys = {
    ...actuatorKeys(row),
    settle,
    travel_time: isPositioner || row.kind === "motor" ? `${Math.ceil(row.travelMs / 1000) + 5}s` : null,
    type_id: chance.hits(0.5) ? row.group : null,
    stop: stops ? `{ address: ${row.address}, value: "10100" }` : null,
    lead_in: row.kind === "light" ? chance.of(["when_not_on", "always", "never"]) : null,
    read_only: chance.hits(0.05) ? "true" : null,
    limits,
  };
  return `${idOf(row)}: ${inBraces(keys)}`;
}

/* Limits as a user writes them: the part of a seed's configuration beside its actuators. */

/** The lines of `weather`. */
const weatherLines = (chance: Chance): readonly string[] => [
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
  /** Lists that a guard may allow, without the end. */
  readonly others: readonly string[];
  /** States that a guard on it may name. */
  readonly states: readonly string[];
  /** Whether it has degrees or two directions. */
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
  // A light that always gets `on` first must be allowed it.
  light: { ...machine, others: [], always: ['"on"'] },
  skylight: window,
  shade_curtain: window,
  thermal_curtain: window,
  side_vent: window,
  mode: window,
};

const wordsOf = (kind: AddressRow["kind"]): Words => special[kind] ?? machine;

/** The running statuses of a simulated greenhouse. */
const statuses = ["16_fan_stage_1", "19_wet_curtain", "49_irrigation_plan_1", "37_outdoor_roof_spray"];

/** The draws for limits; running statuses have their own, so that they change nothing else of a seed. */
export interface LimitChances {
  readonly limits: Chance;
  readonly statuses: Chance;
}

/** The limits of an actuator as YAML, null for none; `others` are actuators that guards may look at. */
function limitsLine(row: AddressRow, others: readonly Other[], chances: LimitChances): string | null {
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
