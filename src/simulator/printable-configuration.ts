import type { Device } from "./account.js";
import { type AddressRow, addressTable } from "./addresses.js";
import type { Platform } from "./platform.js";

export interface PrintedPlatform {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly state: Platform;
}

const shownControllers = 3;

/**
 * YAML lines for a configuration: the simulated platform's addresses, a token that it accepts, and actuators. These are
 * of the first greenhouses, and of a fertilizer machine if there is one.
 */
export function printableConfiguration({ businessUrl, realtimeUrl, state }: PrintedPlatform): string {
  const { accepted, signIn, tokens } = state.settings.auth;
  const [token = tokens === "any" ? "simulator" : null] = accepted;
  const greenhouses = [...state.devices.values()].filter((device) => device.type === "C001");
  const machine = [...state.devices.values()].find((device) => device.type === "C003");
  return [
    "platform:",
    `  business_url: ${businessUrl}`,
    `  realtime_url: ${realtimeUrl}`,
    token === null
      ? `  sign_in: { body: ${JSON.stringify(signIn ?? { account: "demo", password: "demo" })} }`
      : `  token: ${token}`,
    "controllers:",
    ...greenhouses.slice(0, shownControllers).flatMap((device) => controllerLines(device, state)),
    ...(machine === undefined ? [] : controllerLines(machine, state)),
    "",
  ].join("\n");
}

function controllerLines(
  { code, type }: Device,
  { settings: { language, speed } }: Platform,
): readonly string[] {
  const rows = [...addressTable(type).values()];
  const isParameter = ({ kind }: AddressRow) => kind === "parameter";
  return [
    `  ${code}:`,
    "    actuators:",
    ...rows.flatMap((row) => {
      if (row.id === null) return [];
      const { kind, address, position_address, values } = actuatorKeys(row);
      // Short travel times need no key.
      const travel_time =
        row.travelMs >= travelsFromMs ? `${Math.max(1, Math.ceil(row.travelMs / speed / 1000))}s` : null;
      const keys = { kind, name: row.names[language], address, position_address, type_id: row.group };
      return `      ${row.id}: ${inBraces({ ...keys, travel_time, values })}`;
    }),
    "    parameters:",
    ...rows.filter(isParameter).map(({ address, group, names }) => {
      const keys = { name: names[language], address, type_id: group, ...meaningOf(type, address) };
      return `      p_${address}: ${inBraces(keys)}`;
    }),
  ];
}

const travelsFromMs = 60_000;

/** The keys of a configuration for the actuator at an address, whatever its name. */
export const actuatorKeys = ({ address, kind, otherHalf }: AddressRow) => ({
  kind: kind === "mode" ? "positioner" : kind,
  address,
  position_address: kind === "mode" ? (otherHalf ?? null) : null,
  values: ownValues[kind] ?? null,
});

/** Values that only a configuration can give. */
const ownValues: Partial<Record<AddressRow["kind"], string>> = {
  motor: '{ open: "00000001", close: "00000010", stop: "00000100" }',
  custom: '{ low: "0110", high: "1001" }',
};

/** Meanings of a register's number, which only a configuration can give. */
const meanings: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  "501": { unit: "mS/cm", scale: 0.01, decimals: 2, writable: "{ min: 0, max: 5, step: 0.1 }" },
  "502": { unit: "°C", scale: 0.1, decimals: 1, writable: "{ min: 5, max: 40, step: 0.5 }" },
};

/** The formulas of a fertilizer machine say what the mixed water should contain. */
const meaningOf = (type: string, address: string): Readonly<Record<string, string | number>> | undefined =>
  type === "C003" && /^5(?:0[1-9]|1[0-2])$/.test(address) ? meanings["501"] : meanings[address];

/** A YAML map in one line, without null values. */
export function inBraces(keys: Readonly<Record<string, string | number | null>>): string {
  const said = Object.entries(keys).filter(([, value]) => value !== null);
  return `{ ${said.map(([key, value]) => `${key}: ${value ?? ""}`).join(", ")} }`;
}
