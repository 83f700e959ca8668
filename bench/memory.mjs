// (b) Memory of the running bridge, compared with a process that has loaded the same packages, both after garbage
// collection.
import { setTimeout as wait } from "node:timers/promises";
import { figure, spread } from "./figures.mjs";
import { here, memoryAfterGc, nodeFlagsForMemory, residentMb, start, stop, untilSays } from "./processes.mjs";
import { startBroker, startPlatform, startSettledBridge } from "./setup.mjs";

const pauseMs = 1_000;

/** Medians of several samples, MiB: {rss, heap} after collecting, and `before` the first collection. */
export async function sampleMemory(child, samples) {
  const before = residentMb(child);
  const taken = [];
  for (let n = 0; n < samples; n += 1) {
    await wait(pauseMs);
    taken.push(await memoryAfterGc(child));
  }
  return {
    before,
    rss: spread(taken.map(({ rss }) => rss)),
    heap: spread(taken.map(({ heap }) => heap)),
  };
}

async function measureBare(packages, samples) {
  const command = [...nodeFlagsForMemory, here("./loaded.mjs"), packages, "stay"];
  const child = start(process.execPath, command, { measured: true });
  await untilSays(child, /loaded/);
  const memory = await sampleMemory(child, samples);
  await stop(child);
  return memory;
}

async function measureBridge(controllers, { samples, settleMs }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const child = await startSettledBridge(platform, broker, controllers, { measured: true });
  await wait(settleMs);
  const memory = await sampleMemory(child, samples);
  await Promise.all([stop(child), platform.stop(), broker.stop()]);
  return { controllers, ...memory };
}

/** All sizes run at the same time, as speed does not affect memory. */
export async function measureMemory({ packages, modules, sizes, samples, settleMs, say }) {
  const [bare, least] = await Promise.all([measureBare(packages, samples), measureBare(modules, samples)]);
  const results = sizes.map(({ controllers }) => measureBridge(controllers, { samples, settleMs }));
  const figures = [];
  for (const [n, { controllers, rss, before, heap }] of (await Promise.all(results)).entries()) {
    say(`memory with ${controllers}: ${Math.round(rss.median)} MiB`);
    const { atMost } = sizes[n];
    const target = atMost === undefined ? null : { of: "ratio", atMost };
    const name = (what) => `memory, ${controllers} controllers, ${what}`;
    figures.push(
      figure("b", name("resident"), "MiB", rss.median, { bare: bare.rss.median, target, range: rss }),
      figure("b", name("resident; bare loads only the bridge's parts of packages"), "MiB", rss.median, {
        bare: least.rss.median,
      }),
      figure("b", name("resident before gc"), "MiB", before, { bare: bare.before }),
      figure("b", name("JavaScript heap"), "MiB", heap.median, { bare: bare.heap.median, range: heap }),
    );
  }
  return figures;
}
