import { expect, it } from "vitest";
import {
  type ConfigurationResult,
  type FileContent,
  loadConfiguration,
  type LoadedConfiguration,
  type ReadFile,
} from "../../src/config/load.js";
import { formatProblem } from "../../src/config/problem.js";

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: string;
  readonly mode?: number;
  readonly file?: string;
}

/** Four lines that make any configuration below them complete. */
export const platform = `platform:
  business_url: https://business.example.com
  realtime_url: https://realtime.example.com
  token: !env TOKEN
`;

export const tokenEnv = { TOKEN: "token-of-the-account" };

const file = (text: string, mode: number): FileContent => ({
  ok: true,
  bytes: new TextEncoder().encode(text),
  mode,
});

/** Loads a text as `config.yaml`, with `secrets.yaml` beside it where one is given. */
export function load(text: string, around: Surroundings = {}): Promise<ConfigurationResult> {
  const { env = tokenEnv, secrets, mode = 0o600, file: name = "config.yaml" } = around;
  const readFile: ReadFile = (path) => {
    if (path === name) return Promise.resolve(file(text, mode));
    if (path === "secrets.yaml" && secrets !== undefined) return Promise.resolve(file(secrets, mode));
    return Promise.resolve({ ok: false, reason: "missing" });
  };
  return loadConfiguration(name, { readFile, env });
}

export async function problemLines(text: string, around: Surroundings = {}): Promise<string[]> {
  const result = await load(text, around);
  return result.ok ? [] : result.problems.map(formatProblem);
}

export async function warningLines(text: string, around: Surroundings = {}): Promise<string[]> {
  const result = await loaded(text, around);
  return result.warnings.map(formatProblem);
}

/** The configuration of a text that must be right. */
export async function loaded(text: string, around: Surroundings = {}): Promise<LoadedConfiguration> {
  const result = await load(text, around);
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result;
}

interface Row {
  readonly title: string;
  readonly text: string;
  readonly lines: string[];
}

/**
 * The rows of a table: a text, with ⏎ for its line ends, and below it the lines about it, without the name of the file, from the colon
 * on. What stands behind a `#` is the title of the next row.
 */
export function rowsOf(strings: TemplateStringsArray, ...values: readonly string[]): readonly Row[] {
  const rows: Row[] = [];
  let title = "";
  for (const line of String.raw(strings, ...values).split("\n")) {
    const text = line.trim();
    if (text.startsWith("# ")) title = text.slice(2);
    else if (text.startsWith(":")) rows.at(-1)?.lines.push(`config.yaml${text}`);
    else if (text !== "") {
      rows.push({ title: title || text, text: `${text.replaceAll("⏎", "\n")}\n`, lines: [] });
      title = "";
    }
  }
  return rows;
}

/** The problems of what stands below `platform`. */
export const below = (text: string): Promise<string[]> => problemLines(platform + text);

/** Each row's lines, and no others, are what is said about its text. */
export function itFinds(rows: readonly Row[], linesOf: (text: string) => Promise<string[]> = below): void {
  it.each(rows)("$title", async ({ text, lines }) => {
    expect(await linesOf(text)).toEqual(lines);
  });
}

/** The configuration of the contract, without its comments. */
export const contractExample = `platform:
  business_url: https://business.example.com
  realtime_url: https://realtime.example.com
  allow_insecure: false
  token: !env GREENHOUSE_TOKEN
  time_zone: Asia/Shanghai
  timeouts: { connect: 5s, read: 15s, control: 30s }
  requests_per_minute: 300
  concurrency: 4
  push: { enabled: true, credential: header, query_name: token }
  shapes: {}
mqtt:
  url: mqtt://localhost:1883
  username: bridge
  password: !secret mqtt_password
  client_id: greenhouse2mqtt
  base_topic: greenhouse
  protocol_version: 5
  tls: { ca: , cert: , key: , reject_unauthorized: true }
broker:
  host: 127.0.0.1
  port: 1883
  websocket_port: 9001
  users: [ { username: ha, password: !secret ha, publish: ["greenhouse/+/actuator/+/set"], subscribe: ["#"] } ]
  tls: { cert: , key: , port: 8883 }
  limits: {}
homeassistant: { enabled: true, discovery_prefix: homeassistant, status_topic: homeassistant/status, language: en }
polling: { controllers: 5m, sensors: 1m, running_status: 5m, actuators: 2m, stale_after: 15m }
commands:
  read_only: false
  dry_run: false
  max_age: 60s
  require_age: false
  require_by: false
  min_interval: 2s
  raw_addresses: false
  response_topics: []
http: { host: 127.0.0.1, port: 8099, token: , allowed_hosts: [] }
data_dir: ./data
log: { level: info, format: auto }
mirror: all
controllers:
  GH-0001:
    id: east
    name: East house
    area: East
    actuators:
      left_skylight: { kind: skylight, address: 101, travel_time: 90s }
      roof_fans:     { kind: fan_wet_curtain, address: 140 }
      valve_1:       { kind: irrigation, address: 210, name: Bed 1 }
      grow_light:    { kind: light, address: 220, homeassistant: { as: switch } }
      vent_motor:    { kind: motor, address: 300, values: { open: "00000001", stop: "00000100" } }
      special:       { kind: custom, address: 400, values: { low: "0110", high: "1001" } }
    sensors:
      air_temperature: { from: 空气温度, kind: temperature, unit: °C, offset: -0.4 }
      light:           { from: 光照, kind: illuminance, scale: 1000, unit: lx }
      broken_probe:    { from: t7, ignore: true }
    parameters:
      ec_target: { address: 501, name: EC target, unit: mS/cm, scale: 0.01, decimals: 2, writable: { min: 0, max: 5, step: 0.1 } }
  GH-0002: { ignore: true }
`;

export const contractSurroundings = {
  env: { GREENHOUSE_TOKEN: "token-of-the-account" },
  secrets:
    "mqtt_password: bridge-password\nha: scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA\n",
};
