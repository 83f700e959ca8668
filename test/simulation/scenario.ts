import { addressTable, type AddressRow } from "../../src/simulator/address-table.js";
import { plainProfileNames, type ProfileName } from "../../src/simulator/profiles.js";
import type { FaultSpec } from "../../src/simulator/faults.js";
import { loadConfiguration } from "../../src/config/load.js";
import type { Configuration } from "../../src/config/schema.js";
import { Chance } from "./chance.js";
import { calmNetwork, type NetworkManners } from "./wire.js";

const hourMs = 3_600_000;
const minuteMs = 60_000;
export const calmMs = 30 * minuteMs;

/** Everything that a seed decides before the first event. Rates are per hour, probabilities per chance. */
export interface Scenario {
  readonly seed: number;
  readonly lengthMs: number;
  readonly configuration: Configuration;
  readonly controllers: number;
  readonly profile: ProfileName;
  readonly registerLagMs: number;
  readonly tokenLifetimeMs: number;
  readonly platformFaults: readonly FaultSpec[];
  readonly network: NetworkManners;
  readonly commandsPerHour: number;
  readonly burst: number;
  readonly twisted: number;
  readonly redelivered: number;
  readonly linkCutsPerHour: number;
  readonly crashesPerHour: number;
  readonly powerCut: number;
  readonly cleanStops: number;
  readonly fullDisksPerHour: number;
  readonly syncFailure: number;
  readonly clockJumpsPerHour: number;
  readonly stallsPerHour: number;
  /** Names of the faults that exist in this seed, for messages. */
  readonly exists: readonly string[];
}

export async function scenarioOf(seed: number, hours: number): Promise<Scenario> {
  const chance = new Chance(seed, "scenario");
  const exists: string[] = [];
  /** A rate where the fault exists in this seed, which it does half of the time; else 0. */
  const maybe = (name: string, rate: () => number): number => {
    const drawn = rate();
    if (!chance.hits(0.5)) return 0;
    exists.push(name);
    return drawn;
  };
  const share = (most: number) => () => chance.logUniform(0.002, most);
  const controllers = chance.whole(1, 2);
  const actuators = Math.round(chance.logUniform(1, 20 * controllers));
  const configuration = await configurationOf(chance, controllers, actuators);
  return {
    seed,
    lengthMs: hours * hourMs,
    configuration,
    controllers,
    profile: chance.of(plainProfileNames),
    registerLagMs: maybe("slow registers", () => chance.logUniform(500, 30_000)) || 300,
    tokenLifetimeMs: chance.logUniform(10 * minuteMs, 4 * hourMs),
    platformFaults: platformFaults(chance, maybe, hours * hourMs - calmMs),
    network: {
      minLatencyMs: calmNetwork.minLatencyMs,
      maxLatencyMs: maybe("slow network", () => chance.logUniform(100, 20_000)) || calmNetwork.maxLatencyMs,
      connectFailure: maybe("connect failures", share(0.3)),
      lostRequest: maybe("lost requests", share(0.2)),
      lostAnswer: maybe("lost answers", share(0.2)),
      straggler: maybe("stragglers", share(0.05)),
    },
    commandsPerHour: chance.logUniform(1, 600),
    burst: maybe("bursts", share(0.5)),
    twisted: maybe("twisted commands", share(0.3)),
    redelivered: maybe("redeliveries", share(0.3)),
    linkCutsPerHour: maybe("link cuts", () => chance.logUniform(0.2, 10)),
    crashesPerHour: maybe("crashes", () => chance.logUniform(0.2, 6)),
    powerCut: maybe("power cuts", () => chance.between(0.1, 1)),
    cleanStops: maybe("clean stops", () => chance.between(0.1, 0.8)),
    fullDisksPerHour: maybe("full disks", () => chance.logUniform(0.1, 2)),
    syncFailure: maybe("fsync failures", () => chance.logUniform(0.0005, 0.005)),
    clockJumpsPerHour: maybe("clock jumps", () => chance.logUniform(0.1, 2)),
    stallsPerHour: maybe("stalls", () => chance.logUniform(0.5, 20)),
    exists,
  };
}

type Maybe = (name: string, rate: () => number) => number;

function platformFaults(chance: Chance, maybe: Maybe, forMs: number): readonly FaultSpec[] {
  const specs: FaultSpec[] = [];
  const always = { forMs };
  const hit = (spec: Omit<FaultSpec, "chance">, most: number, name: string = spec.fault) => {
    const rate = maybe(name, () => chance.logUniform(0.002, most));
    if (rate > 0) specs.push({ ...always, ...spec, chance: rate });
  };
  const event = (spec: FaultSpec, most: number) => {
    const perHour = maybe(spec.fault, () => chance.logUniform(0.1, most));
    if (perHour > 0) specs.push({ ...spec, perHour });
  };
  hit({ fault: "slow", delayMs: Math.round(chance.logUniform(500, 60_000)) }, 0.1);
  hit({ fault: "timeout", when: chance.of(["before", "after"] as const) }, 0.05);
  hit({ fault: "reset", when: "before" }, 0.1, "reset before");
  hit({ fault: "reset", when: "after" }, 0.1, "reset after");
  for (const fault of ["truncated", "empty", "garbage", "redirect"] as const) hit({ fault }, 0.05);
  hit({ fault: "html", when: chance.of(["before", "after"] as const) }, 0.05);
  hit(
    {
      fault: "http_status",
      status: chance.of([500, 502, 503, 504]),
      when: chance.of(["before", "after"] as const),
    },
    0.05,
  );
  hit({ fault: "body_code", code: chance.of([500, 400, 1001]) }, 0.05);
  hit(
    {
      fault: "throttle",
      status: chance.of([429, 503]),
      retryAfterMs: Math.round(chance.logUniform(1_000, 60_000)),
    },
    0.05,
  );
  hit(
    { fault: "unauthorized", status: chance.of([401, 403]), when: chance.of(["before", "after"] as const) },
    0.03,
  );
  hit({ fault: "reset", operation: "set-value", when: "after" }, 0.3, "post done, answer lost");
  hit({ fault: "reset", operation: "set-value", when: "before" }, 0.3, "post refused by reset");
  hit({ fault: "ignore" }, 0.2);
  hit({ fault: "late", delayMs: Math.round(chance.logUniform(1_000, 120_000)) }, 0.2);
  hit({ fault: "twice", delayMs: Math.round(chance.logUniform(1_000, 60_000)) }, 0.1);
  hit({ fault: "offline_at_post", forMs: Math.round(chance.logUniform(5_000, 300_000)) }, 0.02);
  hit({ fault: "wrong_read_back" }, 0.05);
  hit({ fault: "stale_read_back", delayMs: Math.round(chance.logUniform(5_000, 300_000)) }, 0.5);
  hit({ fault: "no_value" }, 0.1);
  event({ fault: "offline", forMs: Math.round(chance.logUniform(10_000, 1_200_000)) }, 4);
  event({ fault: "moved_by_hand" }, 20);
  event({ fault: "storm", forMs: 10 * minuteMs }, 2);
  event({ fault: "rain", forMs: 10 * minuteMs }, 2);
  event(
    {
      fault: "host_down",
      how: chance.of(["refuse", "hang"] as const),
      forMs: Math.round(chance.logUniform(5_000, 3_600_000)),
    },
    1,
  );
  event({ fault: "expire_tokens" }, 4);
  return specs;
}

const kindsOfRows: Partial<Record<AddressRow["kind"], string>> = { mode: "positioner" };

/** A configuration of the user, read by the product's own reader. */
async function configurationOf(
  chance: Chance,
  controllers: number,
  actuators: number,
): Promise<Configuration> {
  const all = Array.from({ length: controllers }, (_, index) => `GH-${String(index + 1).padStart(4, "0")}`);
  const rows = all.flatMap((code) =>
    [...addressTable("C001").values()]
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
      ...own.map(({ row }) => `      ${actuatorLine(row, settings.settle, chance)}`),
    ].slice(0, own.length === 0 ? 1 : undefined);
  });
  const text = [
    "platform:",
    "  business_url: https://business.example.com",
    "  realtime_url: https://realtime.example.com",
    "  sign_in: { body: { account: grower, password: secret-canary-1 } }",
    `  requests_per_minute: ${chance.of([0, 300, 120])}`,
    "homeassistant: { enabled: false }",
    "http: false",
    "commands:",
    `  read_only: ${settings.readOnly}`,
    `  dry_run: ${settings.dryRun}`,
    `  require_age: ${settings.requireAge}`,
    `  max_age: ${settings.maxAge}`,
    `  min_interval: ${settings.minInterval}`,
    "mirror: listed",
    "controllers:",
    ...lines.map((line) =>
      /^ {2}GH-\d+:$/.test(line) && !lines.includes("    actuators:") ? `${line} {}` : line,
    ),
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

const ownValues: Partial<Record<AddressRow["kind"], string>> = {
  motor: '{ open: "00000001", close: "00000010", stop: "00000100" }',
  custom: '{ low: "0110", high: "1001" }',
};

const positionOf = ({ address }: AddressRow): string =>
  [...addressTable("C001").values()].find((row) => row.modeAddress === address)?.address ?? address;

function actuatorLine(row: AddressRow, settle: string, chance: Chance): string {
  const values = ownValues[row.kind];
  const isPositioner = row.roles.length === 1 && row.travelMs > 10_000 && row.kind !== "motor";
  const stops = isPositioner && row.kind !== "mode" && chance.hits(0.4);
  const group = chance.hits(0.5) ? row.group : null;
  const parts = [
    `kind: ${kindsOfRows[row.kind] ?? row.kind}`,
    `address: ${row.address}`,
    `settle: ${settle}`,
    ...(row.kind === "mode" ? [`position_address: ${positionOf(row)}`] : []),
    ...(isPositioner || row.kind === "motor" ? [`travel_time: ${Math.ceil(row.travelMs / 1000) + 5}s`] : []),
    ...(values === undefined ? [] : [`values: ${values}`]),
    ...(stops ? [`stop: { address: ${row.address}, value: "10100" }`] : []),
    ...(row.kind === "light" ? [`lead_in: ${chance.of(["when_not_on", "always", "never"])}`] : []),
    ...(group === null ? [] : [`type_id: ${group}`]),
    ...(chance.hits(0.05) ? ["read_only: true"] : []),
  ];
  return `${row.id ?? row.address}: { ${parts.join(", ")} }`;
}
