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
import { systemRandom } from "../runtime/random.js";
import { printableConfiguration } from "../simulator/printable-configuration.js";
import { startSimulator } from "../simulator/server.js";
import { loggerFor, overridden, type CommonOptions } from "./configuration.js";
import type { SimulateOptions } from "./simulate.js";
import { CommandFailure, endOfUse, programVersion, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt demo`: simulated platform, embedded broker and bridge in one process, until a signal. */
export async function demo(options: CommonOptions & SimulateOptions, around: Surroundings): Promise<void> {
  const { controllers, seed, speed } = options;
  const simulator = await startSimulator({ controllers, seed, speed }, { clock: systemClock });
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "greenhouse2mqtt-demo-")));
  try {
    const [port, httpPort] = [await freePort(1883), await freePort(8099)];
    const configuration = overridden(
      await demoConfiguration(printableConfiguration(simulator), { port, httpPort }),
      { ...options, dataDir },
    );
    const log = loggerFor(configuration, around);
    const setLogLevel = (level: string) => {
      log.level = level;
    };
    await runBridge(
      {
        configuration,
        clock: systemClock,
        random: systemRandom,
        log,
        setLogLevel,
        version: programVersion(),
        // Not before: whoever copies the address must find the broker there.
        onListening: () => {
          around.out(greeting(port, simulator.businessUrl, configuration));
        },
      },
      endOfUse(around),
    );
  } finally {
    await simulator.close();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** The simulator's own lines, polled fast enough for a person to watch values move. */
async function demoConfiguration(
  lines: string,
  ports: { readonly port: number; readonly httpPort: number },
): Promise<Configuration> {
  const text = [
    lines.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `broker: { port: ${ports.port} }`,
    `http: { port: ${ports.httpPort} }`,
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

function greeting(port: number, platformUrl: string, { mqtt }: Configuration): string {
  const base = mqtt.base_topic;
  return [
    `Simulated platform at ${platformUrl}`,
    `Broker: mqtt://127.0.0.1:${port}`,
    "",
    "Watch it with any MQTT client, for example:",
    `  mosquitto_sub -h 127.0.0.1 -p ${port} -v -t '${base}/#'`,
    `  mosquitto_sub -h 127.0.0.1 -p ${port} -v -t 'homeassistant/#'`,
    "Ctrl-C ends it.",
    "",
    "",
  ].join("\n");
}
