import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";
import { type Device, nameIn, type NameLanguage } from "./account.js";
import { type AddressRow, addressTable } from "./address-table.js";
import type { PlatformState } from "./platform-state.js";

export interface PrintedPlatform {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly state: PlatformState;
}

const shownControllers = 3;

/**
 * Lines of YAML to paste into a configuration: where the simulated platform is, a token it takes, and the actuators of
 * its first greenhouses.
 */
export function printableConfiguration({ businessUrl, realtimeUrl, state }: PrintedPlatform): string {
  const { auth, speed, language } = state.settings;
  const greenhouses = [...state.devices.values()].filter((device) => device.type === "C001");
  return [
    "platform:",
    `  business_url: ${businessUrl}`,
    `  realtime_url: ${realtimeUrl}`,
    auth.tokens === "known" && auth.accepted[0] === undefined
      ? `  sign_in: { body: ${JSON.stringify(auth.signIn ?? { account: "demo", password: "demo" })} }`
      : `  token: ${auth.accepted[0] ?? "simulator"}`,
    "controllers:",
    ...greenhouses.slice(0, shownControllers).flatMap((device) => controllerLines(device, speed, language)),
    "",
  ].join("\n");
}

function controllerLines(device: Device, speed: number, language: NameLanguage): readonly string[] {
  const rows = [...addressTable(device.type).values()].map((row) => ({
    ...row,
    name: nameIn(language, row.name),
  }));
  return [
    `  ${device.code}:`,
    "    actuators:",
    ...rows.filter((row) => row.id !== null).map((row) => `      ${actuatorLine(row, rows, speed)}`),
    "    parameters:",
    ...rows.filter((row) => row.kind === "parameter").map((row) => `      ${parameterLine(row)}`),
  ];
}

const kinds: Partial<Record<AddressRow["kind"], ActuatorKind>> = { mode: "positioner" };

/** Values that only a configuration can know. */
const ownValues: Partial<Record<AddressRow["kind"], string>> = {
  motor: '{ open: "00000001", close: "00000010", stop: "00000100" }',
  custom: '{ low: "0110", high: "1001" }',
};

/** What is there sooner needs no time of its own. */
const travelsFromMs = 60_000;

function actuatorLine(row: AddressRow, rows: readonly AddressRow[], speed: number): string {
  const { kind } = row;
  const position = rows.find((other) => other.modeAddress === row.address);
  const travel =
    row.travelMs >= travelsFromMs ? `${Math.max(1, Math.ceil(row.travelMs / speed / 1000))}s` : null;
  const values = ownValues[kind];
  const parts = [
    `kind: ${kinds[kind] ?? kind}`,
    `name: ${row.name}`,
    `address: ${row.address}`,
    ...(position === undefined ? [] : [`position_address: ${position.address}`]),
    ...(row.group === null ? [] : [`type_id: ${row.group}`]),
    ...(travel === null ? [] : [`travel_time: ${travel}`]),
    ...(values === undefined ? [] : [`values: ${values}`]),
  ];
  return `${row.id ?? row.address}: { ${parts.join(", ")} }`;
}

/** What a register's number means, which only a configuration can know. */
const meanings: Readonly<Record<string, string>> = {
  "501": "unit: mS/cm, scale: 0.01, decimals: 2, writable: { min: 0, max: 5, step: 0.1 }",
  "502": "unit: °C, scale: 0.1, decimals: 1, writable: { min: 5, max: 40, step: 0.5 }",
};

function parameterLine(row: AddressRow): string {
  const meaning = meanings[row.address];
  const parts = [
    `name: ${row.name}`,
    `address: ${row.address}`,
    `type_id: ${row.group ?? ""}`,
    ...(meaning === undefined ? [] : [meaning]),
  ];
  return `p_${row.address}: { ${parts.join(", ")} }`;
}
