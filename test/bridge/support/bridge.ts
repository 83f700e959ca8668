import { mkdir, writeFile } from "node:fs/promises";
import { onTestFinished } from "vitest";
import { type BridgeOptions, runBridge } from "../../../src/bridge.js";
import { loadConfiguration } from "../../../src/config/load.js";
import { formatProblem } from "../../../src/settings/problem.js";
import type { Configuration } from "../../../src/config/schema.js";
import { journalDirectory } from "../../../src/journal/open.js";
import type { RecordBody } from "../../../src/journal/records.js";
import { encodeLine, segmentPath } from "../../../src/journal/segments.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { seededRandom } from "../../../src/simulator/faults.js";
import type { Simulator, SimulatorOptions } from "../../../src/simulator/simulator.js";
import { capturedLog, otherClient, tempFolder, testMosquitto } from "../../mqtt-connection/support.js";
import { running } from "../../simulator/running.js";
import type { MosquittoOptions } from "../../support/mosquitto.js";

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

/** A simulated platform of one controller, ended with the test. */
export const platform = (options: SimulatorOptions = {}): Promise<Simulator> =>
  running({ controllers: 1, speed: 10, ...options });

/** A bridge at this broker with one fan, which settles at once. */
export const fanAt = (url: string, ...more: readonly string[]): string =>
  [
    `mqtt: { url: "${url}" }`,
    "http: false",
    "homeassistant: { enabled: false }",
    'controllers: { GH-0001: { actuators: { fan: { kind: circulation_fan, address: "150", settle: 0s } } } }',
    ...more,
  ].join("\n");

export type Fields = Readonly<Record<string, unknown>>;

/** A Mosquitto, and a client that hears all that is said there. */
export async function brokerAndClient(options: MosquittoOptions = {}) {
  const mosquitto = await testMosquitto(options);
  const { url } = mosquitto;
  const client = await otherClient(url);
  const seen: { readonly topic: string; readonly text: string }[] = [];
  client.on("message", (topic, payload) => seen.push({ topic, text: payload.toString() }));
  await client.subscribeAsync("#", { qos: 1 });
  const texts = (topic: string) => seen.filter((one) => one.topic === topic).map(({ text }) => text);
  const json = (topic: string) => texts(topic).map((text) => JSON.parse(text) as Fields);
  const say = (topic: string, payload: string | Fields, retain = false) =>
    client.publishAsync(topic, typeof payload === "string" ? payload : JSON.stringify(payload), {
      qos: 1,
      retain,
    });
  return { url, mosquitto, client, seen, texts, json, say };
}

/** A data directory as an earlier run left it. */
export async function leftBehind(...records: readonly RecordBody[]): Promise<string> {
  const dataDir = await tempFolder();
  const directory = journalDirectory(dataDir);
  const at = new Date().toISOString();
  const stamp = (seq: number) => ({ seq, at, mono: seq, boot: "earlier", clock_synced: null });
  const lines = records.map((record, index) => encodeLine({ ...stamp(index + 1), ...record }));
  await mkdir(directory, { recursive: true });
  await writeFile(segmentPath(directory, 1), Buffer.concat(lines));
  return dataDir;
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
  const loaded = await configurationOf(text, simulator);
  const configuration = { ...loaded, data_dir: await tempFolder() };
  const { log, lines } = capturedLog();
  const end = new AbortController();
  const running = runBridge(
    {
      ...{ configuration, clock: systemClock, random: seededRandom(1), log, version: "test" },
      setLogLevel: () => undefined,
      ...over,
    },
    end.signal,
  );
  running.catch(() => undefined);
  const stop = async () => {
    end.abort();
    await running;
  };
  onTestFinished(stop);
  return { configuration, lines, stop };
}
