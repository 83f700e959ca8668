// (o) What the Sparkplug edge node adds to a sweep of the whole account with changed values: the same bridge with it
// and without it.
import { messagesPerController } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { stop } from "./processes.mjs";
import { allSensors, bases, startBroker, startPlatform, startSettledBridge } from "./setup.mjs";
import { Sweeper } from "./sweep.mjs";
import { Counter } from "./wire.mjs";

const births = ["spBv1.0/+/DBIRTH/+/+"];

export async function measureSparkplug({ controllers, warmUp, rounds, say }) {
  const sweeps = {};
  let birthSeconds = NaN;
  for (const enabled of [false, true]) {
    const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
    const bridge = await startSettledBridge(platform, broker, controllers, {
      resting: true,
      sparkplug: { enabled },
    });
    if (enabled) birthSeconds = await secondsToBirths(broker, controllers);
    const counter = await Counter.open(broker.port, allSensors(bases.bridge));
    const sweeper = await Sweeper.open(broker);
    const taken = [];
    for (let round = -warmUp; round < rounds; round += 1) {
      const one = await sweeper.sweep("bridge", bridge, counter, controllers * messagesPerController);
      if (round >= 0) taken.push(one.cpu);
      say(
        `sweep ${round + 1}/${rounds} ${enabled ? "with" : "without"} Sparkplug: ${one.cpu.toFixed(2)} s CPU`,
      );
    }
    sweeps[enabled] = spread(taken);
    for (const one of [sweeper, counter]) one.close();
    await Promise.all([stop(bridge), platform.stop(), broker.stop()]);
  }
  const name = `sweep of ${controllers}, CPU with the Sparkplug edge node`;
  return [
    figure("o", name, "s", sweeps[true].median, {
      bare: sweeps[false].median,
      ratio: sweeps[true].median / sweeps[false].median,
      target: { of: "ratio", atMost: 1.2 },
      range: sweeps[true],
    }),
    figure("o", `births of ${controllers} asked for anew`, "s", birthSeconds, {}),
  ];
}

/** From a host's request to the last birth. */
async function secondsToBirths(broker, controllers) {
  const counter = await Counter.open(broker.port, births);
  await counter.quiet(6_000);
  counter.reset();
  const began = performance.now();
  // A payload with the one metric `Node Control/Rebirth`, true.
  const metric = [0x0a, 20, ...Buffer.from("Node Control/Rebirth"), 0x20, 11, 0x70, 1];
  counter.publish("spBv1.0/greenhouses/NCMD/greenhouse2mqtt", Buffer.from([0x12, metric.length, ...metric]));
  await counter.until(controllers, 10_000);
  const seconds = (counter.lastAt - began) / 1000;
  counter.close();
  return seconds;
}
