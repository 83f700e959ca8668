import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProfileName } from "../../../src/simulator/dialects.js";
import type { ReadingName } from "../../../src/simulator/readings.js";
import { type MosquittoOptions, startMosquitto } from "../../support/mosquitto.js";
import { journalOf } from "./journal.js";
import { platformOf } from "./platform.js";
import { type Program, type ProgramOptions, startProgram } from "./program.js";
import { type Watch, watchBroker, type WatchOptions } from "./watch.js";

/* Everything one test starts, and its end. */

/** Planted secrets: no log line and no topic may ever show one. */
export const canaries = {
  token: "canary-token-5d1f0e",
  password: "canary-password-93ab27",
} as const;

export type Stage = Awaited<ReturnType<typeof createStage>>;

export type Configuration = Readonly<Record<string, unknown>>;

interface BridgeOptions {
  readonly logLevel?: "trace" | "info" | "warn";
  readonly env?: Readonly<Record<string, string>>;
  readonly resolvConf?: string;
}

interface PlatformOptions {
  readonly port?: number;
  readonly controllers?: number;
  readonly profile?: ProfileName;
  /** How much faster than real time the greenhouses live; with 10 readings are renewed every 3 s. */
  readonly speed?: number;
  /** Other readings of the interface's words. */
  readonly readings?: readonly ReadingName[];
}

export async function createStage() {
  const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-e2e-"));
  const programs: Program[] = [];
  const watches: Watch[] = [];
  const endings: (() => Promise<unknown>)[] = [];
  const program = (args: readonly string[], options?: Partial<ProgramOptions>): Program => {
    const started = startProgram(args, { folder, ...options });
    programs.push(started);
    endings.push(() => started.end("SIGKILL"));
    return started;
  };
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  return {
    ...{ folder, program, write },
    read: (name: string) => readFile(join(folder, name), "utf8"),
    /** Closed at the end. */
    keep: <Thing extends { close(): Promise<void> }>(thing: Thing): Thing => {
      endings.push(() => thing.close());
      return thing;
    },
    platform: ({
      port = 0,
      controllers = 5,
      profile = "default",
      speed = 10,
      readings = [],
    }: PlatformOptions = {}) =>
      platformOf(
        program([
          ...(readings.length > 0 ? ["simulate", "--readings", ...readings] : ["simulate"]),
          ...["--port", String(port), "--controllers", String(controllers)],
          ...["--seed", "1", "--speed", String(speed), "--profile", profile],
        ]),
      ),
    mosquitto: async (options?: MosquittoOptions) => {
      const started = await startMosquitto(options);
      endings.push(() => started.stop());
      return started;
    },
    watch: async (options: WatchOptions) => {
      const started = await watchBroker(options);
      watches.push(started);
      endings.push(() => started.end());
      return started;
    },
    /** Writes a configuration and runs the bridge on it. */
    bridge: async (
      configuration: Configuration,
      { logLevel = "trace", env = {}, resolvConf }: BridgeOptions = {},
    ) => {
      // JSON is YAML too.
      await write("config.yaml", JSON.stringify(configuration, null, 1));
      return program(["run", "--log-level", logLevel], { env, resolvConf });
    },
    /** Where a canary surfaced, in logs, topics and the journal of this stage. */
    leaks: async () => leaksOf(programs, watches, await journalOf({ folder })),
    clear: async () => {
      for (const end of endings.splice(0).reverse()) await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function leaksOf(
  programs: readonly Program[],
  watches: readonly Watch[],
  journal: readonly object[],
): readonly string[] {
  const lines = programs.flatMap(({ stdout, stderr }) => `${stdout}\n${stderr}`.split("\n"));
  const messages = watches.flatMap(({ seen }) => seen.map(({ topic, payload }) => `${topic} ${payload}`));
  return [...lines, ...messages, ...journal.map((record) => JSON.stringify(record))]
    .filter((text) => Object.values(canaries).some((secret) => text.includes(secret)))
    .map((text) => text.slice(0, 300));
}

/** A configuration for a platform and a broker, with short intervals and planted secrets. */
export function configurationFor(
  platformUrl: string,
  broker: Configuration,
  more: Configuration = {},
): Configuration {
  return {
    platform: {
      business_url: platformUrl,
      realtime_url: platformUrl,
      token: canaries.token,
      requests_per_minute: 0,
    },
    ...broker,
    http: false,
    data_dir: "./data",
    polling: {
      controllers: "1s",
      sensors: "1s",
      running_status: "2s",
      actuators: "1s",
      stale_after: "10s",
    },
    controllers: { "GH-0001": { actuators: { left_skylight: { kind: "skylight", address: "101" } } } },
    ...more,
  };
}

export const mosquittoSection = (url: string, protocolVersion: 4 | 5 = 5): Configuration => ({
  mqtt: { url, username: "bridge", password: canaries.password, protocol_version: protocolVersion },
});
