// (e) How time and memory grow with the account, and that an unchanged platform causes no messages.
import { messagesPerController } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { sampleMemory } from "./memory.mjs";
import { stop } from "./processes.mjs";
import { Sweeper } from "./sweep.mjs";
import { allSensors, bases, startBare, startBroker, startPlatform, startSettledBridge } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const quietMs = 6_000;
/** Tolerance of measuring: growth up to this much above linear still counts as linear. */
const tolerance = 1.1;

/** A bridge that has taken up an account of this size, and is idle. */
async function prepare({ controllers, rounds }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const bridge = await startSettledBridge(platform, broker, controllers, { resting: true, measured: true });
  const counter = await Counter.open(broker.port, [...allSensors(bases.bridge), ...allSensors(bases.bare)]);
  const sweeper = await Sweeper.open(broker);
  return { controllers, rounds, broker, platform, bridge, counter, sweeper };
}

/** Seconds of each sweep but the first. */
async function timeSweeps(who, child, { controllers, rounds, counter, sweeper }) {
  const expected = controllers * messagesPerController;
  const seconds = [];
  for (let n = -1; n < rounds; n += 1) {
    const sweep = await sweeper.sweep(who, child, counter, expected, quietMs);
    if (sweep.messages < expected)
      throw new Error(`${who}: ${sweep.messages} of ${expected} messages in a sweep`);
    if (n >= 0) seconds.push(sweep.seconds);
  }
  return spread(seconds);
}

/** Measures the costs of one size of the account, then stops everything. */
async function measureSize(scene, samples) {
  const { controllers, broker, platform, bridge, counter, sweeper } = scene;
  const ours = await timeSweeps("bridge", bridge, scene);
  const memory = await sampleMemory(bridge, samples);
  const unchanged = await countUnchanged(scene);
  await stop(bridge);
  await platform.move();
  const child = await startBare(platform, broker, { controllers });
  const bare = await timeSweeps("bare", child, scene);
  for (const one of [counter, sweeper]) one.close();
  await Promise.all([stop(child), platform.stop(), broker.stop()]);
  return { controllers, bridge: ours, bare, memory, unchanged };
}

/** Counts the messages of a poll whose answers are unchanged. */
async function countUnchanged({ platform, broker, bridge, sweeper }) {
  await platform.freeze();
  const everything = await Counter.open(broker.port, [`${bases.bridge}/#`]);
  const ofBridge = await Counter.open(broker.port, [`${bases.bridge}/bridge/#`]);
  await sweeper.sweep("bridge", bridge, everything, 0);
  ofBridge.reset();
  await sweeper.sweep("bridge", bridge, everything, 0);
  const count = everything.messages - ofBridge.messages;
  for (const one of [everything, ofBridge]) one.close();
  return count;
}

/** All accounts are taken up at the same time and swept one after the other, while the other bridges are idle. */
export async function measureGrowth({ sizes, samples, say }) {
  const scenes = await Promise.all(sizes.map(prepare));
  const results = [];
  for (const scene of scenes) {
    results.push(await measureSize(scene, samples));
    const { controllers, bridge, memory } = results.at(-1);
    say(`growth, ${controllers}: ${bridge.median.toFixed(2)} s, ${Math.round(memory.rss.median)} MiB`);
  }
  return [...results.flatMap(ofSize), ...growthFigures(results)];
}

const ofSize = ({ controllers, bridge, bare, memory, unchanged }) => [
  figure("e", `sweep of ${controllers}`, "s", bridge.median, { bare: bare.median, range: bridge }),
  figure("e", `memory, ${controllers} controllers, resident`, "MiB", memory.rss.median, {
    range: memory.rss,
  }),
  figure("e", `memory, ${controllers} controllers, heap`, "MiB", memory.heap.median, { range: memory.heap }),
  figure("e", `messages of an unchanged poll, ${controllers}`, "messages", unchanged, {
    target: { of: "value", atMost: 0 },
  }),
];

function growthFigures(results) {
  const [least, middle, most] = results;
  const times = most.controllers / least.controllers;
  const name = `from ${least.controllers} to ${most.controllers} controllers`;
  const timeGrowth = (who) => most[who].median / least[who].median / times;
  const slope = (one, other, what) =>
    (other.memory[what].median - one.memory[what].median) / (other.controllers - one.controllers);
  const memoryGrowth = (what) => slope(middle, most, what) / slope(least, middle, what);
  const target = { of: "value", atMost: tolerance };
  const late = `memory for a controller, ${middle.controllers}-${most.controllers} by ${least.controllers}-${middle.controllers}`;
  return [
    figure("e", `time for a controller, ${name}`, "times", timeGrowth("bridge"), {
      bare: timeGrowth("bare"),
      target,
    }),
    figure("e", `${late}, heap`, "times", memoryGrowth("heap"), { target }),
    figure("e", `${late}, resident`, "times", memoryGrowth("rss")),
  ];
}
