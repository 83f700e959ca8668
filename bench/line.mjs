// (q) Work that costs n for one thing must not cost n² for all: processor time of each piece of work per controller, in
// accounts of growing size with Home Assistant on. BENCH_PLANTED=1 plants a fault that these rows must find.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, messagesPerController } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { filledJournal } from "./filled-journal.mjs";
import { growthOf, mostGrowth, topicsHeld } from "./kept.mjs";
import { mustLive, newFile, residentMb, start, stop } from "./processes.mjs";
import { bases, dist, freePort, startBridge, startBroker, startPlatform } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const quietMs = 1_500;
const repeatedMs = 33_000;
const hook = new URL("./usage-hook.mjs", import.meta.url).href;
const planted = new URL("./planted-hook.mjs", import.meta.url).href;
const flags = ["--import", hook, ...(process.env.BENCH_PLANTED === "1" ? ["--import", planted] : [])];

async function usageOf(child) {
  rmSync(child.usageFile, { force: true });
  child.kill("SIGUSR2");
  while (!existsSync(child.usageFile)) {
    mustLive(child);
    await wait(10);
  }
  return JSON.parse(readFileSync(child.usageFile, "utf8"));
}

/** Processor seconds of a command of the program from its start to its end. */
async function costOfCommand(args, { code = 0 } = {}) {
  const usage = newFile("usage.json");
  const child = spawn(process.execPath, ["--import", hook, `${dist}/main.js`, ...args], {
    env: { ...process.env, BENCH_USAGE: usage },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text) => (said = (said + text).slice(-500)));
  const ended = await new Promise((resolve) => child.once("exit", resolve));
  if (ended !== code) throw new Error(`${args.join(" ")} ended with ${ended}: ${said}`);
  return JSON.parse(readFileSync(usage, "utf8")).cpu;
}

const named = (controllers) =>
  Object.fromEntries(
    Array.from({ length: controllers }, (_, index) => [codeOf(index), { name: `House ${index + 1}` }]),
  );

class Scene {
  #idle = 0;

  static async open(controllers) {
    const scene = new Scene();
    const folder = newFile("mosquitto");
    mkdirSync(folder);
    Object.assign(scene, {
      controllers,
      folder,
      file: newFile("config.yaml"),
      http: { port: await freePort() },
    });
    [scene.broker, scene.platform] = await Promise.all([startBroker({ folder }), startPlatform(controllers)]);
    scene.ear = await Counter.open(scene.broker.port, ["#"]);
    return scene;
  }

  begin({ dataDir } = {}) {
    const usage = newFile("usage.json");
    const { platform, broker, file, http } = this;
    this.bridge = startBridge(platform, broker, {
      ...{ resting: true, controllers: named(this.controllers), flags, env: { BENCH_USAGE: usage } },
      ...{ file, http, dataDir },
    });
    this.bridge.usageFile = usage;
  }

  /** Waits until nothing more is published. */
  async settled() {
    const began = performance.now();
    while (performance.now() - Math.max(this.ear.lastAt, began) < quietMs) {
      mustLive(this.bridge);
      await wait(20);
    }
  }

  async findIdle() {
    const [before, began] = [await usageOf(this.bridge), performance.now()];
    await wait(3_000);
    this.#idle = ((await usageOf(this.bridge)).cpu - before.cpu) / ((performance.now() - began) / 1_000);
  }

  /**
   * Processor seconds of the bridge for a piece of work, without its idle load; `isQuiet`: the work publishes nothing.
   */
  async cost({ work, isQuiet = false }) {
    const [before, began] = [await usageOf(this.bridge), performance.now()];
    await work(this);
    if (!isQuiet) await this.settled();
    const spent = (await usageOf(this.bridge)).cpu - before.cpu;
    return Math.max(0, spent - this.#idle * ((performance.now() - began) / 1_000));
  }

  request(name) {
    const topic = `${bases.bridge}/bridge/response/${name}`;
    const answered = Counter.open(this.broker.port, [topic]).then(async (ear) => {
      const answer = new Promise((resolve) => (ear.onMessage = resolve));
      ear.publish(`${bases.bridge}/bridge/request/${name}`, "{}");
      await answer;
      ear.close();
    });
    return answered;
  }

  /** The number of retained topics of controllers and announcements. */
  async retained() {
    const ear = await Counter.open(this.broker.port, [`${bases.bridge}/+/#`, "homeassistant/#"]);
    await ear.quiet(1_000);
    ear.close();
    return ear.retained;
  }

  /** Home Assistant is sent everything again, after a pause that differs between bridges. */
  async restartHomeAssistant() {
    this.ear.reset();
    this.ear.publish("homeassistant/status", "online");
    // The announcements, followed by all states.
    await this.ear.until(this.controllers * (1 + messagesPerController), 30_000);
  }

  async restartBroker() {
    const { port } = this.broker;
    await this.broker.stop();
    this.ear.close();
    this.broker = await startBroker({ folder: this.folder, port });
    this.ear = await Counter.open(port, ["#"]);
    const deadline = performance.now() + 60_000;
    while (this.ear.messages === 0 && performance.now() < deadline) await wait(20);
    // The bridge reads what the broker has kept meanwhile, so its first messages come in pieces.
    await this.ear.until(this.controllers * messagesPerController, 15_000);
  }

  /** Requests the path `times` times in sequence. */
  async get(path, times) {
    for (let n = 0; n < times; n += 1) {
      const answer = await fetch(`http://127.0.0.1:${this.http.port}${path}`);
      if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
      await answer.arrayBuffer();
    }
  }

  async close() {
    this.ear.close();
    await Promise.all([stop(this.bridge, 30_000), this.platform.stop(), this.broker.stop()]);
  }
}

/** Each is repeated several times, and the median counts. */
const works = {
  "a sweep": { work: (scene) => scene.request("refresh") },
  republish: { work: (scene) => scene.request("republish") },
  "restart of Home Assistant": { work: (scene) => scene.restartHomeAssistant() },
  "restart of the broker": { work: (scene) => scene.restartBroker() },
  SIGHUP: {
    work: async (scene) => {
      scene.bridge.kill("SIGHUP");
      await wait(500);
    },
  },
  "50 of the page's first view": { work: (scene) => scene.get("/api/overview", 50), isQuiet: true },
  "50 of metrics": { work: (scene) => scene.get("/metrics", 50), isQuiet: true },
  // Last, because a changed announcement is repeated after half a minute.
  "every name in the list changed": {
    work: async (scene) => {
      await scene.platform.rename();
      await scene.request("refresh");
      await wait(repeatedMs);
    },
    isOnce: true,
  },
};

/** {name: seconds} for an account of this size. */
async function measureSize({ controllers, rounds, say }) {
  const scene = await Scene.open(controllers);
  scene.begin();
  await scene.ear.until(1, 60_000);
  await scene.settled();
  await scene.settled();
  const costs = new Map([["start", (await usageOf(scene.bridge)).cpu]]);
  costs.set("retained topics", await scene.retained());
  await scene.findIdle();
  for (const [name, work] of Object.entries(works)) {
    const taken = [];
    for (let round = work.isOnce === true ? rounds - 1 : -1; round < rounds; round += 1) {
      // The bridge takes 25 requests a second of a connection.
      if (work.isQuiet === true) await wait(2_500);
      const seconds = await scene.cost(work);
      if (round >= 0) taken.push(seconds);
    }
    costs.set(name, spread(taken).median);
    say(`${name}, ${controllers} controllers: ${costs.get(name).toFixed(3)} s CPU`);
  }
  costs.set("retained topics after all that", await scene.retained());
  costs.set("resident", residentMb(scene.bridge));
  const config = ["-c", scene.file];
  costs.set("tags", await costOfCommand(["tags", "--csv", ...config]));
  costs.set("check", await costOfCommand(["check", scene.file]));
  await stop(scene.bridge, 30_000);
  costs.set("cleanup", await costOfCommand(["cleanup", "--all", ...config]));
  costs.set("retained topics after cleanup", await scene.retained());
  await scene.close();
  return costs;
}

/**
 * Costs that grow with another size than the account's: {name: [{controllers, cost}]}, with that size as `controllers`.
 */
async function measureAlone({ checks, journals, say }) {
  const rows = { "check of a file": [], "start by a journal, MiB": [] };
  for (const controllers of checks) {
    const file = newFile("config.yaml");
    const platform = {
      business_url: "http://127.0.0.1:1",
      realtime_url: "http://127.0.0.1:1",
      token: "bench",
    };
    writeFileSync(file, JSON.stringify({ platform, controllers: named(controllers) }));
    const cost = await costOfCommand(["check", file]);
    say(`check of ${controllers} controllers: ${cost.toFixed(2)} s CPU`);
    rows["check of a file"].push({ controllers, cost });
  }
  for (const mib of journals) {
    const dataDir = await filledJournal(mib);
    const scene = await Scene.open(1);
    scene.begin({ dataDir });
    await scene.ear.until(1, 60_000);
    await scene.settled();
    const cost = (await usageOf(scene.bridge)).cpu;
    await scene.close();
    say(`start by a journal of ${mib} MiB: ${cost.toFixed(2)} s CPU`);
    rows["start by a journal, MiB"].push({ controllers: mib, cost });
  }
  return rows;
}

const growthFigures = (name, rows, each) =>
  growthOf(rows).map(({ from, to, times }) =>
    figure("q", `${name}, for ${each}, ${to} by ${from}`, "times", times, {
      target: { of: "value", atMost: mostGrowth },
    }),
  );

export async function measureLine({ sizes, rounds, checks, journals, say }) {
  const all = [];
  for (const controllers of sizes)
    all.push({ controllers, costs: await measureSize({ controllers, rounds, say }) });
  const figures = [];
  for (const [name, rows] of Object.entries(await measureAlone({ checks, journals, say }))) {
    for (const { controllers, cost } of rows) figures.push(figure("q", `${name}, ${controllers}`, "s", cost));
    figures.push(...growthFigures(name, rows, "one more"));
  }
  for (const name of all[0].costs.keys()) {
    const rows = all.map(({ controllers, costs }) => ({ controllers, cost: costs.get(name) }));
    const isTime = !/^(?:retained|resident)/.test(name);
    const unit = name === "resident" ? "MiB" : isTime ? "s" : "topics";
    const heldOf = name.endsWith("after cleanup") ? () => 0 : topicsHeld;
    for (const { controllers, cost } of rows) {
      const held = heldOf(controllers);
      const options = unit === "topics" ? { target: { of: "value", atLeast: held, atMost: held } } : {};
      figures.push(figure("q", `${name}, ${controllers}`, unit, cost, options));
    }
    if (unit !== "topics") figures.push(...growthFigures(name, rows, "a controller"));
  }
  return figures;
}
