import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBridge } from "../compose/bridge.js";
import type { ReadFile } from "../config/files.js";
import { loadConfiguration } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import type { Configuration } from "../config/schema.js";
import { systemClock } from "../runtime/clock.js";
import { adjustableLogs } from "../runtime/log-levels.js";
import { systemRandom } from "../runtime/random.js";
import { printableConfiguration } from "../simulator/printable-configuration.js";
import { startSimulator } from "../simulator/server.js";
import { loggerFor, overridden, type CommonOptions } from "./configuration.js";
import { demoView, greeting, watchDemo } from "./demo-view.js";
import type { SimulateOptions } from "./simulate.js";
import { CommandFailure, endOfUse, programVersion, type Surroundings } from "./surroundings.js";

export type DemoOptions = Pick<SimulateOptions, "controllers" | "seed" | "speed" | "language">;

/** `greenhouse2mqtt demo`: simulated platform, embedded broker and bridge in one process, until a signal. */
export async function demo(options: CommonOptions & DemoOptions, around: Surroundings): Promise<void> {
  const { controllers, seed, speed, language } = options;
  const simulator = await startSimulator({ controllers, seed, speed, language }, { clock: systemClock });
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "greenhouse2mqtt-demo-")));
  try {
    const ports = { port: await freePort(1883), httpPort: await freePort(8099) };
    const configuration = overridden(
      await demoConfiguration(printableConfiguration(simulator), { ...ports, language }),
      // On a terminal what happens is shown as such, and only what goes wrong as a line of the log.
      { ...options, dataDir, logLevel: options.logLevel ?? (around.isTerminal ? "warn" : undefined) },
    );
    await runShown(configuration, simulator.businessUrl, around);
  } finally {
    await simulator.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** Runs the bridge and shows what happens at its broker. */
async function runShown(
  configuration: Configuration,
  platformUrl: string,
  around: Surroundings,
): Promise<void> {
  const logs = adjustableLogs(loggerFor(configuration, around), () => configuration.log.level);
  const over = new AbortController();
  const end = AbortSignal.any([endOfUse(around), over.signal]);
  let watching = Promise.resolve();
  // Not before: whoever copies the address must find the broker there.
  const onListening = () => {
    const { broker, mqtt } = configuration;
    around.out(greeting(broker.port, platformUrl, mqtt.base_topic));
    watching = watchDemo({ configuration, view: demoView(around), log: logs.log, end });
  };
  const parts = { configuration, clock: systemClock, random: systemRandom, ...logs };
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
    `http: { port: ${ports.httpPort} }`,
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
    probe.once("error", () => {
      resolve(null);
    });
    probe.listen(port, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : null);
      });
    });
  });
}
