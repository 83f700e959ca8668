// (p) What the trouble of one account of a fleet costs another one: its commands (publish to POST) and polls (answer to
// topic), while the others are well and while one of them is in trouble.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { figure, percentile, spread } from "./figures.mjs";
import { here, mustLive, start, stop, untilSays, workFolder } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { dist, startBroker } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const troubles = {
  flood: "a flood of commands",
  dead: "a dead platform",
  full: "a full disk",
  crash: "an account that crashes",
};
const kinds = Object.keys(troubles);

const code = "GH-00001";
const base = "greenhouse/calm";
/** Enough that each has been read back before its next turn. */
const actuators = Array.from({ length: 40 }, (_, turn) => String(101 + turn));
const counting = Array.from({ length: 40 }, (_, turn) => String(501 + turn));
const slotMs = 64;

function calmAccount(platform) {
  const fans = actuators.map((address) => [`a${address}`, { kind: "circulation_fan", address }]);
  const parameters = counting.map((address) => [`p${address}`, { address }]);
  return {
    platform: { business_url: platform.url, realtime_url: platform.url, token: "calm" },
    polling: { controllers: "1h", sensors: "1h", running_status: "1h", actuators: "1s" },
    controllers: {
      [code]: { actuators: Object.fromEntries(fans), parameters: Object.fromEntries(parameters) },
    },
  };
}

const troubledAccount = (kind, url) => ({
  platform: { business_url: url, realtime_url: url, token: kind },
  polling: { actuators: "1s" },
  controllers: {
    [`GH-${kind}`]: { actuators: { fan: { kind: "circulation_fan", address: "101", min_interval: "0s" } } },
  },
});

/** Starts the fleet, the platform of its calm account in this process, and each of the others in its own process. */
async function startFleet() {
  const folder = join(workFolder, "isolation");
  mkdirSync(join(folder, "accounts"), { recursive: true });
  const write = (name, content) =>
    writeFileSync(join(folder, name), JSON.stringify(content), { mode: 0o600 });
  const [broker, platform] = await Promise.all([startBroker({ usual: true }), startRegisterPlatform(code)]);
  const others = new Map();
  for (const kind of kinds) {
    const child = start(process.execPath, [here("./troubled.mjs"), kind, String(broker.port)]);
    const [, port] = await untilSays(child, /port (\d+)/);
    others.set(kind, child);
    write(`accounts/${kind}.yaml`, troubledAccount(kind, `http://127.0.0.1:${port}`));
  }
  const defaults = {
    platform: { requests_per_minute: 0, push: { enabled: false } },
    mqtt: { url: broker.url },
    homeassistant: { enabled: false },
    log: { level: "fatal" },
  };
  write("accounts/calm.yaml", calmAccount(platform));
  write("fleet.yaml", { defaults, platform: { requests_per_minute: 0 } });
  const ready = await Counter.open(broker.port, [`${base}/+/actuator/+/state`]);
  const flags = ["--import", new URL("./faulty-hook.mjs", import.meta.url).href];
  const args = [...flags, join(dist, "main.js"), "fleet", "-c", join(folder, "fleet.yaml")];
  const child = start(process.execPath, args, { env: { BENCH_FAULTS: folder } });
  await ready.until(actuators.length, 30_000);
  ready.close();
  if (ready.messages < actuators.length) throw new Error(`the calm account did not start:\n${child.tail}`);
  return { folder, broker, platform, others, child };
}

/** Begins or ends the trouble. */
function turn(kind, isOn, { folder, others }) {
  const file = join(folder, kind);
  if (isOn) writeFileSync(file, "");
  else rmSync(file, { force: true });
  others.get(kind)?.kill(isOn ? "SIGUSR1" : "SIGUSR2");
}

/** ms of commands and polls of the calm account in this time. */
async function measureFor(seconds, scene) {
  const { broker, platform, child, sender } = scene;
  const commands = [];
  const polls = [];
  const answeredAt = new Map();
  platform.counted = (address, value) => answeredAt.set(`p${address} ${value}`, performance.now());
  const listener = await Counter.open(broker.port, [`${base}/+/parameter/+`]);
  listener.onMessage = (topic, value) => {
    const at = answeredAt.get(`${topic.split("/").at(-1)} ${value}`);
    if (at !== undefined) polls.push(performance.now() - at);
  };
  const began = performance.now();
  // Each command differs from the last one to its actuator, also across measurements.
  for (; performance.now() - began < seconds * 1_000; scene.count += 1) {
    const address = actuators[scene.count % actuators.length];
    const word = Math.floor(scene.count / actuators.length) % 2 === 0 ? "on" : "off";
    const arrived = new Promise((resolve) => {
      platform.posted = (post) => post.address === address && resolve(post.at);
    });
    const sentAt = performance.now();
    sender.publish(`${base}/${code.toLowerCase()}/actuator/a${address}/set`, word, 1);
    const at = await Promise.race([arrived, wait(10_000, null)]);
    mustLive(child);
    if (at === null) throw new Error(`a command made no POST within 10 s:\n${child.tail}`);
    commands.push(at - sentAt);
    await wait(slotMs - ((performance.now() - began) % slotMs));
  }
  listener.close();
  return { commands, polls };
}

/** Alternates many short turns without and with the trouble, so that other load on the machine affects both. */
async function measureTrouble(kind, { seconds, rounds }, scene, say) {
  const alone = { commands: [], polls: [] };
  const beside = { commands: [], polls: [] };
  for (let at = 0; at < 2 * rounds; at += 1) {
    const isOn = at % 2 === 1;
    turn(kind, isOn, scene);
    await wait(1_000);
    const { commands, polls } = await measureFor(seconds, scene);
    (isOn ? beside : alone).commands.push(...commands);
    (isOn ? beside : alone).polls.push(...polls);
  }
  turn(kind, false, scene);
  await wait(2_000);
  const what = { commands: "command publish to POST", polls: "poll answer to topic" };
  return Object.entries(what).flatMap(([of, name]) => {
    const p99 = (some) => percentile(some[of], 0.99);
    say(
      `beside ${troubles[kind]}: ${of} p99 ${p99(beside).toFixed(1)} ms, alone ${p99(alone).toFixed(1)} ms`,
    );
    const title = (part) => `${name} beside ${troubles[kind]}, ${part}`;
    const middle = { bare: percentile(alone[of], 0.5), range: spread(beside[of]) };
    return [
      figure("p", title("p50"), "ms", percentile(beside[of], 0.5), middle),
      figure("p", title("p99"), "ms", p99(beside), {
        bare: p99(alone),
        target: { of: "ratio", atMost: 1.2 },
      }),
    ];
  });
}

export async function measureIsolation({ say, ...counts }) {
  const fleet = await startFleet();
  const sender = await Counter.open(fleet.broker.port, ["none"]);
  const scene = { ...fleet, sender, count: 0 };
  const figures = [];
  await wait(5_000);
  // A warm-up, as the first commands run code for the first time.
  await measureFor(counts.seconds, scene);
  for (const kind of kinds) figures.push(...(await measureTrouble(kind, counts, scene, say)));
  sender.close();
  await stop(scene.child);
  await Promise.all([...scene.others.values()].map((child) => stop(child)));
  await scene.broker.stop();
  scene.platform.stop();
  return figures;
}
