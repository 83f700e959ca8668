import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBridge } from "../bridge.js";
import type { ReadFile } from "../config/files.js";
import { loadConfiguration } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import type { Configuration } from "../config/schema.js";
import { systemClock } from "../runtime/clock.js";
import { adjustableLogs, createLogger, type Logger, RecentLog } from "../runtime/log.js";
import { systemRandom } from "../runtime/random.js";
import {
  FaultFileError,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from "../simulator/simulator.js";
import { withBroker, loggerFor, overridden } from "./errands.js";
import { doctorFor } from "./run.js";
import {
  CommandFailure,
  type CommonOptions,
  endOfUse,
  exitCodes,
  programVersion,
  type Surroundings,
  untilStopped,
} from "./surroundings.js";

export interface DemoView {
  readonly out: (text: string) => void;
  readonly isColoured: boolean;
}

/** Colours are for people who look at a terminal and did not turn them off. */
export const demoView = ({ out, isTerminal, env }: Surroundings): DemoView => ({
  out,
  isColoured: isTerminal && (env["NO_COLOR"] ?? "") === "",
});

const shownController = "gh-0001";

/** Who may command in the demo. */
const demoUser = { name: "demo", password: "demo" } as const;

interface DemoPorts {
  readonly page: number;
  readonly broker: number;
}

export function greeting({ page, broker: port }: DemoPorts, platformUrl: string, base: string): string {
  const broker = `-h 127.0.0.1 -p ${port}`;
  return [
    `Page: http://127.0.0.1:${page}/  (name ${demoUser.name}, password ${demoUser.password})`,
    `Simulated platform at ${platformUrl}`,
    `Broker: mqtt://127.0.0.1:${port}`,
    "",
    "Watch it with any MQTT client, for example:",
    `  mosquitto_sub ${broker} -v -t '${base}/#'`,
    `  mosquitto_sub ${broker} -v -t 'homeassistant/#'`,
    "Move a window, switch a fan (what becomes of it is shown here):",
    `  mosquitto_pub ${broker} -q 1 -t ${base}/${shownController}/actuator/left_skylight/set -m 45`,
    `  mosquitto_pub ${broker} -q 1 -t ${base}/${shownController}/actuator/circulation_fan/set -m on`,
    "Ctrl-C ends it.",
    "",
    "",
  ].join("\n");
}

type Fields = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";

/** Readings by sensor id, as their `/json` topics show them. */
export function readingsTable(readings: ReadonlyMap<string, Fields>, view: DemoView): string {
  const rows = [...readings].map(([id, { value, unit, quality }]) => [
    id,
    `${textOf(value)} ${textOf(unit)}`.trim(),
    textOf(quality),
  ]);
  const width = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0));
  const [ids, values] = [width(0), width(1)];
  const lines = rows.map(
    ([id = "", value = "", quality = ""]) =>
      `  ${id.padEnd(ids)}  ${value.padEnd(values)}  ${coloured(quality, quality === "good" ? "green" : "yellow", view)}`,
  );
  return `Readings of ${shownController}, as the platform shows them:\n${lines.join("\n")}\n\n`;
}

/** One line for a result, as its topic shows it. */
export function resultLine(result: Fields, view: DemoView): string {
  const { controller, actuator, command, outcome, reason, message, duration_ms, read_back, finished_at } =
    result;
  const colour = good.has(textOf(outcome)) ? "green" : neutral.has(textOf(outcome)) ? "yellow" : "red";
  const why = textOf(reason) === "" ? "" : ` (${textOf(reason)})`;
  const took = typeof duration_ms === "number" ? ` after ${(duration_ms / 1000).toFixed(1)} s` : "";
  const shows = textOf(read_back) === "" ? "" : `, the platform shows ${textOf(read_back)}`;
  const sentence = textOf(message) === "" ? "" : `: ${textOf(message)}`;
  const what = `${textOf(controller)}/${textOf(actuator)} ${textOf(command)}`.trim();
  const time = new Date(textOf(finished_at)).toLocaleTimeString("sv-SE");
  return `${time} ${what} → ${coloured(textOf(outcome), colour, view)}${why}${took}${shows}${sentence}\n`;
}

const good: ReadonlySet<string> = new Set(["confirmed", "already"]);
const neutral: ReadonlySet<string> = new Set(["dry_run", "superseded"]);
const colours = { green: 32, yellow: 33, red: 31 } as const;

const coloured = (text: string, colour: keyof typeof colours, { isColoured }: DemoView): string =>
  isColoured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;

interface Watching {
  readonly configuration: Configuration;
  readonly view: DemoView;
  readonly log: Logger;
  readonly end: AbortSignal;
}

const settleMs = 1_000;
const mostSettles = 15;

/** Shows the readings of one greenhouse once they are there, then the result of each command. Never rejects. */
async function watchDemo({ configuration, view, log, end }: Watching): Promise<void> {
  const base = configuration.mqtt.base_topic;
  const readings = new Map<string, Fields>();
  const sensorTopic = new RegExp(`/${shownController}/sensor/([^/]+)/json$`);
  const errand = {
    configuration: {
      ...configuration,
      mqtt: { ...configuration.mqtt, url: `mqtt://127.0.0.1:${configuration.broker.port}` },
    },
    log,
    subscriptions: [
      `${base}/${shownController}/sensor/+/json`,
      `${base}/+/actuator/+/result`,
      `${base}/+/parameter/+/result`,
    ],
    onMessage: ({ topic, payload }: { readonly topic: string; readonly payload: Uint8Array }) => {
      const fields = fieldsOf(payload);
      const [, sensor] = sensorTopic.exec(topic) ?? [];
      if (fields === null) return;
      if (sensor !== undefined) readings.set(sensor, fields);
      else view.out(resultLine(fields, view));
    },
  };
  await withBroker(errand, async () => {
    await settled(readings, end);
    if (readings.size > 0 && !end.aborted) view.out(readingsTable(readings, view));
    await untilStopped(end);
  }).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error;
    log.warn(`what happens cannot be shown here: ${error.message}`);
  });
}

/** Until no further reading comes for a while. */
async function settled(readings: ReadonlyMap<string, Fields>, end: AbortSignal): Promise<void> {
  let seen = -1;
  for (let times = 0; times < mostSettles && (seen !== readings.size || seen === 0); times += 1) {
    seen = readings.size;
    await systemClock.wait(settleMs, end).catch(() => undefined);
  }
}

function fieldsOf(payload: Uint8Array): Fields | null {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : null;
  } catch {
    return null;
  }
}

export type DemoOptions = Pick<SimulateOptions, "controllers" | "seed" | "speed" | "language">;

/** `greenhouse2mqtt demo`: simulated platform, embedded broker and bridge in one process, until a signal. */
export async function demo(options: CommonOptions & DemoOptions, around: Surroundings): Promise<void> {
  const { controllers, seed, speed, language } = options;
  const simulator = await startSimulator({ controllers, seed, speed, language }, { clock: systemClock });
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "greenhouse2mqtt-demo-")));
  try {
    const ports = { port: await freePort(1883), httpPort: await freePort(8099) };
    const configuration = overridden(
      await demoConfiguration(simulator.configuration(), { ...ports, language }),
      // On a terminal what happens is shown as such, and only what goes wrong as a line of the log.
      { ...options, dataDir, logLevel: options.logLevel ?? (around.isTerminal ? "warn" : undefined) },
    );
    await runShown(configuration, simulator, around);
  } finally {
    await simulator.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** The simulated greenhouse's time, for the page. */
function timeOf({ state: { timeline } }: Simulator, { platform }: Configuration) {
  const shape = { hour: "2-digit", minute: "2-digit", timeZone: platform.time_zone } as const;
  const format = new Intl.DateTimeFormat("sv-SE", shape);
  const now = () => systemClock.now();
  return {
    now: () => ({ speed: timeline.speed, time: format.format(timeline.simulatedAt(now())) }),
    setSpeed: (speed: number) => timeline.setSpeed(now(), speed),
  };
}

/** Runs the bridge and shows what happens at its broker. */
async function runShown(
  configuration: Configuration,
  simulator: Simulator,
  around: Surroundings,
): Promise<void> {
  const recentLog = new RecentLog();
  const log = loggerFor(configuration, around, undefined, recentLog);
  const logs = adjustableLogs(log, () => configuration.log.level);
  const over = new AbortController();
  const end = AbortSignal.any([endOfUse(around), over.signal]);
  let watching = Promise.resolve();
  // Not before: whoever copies the address must find the broker there.
  const onListening = () => {
    const { broker, http, mqtt } = configuration;
    const ports = { broker: broker.port, page: http === false ? 0 : http.port };
    around.out(greeting(ports, simulator.businessUrl, mqtt.base_topic));
    watching = watchDemo({ configuration, view: demoView(around), log, end });
  };
  const page = { doctor: doctorFor(configuration), demo: timeOf(simulator, configuration) };
  const parts = { configuration, clock: systemClock, random: systemRandom, ...logs, recentLog, page };
  try {
    await runBridge({ ...parts, version: programVersion(), onListening }, end);
  } finally {
    over.abort();
    await watching;
  }
}

/** The simulator's own lines, polled fast enough for a person to watch values move. */
async function demoConfiguration(
  lines: string,
  ports: { readonly port: number; readonly httpPort: number; readonly language: "en" | "zh" },
): Promise<Configuration> {
  const text = [
    lines.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `broker: { port: ${ports.port} }`,
    `http: { port: ${ports.httpPort}, users: [{ username: ${demoUser.name}, password: ${demoUser.password}, role: operator }] }`,
    `homeassistant: { language: ${ports.language} }`,
    "polling: { controllers: 30s, sensors: 5s, running_status: 10s, actuators: 5s }",
    "",
  ].join("\n");
  const bytes = new TextEncoder().encode(text);
  const readFile: ReadFile = (path) =>
    Promise.resolve(path === "demo" ? { ok: true, bytes, mode: null } : { ok: false, reason: "missing" });
  const result = await loadConfiguration("demo", { readFile, env: {} });
  if (!result.ok) throw new CommandFailure(result.problems.map(formatProblem).join("\n"));
  return result.configuration;
}

async function freePort(wanted: number): Promise<number> {
  return (await listenOnce(wanted)) ?? (await listenOnce(0)) ?? 0;
}

/** The port that could be listened on, or null when it is taken. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(null));
    probe.listen(port, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}

export interface SimulateOptions {
  readonly port: number;
  readonly controllers: number;
  readonly seed: number;
  readonly speed: number;
  readonly profile: SimulatorOptions["profile"];
  readonly language: "en" | "zh";
  readonly faults?: string;
}

/** `greenhouse2mqtt simulate`: the platform alone, until a signal; prints the configuration lines to paste. */
export async function simulate(
  options: CommonOptions & SimulateOptions,
  around: Surroundings,
): Promise<void> {
  const log = createLogger(
    { level: options.logLevel ?? "info", format: "auto", secrets: () => [] },
    around.err,
  );
  const { port, controllers, seed, speed, language, profile, faults } = options;
  const faultFile = faults === undefined ? undefined : parseFile(faults, await contentOf(faults));
  const simulator = await startSimulator(
    { port, controllers, seed, speed, language, profile, faultFile },
    { clock: systemClock, log },
  ).catch((error: unknown) => {
    if (error instanceof FaultFileError)
      throw new CommandFailure(error.message.replaceAll(/^/gm, `${faults ?? ""}: `), exitCodes.usage);
    throw new CommandFailure(
      `port ${port} cannot be opened (${error instanceof Error ? error.message : String(error)}); choose another with --port`,
    );
  });
  around.out(simulator.configuration());
  await untilStopped(endOfUse(around));
  await simulator.close();
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    throw new CommandFailure(`${file}: cannot be read; check the path`, exitCodes.usage);
  }
}

function parseFile(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(`${file}: is not JSON: ${String(error)}`, exitCodes.usage);
  }
}
