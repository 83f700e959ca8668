// (n) The same polls, messages and commands as a flow in a real Node-RED, which is installed into a temporary folder.
// Only with `-- --peer`, as it needs the npm registry. The flow is like one drawn by hand: timers, `http request`, a
// function that makes the messages, `mqtt out`. It has no state, no checks and no read-back.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { installNodeRed, nodeRedArguments, nodeRedVersion } from "../.ci/node-red/install.mjs";
import { messagesPerController } from "./account.mjs";
import { figure, percentile, spread } from "./figures.mjs";
import { cpuSeconds, mustLive, residentMb, start, stop, untilSays, workFolder } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import {
  allSensors,
  bases,
  freePort,
  startBridge,
  startBroker,
  startPlatform,
  startSettledBridge,
} from "./setup.mjs";
import { Sweeper } from "./sweep.mjs";
import { Counter } from "./wire.mjs";

const base = "noderedhse";
const [commandCode, actuators, slotMs, answerMs] = ["GH-00001", 40, 64, 10_000];

const node = (id, type, more) => ({ id, type, z: "tab", x: 100, y: 100, ...more });
const func = (id, text, wires, more = {}) =>
  node(id, "function", {
    func: text,
    outputs: wires.length,
    timeout: 0,
    initialize: "",
    finalize: "",
    libs: [],
    wires,
    ...more,
  });
const request = (id, method, wires) =>
  node(id, "http request", {
    ...{
      method,
      ret: "obj",
      paytoqs: "ignore",
      url: "",
      persist: true,
      insecureHTTPParser: false,
      authType: "",
    },
    ...{ senderr: false, headers: [], tls: "", proxy: "", wires },
  });
const mqttIn = (id, topic, wires) =>
  node(id, "mqtt in", {
    topic,
    qos: "1",
    datatype: "auto-detect",
    broker: "broker",
    nl: false,
    rap: true,
    rh: 0,
    inputs: 0,
    wires,
  });
const headers = `{ authorization: "Bearer bench" }`;

/**
 * Spreads controllers over the default intervals; all are read once at the start and on a message to `<base>/sweep`.
 */
const polls = (platform, controllers, isPaced) => `
const get = (path, code) => node.send({ url: ${JSON.stringify(platform)} + path, code, headers: ${headers} });
const lists = () => ["/api/control/mqtt", "/api/device?dataType=TEXT", "/api/device?dataType=STREAM"].forEach((path) => get(path));
const sensors = (code) => get("/api/sensor-data?deviceCode=" + code, code);
const statuses = (code) => get("/api/device_status?deviceCode=" + code);
const codes = Array.from({ length: ${controllers} }, (_, n) => "GH-" + String(n + 1).padStart(5, "0"));
const sweep = () => { lists(); codes.forEach(sensors); codes.forEach(statuses); };
context.set("sweep", sweep);
if (${isPaced}) {
  setInterval(() => get("/api/control/mqtt"), 300000);
  codes.forEach((code, n) => {
    const each = (ms, ask) => setTimeout(() => { ask(code); setInterval(() => ask(code), ms); }, (n / codes.length) * ms);
    each(60000, sensors);
    each(300000, statuses);
  });
}`;

const shown = `
if (msg.code === undefined) return null;
const received = new Date().toISOString();
const messages = [];
for (const item of msg.payload.data) {
  const topic = "${base}/" + msg.code.toLowerCase() + "/sensor/" + item.factor;
  messages.push({ topic, payload: String(item.value), retain: true, qos: 0 });
  messages.push({ topic: topic + "/json", retain: true, qos: 0, payload: JSON.stringify({ value: Number(item.value), raw: item.value,
    unit: item.unit, kind: item.factor, measured_at: new Date(item.dateTime.replace(" ", "T") + "+08:00").toISOString(),
    received_at: received, quality: "good", source: "poll" }) });
}
return [messages];`;

/** Reads the register first, as a careful flow does, then sends the value. */
const asked = (platform) => `
const [, code, , actuator] = msg.topic.split("/");
const address = actuator.slice(1);
return { url: ${JSON.stringify(platform)} + "/api/get-value?deviceCode=${commandCode}&flush=1&address=" + address, headers: ${headers},
  address, value: String(msg.payload) === "on" ? "1010" : "1001" };`;
const sends = (platform) => `
const { address, value } = msg;
return { url: ${JSON.stringify(platform)} + "/api/set-value", headers: ${headers},
  payload: { deviceCode: "${commandCode}", address, value } };`;

/** A node with a position in the editor would not be a configuration node. */
const broker = (port) => ({
  id: "broker",
  type: "mqtt-broker",
  ...{ name: "", broker: "127.0.0.1", port: String(port), clientid: base, autoConnect: true, usetls: false },
  ...{ protocolVersion: "5", keepalive: "60", cleansession: true, autoUnsubscribe: true },
});

const pollingFlow = (platform, port, controllers, isPaced) => [
  { id: "tab", type: "tab", label: "polls" },
  broker(port),
  // Delayed, as messages sent during set-up are lost: the nodes behind do not exist yet.
  node("begin", "inject", {
    props: [],
    once: true,
    onceDelay: 0.001,
    repeat: "",
    crontab: "",
    wires: [["poll"]],
  }),
  mqttIn("swept", `${base}/sweep`, [["poll"]]),
  func("poll", `context.get("sweep")(); return null;`, [["get"]], {
    initialize: polls(platform, controllers, isPaced),
  }),
  request("get", "GET", [["shown"]]),
  func("shown", shown, [["out"]]),
  node("out", "mqtt out", { topic: "", qos: "", retain: "", broker: "broker", wires: [] }),
];

const commandFlow = (platform, port) => [
  { id: "tab", type: "tab", label: "commands" },
  broker(port),
  mqttIn("set", `${base}/+/actuator/+/set`, [["asked"]]),
  func("asked", asked(platform), [["read"]]),
  request("read", "GET", [["sends"]]),
  func("sends", sends(platform), [["post"]]),
  request("post", "POST", [[]]),
];

/** Starts it with a flow; `until` waits until the flow has started. */
async function startRed(file, flow, { until = true } = {}) {
  const folder = mkdtempSync(join(workFolder, "node-red-"));
  const port = await freePort();
  const more = { logging: { console: { level: "info" } }, disableEditor: true };
  const args = await nodeRedArguments(folder, { flow, port, more });
  const child = start(process.execPath, [file, ...args], { env: { HOME: folder } });
  if (until) await untilSays(child, /Started flows/, 120_000);
  return child;
}

const firstMs = 60_000;

/** Seconds from starting the program to the first sensor value. */
async function startSeconds(platform, topic, begin) {
  const mosquitto = await startBroker();
  const counter = await Counter.open(mosquitto.port, [`${topic}/+/sensor/+`]);
  const began = performance.now();
  const first = counter.next();
  const child = await begin(mosquitto);
  const at = await Promise.race([first, wait(firstMs, null)]);
  if (at === null)
    throw new Error(`${topic}: no value within ${firstMs / 1000} s:\n${child.said}${child.tail}`);
  const seconds = (at - began) / 1000;
  counter.close();
  await stop(child);
  await mosquitto.stop();
  return seconds;
}

async function measureStarts(file, { rounds }) {
  const platform = await startPlatform(20);
  const [ours, theirs] = [[], []];
  for (let round = -1; round < rounds; round += 1) {
    const bridge = await startSeconds(platform, bases.bridge, (mosquitto) =>
      startBridge(platform, mosquitto, {}),
    );
    const red = await startSeconds(platform, base, ({ port }) =>
      startRed(file, pollingFlow(platform.url, port, 20, false), { until: false }),
    );
    if (round < 0) continue;
    ours.push(bridge);
    theirs.push(red);
  }
  await platform.stop();
  return [
    figure("n", "start to first value, 20 controllers", "s", spread(ours).median, {
      ...{ bare: spread(theirs).median, range: spread(ours) },
    }),
  ];
}

/** Both run at their pace at the same time: CPU of a minute and the median of resident memory. */
async function measurePaced(file, controllers, { settleMs, seconds }) {
  const [mosquitto, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const bridge = await startSettledBridge(platform, mosquitto, controllers, { concurrency: 4 });
  const red = await startRed(file, pollingFlow(platform.url, mosquitto.port, controllers, true));
  await wait(settleMs);
  const sides = [bridge, red];
  const before = sides.map(cpuSeconds);
  const resident = [[], []];
  for (let second = 0; second < seconds; second += 1) {
    await wait(1_000);
    sides.forEach((child, side) => resident[side].push(residentMb(child)));
  }
  sides.forEach(mustLive);
  const [ours, theirs] = sides.map((child, side) => ((cpuSeconds(child) - before[side]) / seconds) * 60);
  await Promise.all([stop(bridge), stop(red), platform.stop(), mosquitto.stop()]);
  const name = (what) => `polling ${controllers} controllers, ${what}`;
  const [memory, theirMemory] = resident.map(spread);
  return [
    figure("n", name("CPU"), "s/min", ours, { bare: theirs }),
    figure("n", name("resident"), "MiB", memory.median, { bare: theirMemory.median, range: memory }),
  ];
}

/** In turn on one platform and one broker, as for the bridge and the bare baseline. */
async function measureSweeps(file, { controllers, rounds }) {
  const [mosquitto, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const bridge = await startSettledBridge(platform, mosquitto, controllers, { resting: true });
  const red = await startRed(file, pollingFlow(platform.url, mosquitto.port, controllers, false));
  const counters = [
    await Counter.open(mosquitto.port, allSensors(bases.bridge)),
    await Counter.open(mosquitto.port, allSensors(base)),
  ];
  const sweeper = await Sweeper.open(mosquitto);
  const expected = controllers * messagesPerController;
  const [ours, theirs] = [[], []];
  for (let round = -2; round < rounds; round += 1) {
    const own = await sweeper.sweep("bridge", bridge, counters[0], expected);
    counters[1].reset();
    const cpuBefore = cpuSeconds(red);
    const began = performance.now();
    sweeper.tell(`${base}/sweep`);
    await counters[1].until(expected, 10_000);
    const seconds = (counters[1].lastAt - began) / 1000;
    await counters[1].quiet(500);
    mustLive(red);
    if (round < 0) continue;
    ours.push(own);
    theirs.push({ seconds, cpu: cpuSeconds(red) - cpuBefore });
  }
  const memory = [bridge, red].map(residentMb);
  for (const one of [sweeper, ...counters]) one.close();
  await Promise.all([stop(bridge), stop(red), platform.stop(), mosquitto.stop()]);
  const of = (what) => [ours, theirs].map((sweeps) => spread(sweeps.map((sweep) => sweep[what])));
  const [seconds, theirSeconds] = of("seconds");
  const [cpu, theirCpu] = of("cpu");
  const name = (what) => `sweep of ${controllers}, ${what}`;
  return [
    figure("n", name("time"), "s", seconds.median, { bare: theirSeconds.median, range: seconds }),
    figure("n", name("CPU"), "s", cpu.median, { bare: theirCpu.median, range: cpu }),
    figure("n", name("resident behind the last"), "MiB", memory[0], { bare: memory[1] }),
  ];
}

const addressOf = (turn) => String(101 + (turn % actuators));

async function measureSets(file, { commands }) {
  const mosquitto = await startBroker();
  const sender = await Counter.open(mosquitto.port, ["none"]);
  const platforms = [await startRegisterPlatform(commandCode), await startRegisterPlatform(commandCode)];
  const all = Array.from({ length: actuators }, (_, turn) => {
    const address = addressOf(turn);
    return [`a${address}`, { kind: "circulation_fan", address }];
  });
  const ready = await Counter.open(mosquitto.port, [
    `${bases.bridge}/${commandCode.toLowerCase()}/actuator/+/state`,
  ]);
  const controllers = { [commandCode]: { actuators: Object.fromEntries(all) } };
  const bridge = startBridge(platforms[0], mosquitto, { resting: true, controllers });
  await ready.until(actuators, 30_000);
  ready.close();
  const red = await startRed(file, commandFlow(platforms[1].url, mosquitto.port));
  await wait(1_000);
  const ms = [[], []];
  for (let turn = -10; turn < commands; turn += 1)
    for (const [side, topic] of [bases.bridge, base].entries()) {
      const platform = platforms[side];
      const arrived = new Promise((resolve) => (platform.posted = resolve));
      const began = performance.now();
      const place = turn + 10;
      const word = Math.floor(place / actuators) % 2 === 0 ? "on" : "off";
      sender.publish(`${topic}/${commandCode.toLowerCase()}/actuator/a${addressOf(place)}/set`, word, 1);
      const post = await Promise.race([arrived, wait(answerMs, null)]);
      [bridge, red].forEach(mustLive);
      if (post === null) throw new Error(`${topic}: no POST within ${answerMs / 1000} s`);
      if (turn >= 0) ms[side].push(post.at - began);
      await wait(Math.max(0, slotMs - (performance.now() - began)));
    }
  sender.close();
  await Promise.all([stop(bridge), stop(red), mosquitto.stop()]);
  for (const platform of platforms) platform.stop();
  return [
    [0.5, "p50"],
    [0.99, "p99"],
  ].map(([share, word]) =>
    figure("n", `set publish to POST, ${word}`, "ms", percentile(ms[0], share), {
      ...{ bare: percentile(ms[1], share), range: spread(ms[0]) },
    }),
  );
}

/** Null if it could not be installed, which is no failure. */
export async function measurePeer({ starts, paced, sweeps, sets, say }) {
  say(`Node-RED ${nodeRedVersion} comes from the registry of npm`);
  let file;
  try {
    file = await installNodeRed(mkdtempSync(join(workFolder, "npm-")));
  } catch (error) {
    say(`beside Node-RED: NOT RUN: ${error.message}`);
    return [];
  }
  const figures = [];
  const add = (some) => {
    figures.push(...some);
    for (const { name, value, bare, unit } of some)
      say(`${name}: ${value.toFixed(2)} ${unit}, Node-RED ${bare.toFixed(2)}`);
  };
  add(await measureStarts(file, starts));
  add(await measureSweeps(file, sweeps));
  add(await measureSets(file, sets));
  for (const controllers of paced.sizes) add(await measurePaced(file, controllers, paced));
  return figures;
}

export const peerTitle = `Beside Node-RED ${nodeRedVersion} with the same polls and messages.`;
