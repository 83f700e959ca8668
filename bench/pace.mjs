// (d) CPU at the default intervals. All run at the same time, as together they leave the processor mostly idle.
import { setTimeout as wait } from "node:timers/promises";
import { figure } from "./figures.mjs";
import { cpuSeconds, stop } from "./processes.mjs";
import { startBare, startBroker, startPlatform, startSettledBridge } from "./setup.mjs";

async function startPair(controllers) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const bridge = await startSettledBridge(platform, broker, controllers, { concurrency: 4 });
  const bare = await startBare(platform, broker, { controllers, concurrency: 4, paced: true });
  return { controllers, broker, platform, bridge, bare };
}

/** Starts all; they are to be measured once they run at their regular pace. */
export const startPaced = async (sizes) => ({
  pairs: await Promise.all(sizes.map(startPair)),
  startedAt: performance.now(),
});

/**
 * After its first poll a sensor is due between half an interval and one and a half; from half an interval on, polls are
 * spread evenly. `settleMs` counts from the start.
 */
export async function measurePace({ pairs, startedAt }, { settleMs, seconds, say }) {
  await wait(Math.max(0, startedAt + settleMs - performance.now()));
  say(`default intervals, ${seconds} s`);
  const read = () =>
    pairs.map(({ bridge, bare }) => ({ bridge: cpuSeconds(bridge), bare: cpuSeconds(bare) }));
  const before = read();
  const began = performance.now();
  await wait(seconds * 1000);
  const minutes = (performance.now() - began) / 60_000;
  const after = read();
  for (const { bridge, bare, platform, broker } of pairs)
    await Promise.all([stop(bridge), stop(bare), platform.stop(), broker.stop()]);
  return pairs.map(({ controllers }, n) =>
    figure(
      "d",
      `CPU at default intervals, ${controllers} controllers`,
      "s/min",
      (after[n].bridge - before[n].bridge) / minutes,
      { bare: (after[n].bare - before[n].bare) / minutes },
    ),
  );
}
