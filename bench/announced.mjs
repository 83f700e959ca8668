// (m) The whole account with its announcements to Home Assistant: whether all of it is published, how long it takes,
// and how much memory it keeps.
import { setTimeout as wait } from "node:timers/promises";
import { messagesPerController } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { sampleMemory } from "./memory.mjs";
import { stop } from "./processes.mjs";
import { Sweeper } from "./sweep.mjs";
import { allSensors, bases, freePort, startBroker, startPlatform, startSettledBridge } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const quietMs = 10_000;

/** The numbers of publishes and failures, by `bridge/health`. */
async function publishesOf(broker) {
  const topics = [`${bases.bridge}/bridge/response/health`];
  const ear = await Counter.open(broker.port, topics);
  const answer = new Promise((resolve) => (ear.onMessage = (_, payload) => resolve(JSON.parse(payload))));
  ear.publish(`${bases.bridge}/bridge/request/health`, "{}");
  const { data } = await answer;
  ear.close();
  return data.broker;
}

async function measureSize({ controllers, sweeps, samples, say }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const began = performance.now();
  const bridge = await startSettledBridge(platform, broker, controllers, {
    resting: true,
    measured: true,
    http: { port: await freePort() },
  });
  // Without the three seconds for which `startSettledBridge` waits for silence.
  const seconds = (performance.now() - began) / 1000 - 3;
  const settled = await sampleMemory(bridge, samples);
  const counter = await Counter.open(broker.port, allSensors(bases.bridge));
  const sweeper = await Sweeper.open(broker);
  const expected = controllers * messagesPerController;
  const swept = [];
  for (let n = 0; n < sweeps; n += 1)
    swept.push(await sweeper.sweep("bridge", bridge, counter, expected, quietMs));
  await wait(1_000);
  const after = await sampleMemory(bridge, samples);
  const { dropped, unacknowledged } = await publishesOf(broker);
  for (const one of [counter, sweeper]) one.close();
  await Promise.all([stop(bridge), platform.stop(), broker.stop()]);
  say(
    `announced, ${controllers}: ${Math.round(seconds)} s, ${dropped} dropped, ${Math.round(after.rss.median)} MiB`,
  );
  const of = (what) => spread(swept.map((sweep) => sweep[what]));
  const sweep = { seconds: of("seconds"), cpu: of("cpu") };
  return { seconds, settled, after, sweep, failed: dropped + unacknowledged };
}

export async function measureAnnounced({ sizes, sweeps, samples, say }) {
  const figures = [];
  for (const controllers of sizes) {
    const { seconds, settled, after, sweep, failed } = await measureSize({
      controllers,
      sweeps,
      samples,
      say,
    });
    const name = (what) => `${controllers} controllers announced, ${what}`;
    figures.push(
      figure("m", name("start until all is shown"), "s", seconds),
      figure("m", name("publishes that failed"), "messages", failed, { target: { of: "value", atMost: 0 } }),
      figure("m", name("a sweep"), "s", sweep.seconds.median, { range: sweep.seconds }),
      figure("m", name("CPU of a sweep"), "s", sweep.cpu.median, { range: sweep.cpu }),
      figure("m", name("resident"), "MiB", settled.rss.median, { range: settled.rss }),
      figure("m", name(`resident after ${sweeps} sweeps`), "MiB", after.rss.median, { range: after.rss }),
      figure("m", name(`resident after ${sweeps} sweeps, before gc`), "MiB", after.before),
      figure("m", name(`JavaScript heap after ${sweeps} sweeps`), "MiB", after.heap.median, {
        range: after.heap,
      }),
    );
  }
  return figures;
}
