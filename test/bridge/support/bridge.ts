import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type BridgeOptions, runBridge } from "../../../src/bridge.js";
import { loadConfiguration } from "../../../src/config/load.js";
import { formatProblem } from "../../../src/config/problem.js";
import type { Configuration } from "../../../src/config/schema.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { seededRandom } from "../../../src/runtime/random.js";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../src/simulator/simulator.js";
import { capturedLog } from "../../mqtt-connection/support.js";

/* The whole bridge in the test's own process, against the simulated platform over real HTTP. */

/** A configuration from its YAML, which begins inside the section of the platform: hosts and token are added. */
export async function configurationOf(text: string, platform: Simulator): Promise<Configuration> {
  const lines = [
    "platform:",
    `  business_url: ${platform.businessUrl}`,
    `  realtime_url: ${platform.realtimeUrl}`,
    ...(text.includes("sign_in") ? [] : ["  token: simulator"]),
    "  requests_per_minute: 0",
    text,
  ];
  const bytes = new TextEncoder().encode(lines.join("\n"));
  const readFile = (path: string) =>
    Promise.resolve(
      path === "test.yaml"
        ? ({ ok: true, bytes, mode: null } as const)
        : ({ ok: false, reason: "missing" } as const),
    );
  const result = await loadConfiguration("test.yaml", { readFile, env: {} });
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result.configuration;
}

/** A simulated platform, ended with the test. */
export async function platform(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator(
    { controllers: 1, seed: 1, speed: 10, ...options },
    { clock: systemClock },
  );
  onTestFinished(() => simulator.close());
  return simulator;
}

export interface RunningBridge {
  readonly configuration: Configuration;
  readonly lines: readonly string[];
  /** Ends it in order and waits for that; rejects when it failed. */
  readonly stop: () => Promise<void>;
}

/** Starts a bridge with a data directory of its own; ended with the test. */
export async function bridge(
  text: string,
  simulator: Simulator,
  over: Partial<BridgeOptions> = {},
): Promise<RunningBridge> {
  const dataDir = await mkdtemp(join(tmpdir(), "bridge-"));
  const loaded = await configurationOf(text, simulator);
  const configuration = { ...loaded, data_dir: dataDir };
  const { log, lines } = capturedLog();
  const end = new AbortController();
  const running = runBridge(
    {
      configuration,
      clock: systemClock,
      random: seededRandom(1),
      log,
      setLogLevel: () => undefined,
      version: "test",
      ...over,
    },
    end.signal,
  );
  running.catch(() => undefined);
  const stop = async () => {
    end.abort();
    await running;
  };
  onTestFinished(async () => {
    await stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { configuration, lines, stop };
}
