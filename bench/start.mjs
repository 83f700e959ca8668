// (c) From starting the program to the first sensor value on the broker.
import { figure, spread } from "./figures.mjs";
import { here, start, stop, untilSays } from "./processes.mjs";
import { bases, startBridge, startBroker, startPlatform } from "./setup.mjs";
import { Counter } from "./wire.mjs";

async function bridgeSeconds(platform) {
  const broker = await startBroker();
  const counter = await Counter.open(broker.port, [`${bases.bridge}/+/sensor/+`]);
  const began = performance.now();
  const first = counter.next();
  const child = startBridge(platform, broker, {});
  const seconds = ((await first) - began) / 1000;
  counter.close();
  await Promise.all([stop(child), broker.stop()]);
  return seconds;
}

async function nodeSeconds(packages) {
  const began = performance.now();
  const child = start(process.execPath, [here("./loaded.mjs"), packages]);
  const said = new Promise((resolve) => child.stdout.once("data", () => resolve(performance.now())));
  await untilSays(child, /loaded/);
  const seconds = ((await said) - began) / 1000;
  await stop(child);
  return seconds;
}

export async function measureStart({ packages, controllers, rounds, say }) {
  const platform = await startPlatform(controllers);
  const [ours, theirs] = [[], []];
  // The first start fills the file cache.
  for (let round = -1; round < rounds; round += 1) {
    const pair = [await bridgeSeconds(platform), await nodeSeconds(packages)];
    if (round < 0) continue;
    ours.push(pair[0]);
    theirs.push(pair[1]);
  }
  await platform.stop();
  const [bridge, bare] = [spread(ours), spread(theirs)];
  say(`start: ${bridge.median.toFixed(3)} s`);
  return [
    figure("c", `start to first value, ${controllers} controllers`, "s", bridge.median, {
      bare: bare.median,
      target: { of: "value", atMost: 0.5 },
      range: bridge,
    }),
  ];
}
