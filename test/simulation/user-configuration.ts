import { loadConfiguration } from "../../src/config/load.js";
import type { Configuration } from "../../src/config/schema.js";
import { addressTable, type AddressRow } from "../../src/simulator/addresses.js";
import { actuatorKeys, inBraces } from "../../src/simulator/printable-configuration.js";
import type { Chance } from "./chance.js";
import { type LimitChances, limitsLine, weatherLines } from "./limits/limited-configuration.js";

/** A configuration of the user, read by the product's own reader; `limits` draws what limits the actuators. */
export async function configurationOf(
  chance: Chance,
  controllers: number,
  actuators: number,
  limits: LimitChances | null,
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
      ...own.map(({ row }) => {
        const others = own.flatMap((one) =>
          one.row === row ? [] : [{ id: idOf(one.row), kind: one.row.kind }],
        );
        const limited = limits === null ? null : limitsLine(row, others, limits);
        return `      ${actuatorLine(row, settings.settle, chance, limited)}`;
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
    "homeassistant: { enabled: false }",
    "http: false",
    "commands:",
    `  read_only: ${settings.readOnly}`,
    `  dry_run: ${settings.dryRun}`,
    `  require_age: ${settings.requireAge}`,
    `  max_age: ${settings.maxAge}`,
    `  min_interval: ${settings.minInterval}`,
    "mirror: listed",
    // What no command looks at is asked for rarely, to leave the time to what they do.
    `polling: { sensors: ${limits === null ? "15m" : "4m"}, running_status: ${isWatched ? "4m" : "30m"} }`,
    ...(limits === null ? [] : weatherLines(limits.limits)),
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
