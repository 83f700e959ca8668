import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import mqtt from "mqtt";
import { afterEach, expect, it } from "vitest";
import { countFrom, type Figures, rounded, tellFigures } from "../proof/figures.js";
import { testCertificate } from "../broker/certificate.js";
import { endsWithThisProcess } from "../support/at-exit.js";
import { freePort } from "../support/mosquitto.js";
import { natsVersion, startNats } from "../support/nats.js";
import { createStage, type Stage } from "../end-to-end/support/stage.js";

/*
 * Each socket of the built program is flooded by a process of its own, over the loopback, while stops are sent over MQTT to motors that
 * take turns; the platform's push floods it in the same way. FLOOD_SECONDS says for how long each (10 s without it, 600 in a release), FLOOD_ONLY names some of them as a pattern.
 */

const fullSeconds = 600;
const seconds = countFrom("FLOOD_SECONDS", 10);
const only = new RegExp(process.env["FLOOD_ONLY"] ?? "");
const mostMs = 500;
const everyMs = 200;
const mostRssMb = 250;
const calmStops = 15;

type Target =
  | "page"
  | "broker"
  | "brokerTls"
  | "brokerWeb"
  | "mosquitto"
  | "mdns"
  | "nats"
  | "push"
  | "mail"
  | "messenger";
/** Of what is drawn of a flood by the platform; FLOOD_SEED repeats one. */
const seed = Number(process.env["FLOOD_SEED"] ?? Date.now() % 1_000_000);

/**
 * Another broker reads the flood as fast as it comes, and takes the processor's time for it. So do the servers of a cluster, which
 * have its journal too: a stop waits twice 200 ms for that.
 */
const mostMsBehindServer = 2_000;

const floods: readonly (readonly [kind: string, target: Target])[] = [
  ["page-subscriptions", "page"],
  ["page-empty-frames", "page"],
  ["page-pings", "page"],
  ["page-pieces", "page"],
  ["page-requests", "page"],
  ["page-health", "page"],
  ["page-chunks", "page"],
  ["page-headers", "page"],
  ["page-connections", "page"],
  ["page-logins", "page"],
  ["broker-pings", "broker"],
  ["broker-publishes", "broker"],
  ["broker-requests", "broker"],
  ["broker-sets", "broker"],
  ["broker-subscriptions", "broker"],
  ["broker-everything", "broker"],
  ["broker-filters", "broker"],
  ["broker-handshakes", "brokerTls"],
  ["broker-garbage", "broker"],
  ["broker-web-pings", "brokerWeb"],
  ["broker-web-frames", "brokerWeb"],
  ["broker-web-bytes", "brokerWeb"],
  ["broker-sets", "mosquitto"],
  ["broker-requests", "mosquitto"],
  ["sparkplug-commands", "broker"],
  ["sparkplug-garbage", "broker"],
  ["sparkplug-commands", "mosquitto"],
  ["sparkplug-garbage", "mosquitto"],
  ["weather-values", "mosquitto"],
  ["status-words", "mosquitto"],
  ["self-tests", "mosquitto"],
  ["mail-lines", "mail"],
  ["mail-line", "mail"],
  ["messenger-head", "messenger"],
  ["messenger-pieces", "messenger"],
  ["nats-members", "nats"],
  ["nats-owners", "nats"],
  ["nats-one", "nats"],
  ["nats-large", "nats"],
  ["mdns-large", "mdns"],
  ["mdns-standard", "mdns"],
  ["mdns-small", "mdns"],
  ["push-values", "push"],
  ["push-pings", "push"],
  ["push-empty", "push"],
  ["push-pieces", "push"],
  ["push-garbage", "push"],
  ["push-large-values", "push"],
  ["push-large-addresses", "push"],
  ["push-large-items", "push"],
  ["push-large-numbers", "push"],
  ["push-large-names", "push"],
  ["push-large-lists", "push"],
  ["push-large-longs", "push"],
];

const figures: Record<string, Figures[string]> = {};
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.clear();
  await tellFigures("floods", seconds < fullSeconds, { seconds, ...figures });
});

const isThere = (target: Target): boolean => target !== "nats" || natsVersion !== null;
const notRun = floods.filter(([, target]) => !isThere(target));
if (notRun.length > 0) console.log(`NOT RUN, there is no nats-server: ${String(notRun)}`);

it.each(floods.filter(([kind, target]) => only.test(kind) && isThere(target)))(
  "%s at %s keeps no stop back",
  async (kind, target) => {
    const scene = await running(kind, target);
    const calm = await scene.stops(calmStops * everyMs);
    const flooder = scene.answering?.(seconds) ?? scene.push?.flood(kind) ?? flood(kind, scene.ports[target]);
    const flooded = await scene.stops(seconds * 1_000);
    scene.push?.calm();
    const did = await flooder;
    const after = await scene.stops(calmStops * everyMs);
    // A machine with much else to do is slow without any flood.
    const least = target === "mosquitto" || target === "nats" ? mostMsBehindServer : mostMs;
    const allowed = Math.max(least, 3 * percentile(calm, 0.99));
    const name = target === "mosquitto" ? `${target}-${kind}` : kind;
    figures[name] =
      `p50 ${percentile(flooded, 0.5)} ms, p99 ${percentile(flooded, 0.99)} ms, worst ${Math.max(...flooded)} ms (calm ${percentile(calm, 0.99)} ms), RSS ${rounded(scene.rss(), 0)} MB, ${did}`;
    expect(percentile(flooded, 0.99), figures[name]).toBeLessThanOrEqual(allowed);
    expect(percentile(after, 0.99), "it recovers").toBeLessThanOrEqual(allowed);
    expect(scene.rss()).toBeLessThan(mostRssMb);
  },
);

const percentile = (all: readonly number[], share: number): number =>
  [...all].sort((one, other) => one - other)[Math.min(all.length - 1, Math.floor(all.length * share))] ?? NaN;

async function flood(kind: string, port: number): Promise<string> {
  const script = join(import.meta.dirname, "flooder.mjs");
  const child = spawn(process.execPath, [script, kind, String(port), String(seconds)]);
  endsWithThisProcess(child);
  const said = text(child.stdout);
  const [code] = (await once(child, "close")) as [number | null];
  expect(code, kind).toBe(0);
  return (await said).trim();
}

/** A server of a process of its own, once it listens. */
async function serving(stage: Stage, script: string, ...words: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...words]);
  endsWithThisProcess(child);
  stage.keep({
    close: () => {
      child.stdin.end();
      return Promise.resolve();
    },
  });
  await once(child.stdout, "data");
  return child;
}

const waysAtOnce = 8;
/** So often a test of them is taken. */
const testEveryMs = 10_500;

/** Ways to people, each to a server that floods whoever connects. */
async function flooded(stage: Stage, target: Target, kind: string) {
  const port = await freePort();
  await serving(stage, "answering-flooder.mjs", String(port), kind);
  const mail = { host: "127.0.0.1", port, encryption: "none", from: "a@example.com", to: ["b@example.com"] };
  const way = target === "mail" ? { smtp: mail } : { webhook: { url: `http://127.0.0.1:${port}/` } };
  return Object.fromEntries(Array.from({ length: waysAtOnce }, (_, at) => [`way${at}`, way]));
}

/** A realtime host before the platform's whose channels of push flood when they are told to. */
async function pushing(stage: Stage, platform: string) {
  const port = await freePort();
  const child = await serving(stage, "push-flooder.mjs", String(port), new URL(platform).port, String(seed));
  return {
    url: `http://127.0.0.1:${port}`,
    flood: (kind: string) => {
      child.stdin.write(`flood ${kind.replace("push-", "")}\n`);
      return Promise.resolve(`seed ${seed}`);
    },
    calm: () => void child.stdin.write("calm\n"),
  };
}

/** The one server of a cluster. */
async function natsServer(stage: Stage) {
  const nats = await startNats(1);
  stage.keep({ close: () => nats.stop() });
  const port = nats.servers[0]?.port ?? 0;
  return { port, url: `nats://127.0.0.1:${port}` };
}

async function running(kind: string, target: Target) {
  const stage = await createStage();
  stages.push(stage);
  const platform = await stage.platform({ controllers: 24, speed: 1 });
  const foreign = target === "mosquitto" || target === "nats" ? await stage.mosquitto() : null;
  const nats = target === "nats" ? await natsServer(stage) : null;
  const ports = {
    page: await freePort(),
    broker: await freePort(),
    brokerTls: await freePort(),
    brokerWeb: await freePort(),
    mosquitto: foreign?.port ?? 0,
    mdns: 5353,
    nats: nats?.port ?? 0,
    push: 0,
    mail: 0,
    messenger: 0,
  };
  const push = target === "push" ? await pushing(stage, platform.url) : null;
  const isAnswering = target === "mail" || target === "messenger";
  const notify = isAnswering ? { ways: await flooded(stage, target, kind) } : null;
  const codes = (await platform.codes()).filter((code) => code.startsWith("GH-"));
  const motor = { kind: "motor", address: "300", values: { open: "00000001" } };
  const users = [{ username: "anna", password: "a-long-password-of-anna", role: "operator" }];
  await stage.write("broker.crt", testCertificate.cert);
  await stage.write("broker.key", testCertificate.key);
  const needsUsers = target === "mdns" || kind === "page-logins";
  const program = await stage.bridge(
    {
      platform: {
        business_url: platform.url,
        realtime_url: push?.url ?? platform.url,
        token: "t",
        requests_per_minute: 0,
      },
      ...(foreign === null
        ? {
            broker: {
              port: ports.broker,
              websocket_port: ports.brokerWeb,
              tls: { cert: "broker.crt", key: "broker.key", port: ports.brokerTls },
            },
          }
        : { mqtt: { url: foreign.url } }),
      ...(nats && { cluster: { nats: [nats.url], name: "test", replicas: 1 } }),
      // Another name of this computer, for which the page is announced.
      http: {
        port: ports.page,
        ...(target === "mdns" && { host: nameOfThis() }),
        ...(needsUsers && { users }),
      },
      data_dir: "./data",
      homeassistant: { enabled: kind === "status-words" },
      weather: { wind: { topic: "weather/wind", field: "speed", unit: "m/s" } },
      ...(kind.startsWith("sparkplug") && { sparkplug: { enabled: true } }),
      ...(notify && { notify }),
      controllers: Object.fromEntries(codes.map((code) => [code, { actuators: { motor } }])),
    },
    { logLevel: "warn" },
  );
  const url = foreign?.url ?? `mqtt://127.0.0.1:${ports.broker}`;
  const watch = await stage.watch({ url, protocolVersion: 5 });
  const [last = ""] = codes.slice(-1);
  const isRead = () => watch.latest(`greenhouse/${last.toLowerCase()}/actuator/motor/json`) !== null;
  await watch.untilTrue(isRead, "the motors were read", 120_000);
  // At another broker it would be sent the whole flood and send its stops late; the embedded one has a listener to all, which is harder.
  if (foreign !== null) await watch.end();
  const sender = await mqtt.connectAsync(url, { protocolVersion: 5, keepalive: 600 });
  stage.keep({ close: () => sender.endAsync(true) });
  const state = { sent: 0, rss: 0 };
  /** How long each took from its message to the platform. */
  const stops = async (ms: number): Promise<readonly number[]> => {
    const sent: { readonly code: string; readonly at: number }[] = [];
    const began = performance.now();
    while (performance.now() - began < ms) {
      const code = codes[state.sent % codes.length] ?? "";
      sent.push({ code, at: Date.now() });
      const payload = JSON.stringify({ command: "stop", id: `stop ${state.sent}` });
      state.sent += 1;
      void sender.publishAsync(`greenhouse/${code.toLowerCase()}/actuator/motor/set`, payload, { qos: 1 });
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      state.rss = Math.max(state.rss, rssOf(program.pid));
    }
    const posts = async () => {
      const all = await platform.posts();
      return sent.map(
        ({ code, at }) => (all.find((one) => one.code === code && one.at >= at)?.at ?? NaN) - at,
      );
    };
    await expect.poll(async () => (await posts()).every((late) => late >= 0), { timeout: 60_000 }).toBe(true);
    return posts();
  };
  /** Messages to people again and again, as often as the bridge tries them. */
  const answering = async (forSeconds: number): Promise<string> => {
    let tests = 0;
    for (const began = performance.now(); performance.now() - began < forSeconds * 1_000; tests += 1) {
      await sender.publishAsync("greenhouse/bridge/request/notify_test", "{}", { qos: 1 });
      await new Promise((resolve) => setTimeout(resolve, testEveryMs));
    }
    return `${tests} times ${waysAtOnce} messages`;
  };
  return { ports, push, answering: isAnswering ? answering : null, stops, rss: () => state.rss };
}

/** A name that is not a word for the loopback alone, and leads there. */
function nameOfThis(): string {
  const hosts = readFileSync("/etc/hosts", "utf8").split("\n");
  const names = hosts.flatMap((line) => (line.startsWith("127.") ? line.trim().split(/\s+/).slice(1) : []));
  const found = names.find((name) => !/localhost/.test(name));
  if (found === undefined) throw new Error("/etc/hosts needs another name for 127.0.0.1 than localhost");
  return found;
}

const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
