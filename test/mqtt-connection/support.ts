import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { type EmbeddedBroker, startBroker } from "../../src/broker/broker.js";
import type { BrokerSettings } from "../../src/broker/settings.js";
import { BrokerConnection } from "../../src/mqtt/connection.js";
import type {
  ConnectionListeners,
  ConnectionPorts,
  ConnectionSettings,
  IncomingMessage,
  LinkEnd,
} from "../../src/mqtt/connection/settings.js";
import { type Clock, systemClock } from "../../src/runtime/clock.js";
import type { Gaps } from "../../src/runtime/gaps.js";
import type { Logger } from "../../src/runtime/log.js";
import { type Mosquitto, type MosquittoOptions, startMosquitto } from "../support/mosquitto.js";

/** A folder that is gone when the test is over, with these files of mode 600. */
export async function tempFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-test-"));
  // A program that ends may still write, or make a folder anew.
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text, { mode: 0o600 });
  return path;
}

export interface CapturedLog {
  readonly log: Logger;
  /** `level text {facts}`, one a line. */
  readonly lines: string[];
}

export function capturedLog(): CapturedLog {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (...args: unknown[]) => {
      const [first, second] = args;
      lines.push(
        typeof first === "string"
          ? `${level} ${first}`
          : `${level} ${String(second)} ${JSON.stringify(first)}`,
      );
    };
  const log = Object.fromEntries(
    ["trace", "debug", "info", "warn", "error", "fatal"].map((level) => [level, at(level)]),
  ) as unknown as Logger;
  return { log, lines };
}

export const topics = {
  base: "greenhouse",
  status: "homeassistant/status",
  discoveryPrefix: "homeassistant",
};
export const markTopic = "greenhouse/bridge/mark";
export const stateTopic = "greenhouse/bridge/state";

export async function testBroker(
  overrides: Partial<BrokerSettings> = {},
  ports: { readonly clock?: Clock; readonly gaps?: Gaps; readonly log?: Logger } = {},
): Promise<EmbeddedBroker> {
  const settings = { host: "127.0.0.1", port: 0, users: [], topics, ...overrides };
  const broker = await startBroker(settings, { clock: systemClock, log: capturedLog().log, ...ports });
  onTestFinished(() => broker.close());
  return broker;
}

export async function testMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const mosquitto = await startMosquitto(options);
  onTestFinished(() => mosquitto.stop());
  return mosquitto;
}

/** What a test needs of a broker of any make. */
export interface AnyBroker {
  readonly url: string;
  readonly port: number;
  /** Login of the bridge. */
  readonly credential: { readonly username?: string; readonly password?: string };
}

/** Each make in each version, for `describe.each`. */
export const brokerTable = (["aedes", "mosquitto"] as const).flatMap((make) =>
  ([5, 4] as const).map((version) => ({ make, version })),
);

export async function anyBroker(make: "aedes" | "mosquitto"): Promise<AnyBroker> {
  if (make === "aedes") return testBroker();
  // By default it drops what a subscriber does not take fast enough.
  const { url, port } = await testMosquitto({ extra: ["max_queued_messages 0"] });
  return { url, port, credential: {} };
}

export interface TestConnection {
  readonly connection: BrokerConnection;
  readonly messages: IncomingMessage[];
  readonly ends: LinkEnd[];
  readonly lines: string[];
  /** How often `connected` was called. */
  readonly births: () => number;
  readonly online: (count?: number) => Promise<void>;
  /** Ends it in order and waits for that. */
  readonly stop: () => Promise<void>;
}

const quick = { backoff: { firstMs: 20, maxMs: 100 }, connectTimeoutMs: 2_000 };

/** A running connection with short delays; ended with the test. */
export function connect(
  settings: Partial<ConnectionSettings> & { readonly url: string },
  ports: Partial<ConnectionPorts> = {},
): TestConnection {
  const { log, lines } = capturedLog();
  const messages: IncomingMessage[] = [];
  const ends: LinkEnd[] = [];
  let births = 0;
  const on: ConnectionListeners = {
    ...settings.on,
    message: (message) => {
      messages.push(message);
      settings.on?.message?.(message);
    },
    onConnected: (facts) => {
      births += 1;
      return settings.on?.onConnected?.(facts);
    },
    onDisconnected: (end) => {
      ends.push(end);
      settings.on?.onDisconnected?.(end);
    },
  };
  const base = { clientId: "greenhouse2mqtt", protocolVersion: 5, subscriptions: [], markTopic } as const;
  const limits = { ...quick, ...settings.limits };
  const connection = new BrokerConnection(
    { ...base, ...settings, limits, on },
    { clock: systemClock, random: Math.random, log, ...ports },
  );
  const life = new AbortController();
  const run = connection.run(life.signal);
  const stop = async () => {
    life.abort();
    await run;
  };
  onTestFinished(stop);
  const online = (count = 1) =>
    until(() => births >= count && connection.state === "online", `online for the ${count}. time`, lines);
  return { connection, messages, ends, lines, births: () => births, online, stop };
}

/** A connection that stands at a broker of any make, and another client there. */
export async function standing(
  { make, version }: (typeof brokerTable)[number],
  settings: Partial<ConnectionSettings> = {},
  otherVersion: 4 | 5 = version,
) {
  const broker = await anyBroker(make);
  const started = connect({ ...broker, ...broker.credential, protocolVersion: version, ...settings });
  await started.online();
  return { ...started, broker, other: await otherClient(broker.url, { protocolVersion: otherVersion }) };
}

/** Waits until a condition holds, looking often; fails with what was waited for. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  lines: readonly string[] = [],
  timeout = 60_000,
): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!(await condition())) throw new Error(`not ${what}; log:\n${lines.slice(-20).join("\n")}`);
    },
    { timeout, interval: 5 },
  );
}

/** A plain client, ended with the test; rejects when it is not let in. */
export async function otherClient(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  const client = await mqtt.connectAsync(url, { reconnectPeriod: 0, ...options }, false);
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.end(true);
  });
  return client;
}

/** A client of a session that is kept, which hears what comes from its first moment on; ended with the test. */
export function returning(url: string, options: IClientOptions): { client: MqttClient; seen: string[] } {
  const client = mqtt.connect(url, { clean: false, reconnectPeriod: 0, ...options });
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.end(true);
  });
  return { client, seen: received(client) };
}

/** Collects what a client receives as `topic payload`. */
export function received(client: MqttClient): string[] {
  const texts: string[] = [];
  client.on("message", (topic, payload) => {
    texts.push(`${topic} ${payload.toString()}`);
  });
  return texts;
}

/** The retained payload of a topic as a fresh client sees it; null when there is none. */
export async function retainedValue(
  url: string,
  topic: string,
  options: IClientOptions = {},
): Promise<string | null> {
  const client = await otherClient(url, { protocolVersion: 4, ...options });
  let value: string | null = null;
  client.on("message", (from, payload) => {
    if (from === topic) value = payload.toString();
  });
  await client.subscribeAsync(topic, { qos: 1 });
  // Brokers send retained messages right after the SUBACK, in order with the answer to a second one.
  await client.subscribeAsync(`${topic}/nothing`, { qos: 1 });
  await client.endAsync();
  return value;
}
