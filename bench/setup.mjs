import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { sensors } from "./account.mjs";
import { here, mustLive, newFile, nodeFlagsForMemory, start, stop, untilSays } from "./processes.mjs";
import { Counter } from "./wire.mjs";

/** The built program that is measured. */
export const dist = resolve(process.env.GREENHOUSE2MQTT_DIST ?? here("../dist"));

/** Its modules, each in a file of its own (`npm run build:modules`), for measuring single ones. */
export const modules = here("../dist-modules");

/** The base topics of bridge and baseline, of equal length, so that their messages are too. */
export const bases = { bridge: "greenhouse", bare: "barehouse0" };
export const allSensors = (base) => [`${base}/+/sensor/#`];

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/**
 * A separate Mosquitto without limits on unacknowledged messages, as the baseline has none; with `usual` it has its
 * default limits. With `folder` it keeps retained messages there, for the next one on the same `port`.
 */
export async function startBroker({ usual = false, port: given, folder } = {}) {
  const port = given ?? (await freePort());
  const file = newFile("mosquitto.conf");
  const lines = [
    "allow_anonymous true",
    ...(folder === undefined
      ? ["persistence false"]
      : ["persistence true", `persistence_location ${folder}/`, `user ${userInfo().username}`]),
    ...(usual ? [] : ["max_inflight_messages 0", "max_queued_messages 0"]),
    "set_tcp_nodelay true",
  ];
  writeFileSync(file, [`listener ${port} 127.0.0.1`, ...lines, "log_type error", ""].join("\n"));
  const child = start(process.env.MOSQUITTO ?? "/usr/sbin/mosquitto", ["-c", file]);
  child.on("error", () => (child.tail = "cannot be started: install mosquitto or set MOSQUITTO to its path"));
  const deadline = performance.now() + 60_000;
  for (;;) {
    await wait(10);
    if (child.pid === undefined) throw new Error(`Mosquitto ${child.tail}`);
    mustLive(child);
    const counter = await Counter.open(port, ["none"]).catch(() => null);
    if (counter !== null) counter.close();
    if (counter !== null) return { child, port, url: `mqtt://127.0.0.1:${port}`, stop: () => stop(child) };
    if (performance.now() > deadline) throw new Error("Mosquitto does not answer");
  }
}

/**
 * The platform stub for an account of `controllers`. `each`: many accounts, each with that many of its own; `push`: its
 * channels are open.
 */
export async function startPlatform(controllers, { each = false, push = false } = {}) {
  const words = [...(each ? ["each"] : []), ...(push ? ["push"] : [])];
  const child = start(process.execPath, [here("./stub.mjs"), String(controllers), ...words]);
  const [, port] = await untilSays(child, /port (\d+)/);
  const url = `http://127.0.0.1:${port}`;
  const tell = (word) => fetch(`${url}/bench/${word}`, { method: "POST" });
  return {
    ...{ child, url, stop: () => stop(child) },
    ...{ freeze: () => tell("freeze"), move: () => tell("move"), rename: () => tell("rename") },
  };
}

const never = "24h";
const restingPolls = { controllers: never, sensors: never, running_status: never, actuators: never };

/** Starts the built bridge. `resting`: it polls once, then only when asked to refresh. */
export function startBridge(platform, broker, options = {}) {
  const { resting = false, concurrency = 8, flags = [], env, measured = false } = options;
  const { controllers = {}, embedded = false, weather = {}, http = false, program = dist } = options;
  const { sparkplug = {}, alarms = {}, within } = options;
  const { dataDir = newFile("data"), file = newFile("config.yaml") } = options;
  const configuration = {
    platform: {
      business_url: platform.url,
      realtime_url: platform.url,
      token: "bench",
      requests_per_minute: 0,
      concurrency,
      // A sweep is compared with a baseline without push channels.
      ...(resting ? { push: { enabled: false } } : {}),
    },
    mqtt: { base_topic: bases.bridge, ...(embedded ? {} : { url: broker.url }) },
    ...(embedded ? { broker: { port: broker.port } } : {}),
    http,
    data_dir: dataDir,
    log: { level: "warn" },
    ...(resting ? { polling: restingPolls } : {}),
    weather,
    sparkplug,
    alarms,
    controllers,
  };
  writeFileSync(file, JSON.stringify(configuration));
  const memory = measured ? nodeFlagsForMemory : [];
  const command = [...memory, ...flags, `${program}/main.js`, "run", "-c", file];
  return start(process.execPath, command, { env, measured, within });
}

/** Starts the baseline, which begins with one sweep; resolves when that is done. */
export async function startBare(
  platform,
  broker,
  { controllers, concurrency = 8, paced = false, measured = false },
) {
  const settings = {
    platform: platform.url,
    broker: broker.url,
    base: bases.bare,
    controllers,
    concurrency,
    paced,
  };
  const memory = measured ? nodeFlagsForMemory : [];
  const command = [...memory, here("./bare.mjs"), JSON.stringify(settings)];
  const child = start(process.execPath, command, { measured });
  await untilSays(child, /ready/);
  return child;
}

/** Starts the bridge and waits until all of the account is on the broker, announcements included. */
export async function startSettledBridge(platform, broker, controllers, options) {
  const counter = await Counter.open(broker.port, [`${bases.bridge}/+/sensor/+/json`]);
  const announcements = await Counter.open(broker.port, ["homeassistant/device/+/config"]);
  const child = startBridge(platform, broker, options);
  const timeoutMs = 30_000 + controllers * 30;
  const readings = controllers * sensors.length;
  for (
    const began = performance.now();
    counter.messages < readings || announcements.messages <= controllers;
  ) {
    mustLive(child);
    if (performance.now() - began > timeoutMs)
      throw new Error(`the bridge showed ${counter.messages} of ${readings} readings:\n${child.tail}`);
    await wait(50);
  }
  await announcements.quiet(3_000);
  counter.close();
  announcements.close();
  return child;
}

/**
 * The packages that the running bridge has loaded, one on each line of a file: `packages` by their names, `modules` by
 * the URLs of the modules imported from them, which are fewer if a package's main entry is bypassed.
 */
export async function notePackages() {
  const file = newFile("modules.txt");
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(1)]);
  const flags = ["--import", new URL("./note-packages.mjs", import.meta.url).href];
  const counter = await Counter.open(broker.port, allSensors(bases.bridge));
  const child = startBridge(platform, broker, {
    flags,
    env: { BENCH_PACKAGES: file },
    // The bundle contains the packages.
    program: modules,
  });
  await counter.until(sensors.length, 20_000);
  await counter.quiet(1_000);
  counter.close();
  await Promise.all([stop(child), platform.stop(), broker.stop()]);
  const urls = readFileSync(file, "utf8").split("\n").filter(Boolean);
  const names = new Set(urls.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url));
  const packages = newFile("packages.txt");
  writeFileSync(packages, [...names].join("\n"));
  return { packages, modules: file };
}
