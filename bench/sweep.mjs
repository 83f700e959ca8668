// (a) A sweep of the whole account with moved values, bridge and baseline in turn on the same platform and broker.
import { messagesPerController } from "./account.mjs";
import { figure, spread } from "./figures.mjs";
import { cpuSeconds, stop } from "./processes.mjs";
import {
  allSensors,
  bases,
  startBare,
  startBroker,
  startPlatform,
  startSettledBridge,
} from "./surroundings.mjs";
import { Counter } from "./wire.mjs";

const triggers = { bridge: `${bases.bridge}/bridge/request/refresh`, bare: `${bases.bare}/sweep` };

/** Has one of the two sweep and waits for its messages: {messages, bytes, seconds, cpu}. */
export async function sweepOnce(who, child, counter, expected, quietMs = 3_000) {
  counter.reset();
  const cpuBefore = cpuSeconds(child);
  const began = performance.now();
  counter.publish(triggers[who], "{}");
  await counter.until(expected, quietMs);
  const seconds = (counter.lastAt - began) / 1000;
  const { messages, bytes } = counter;
  // Statuses without news are still being asked for.
  await counter.quiet(500);
  return { messages, bytes, seconds, cpu: cpuSeconds(child) - cpuBefore };
}

export async function measureSweep({ controllers, rounds, say }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const bridge = await startSettledBridge(platform, broker, controllers, { resting: true });
  const bare = await startBare(platform, broker, { controllers });
  const counters = {
    bridge: await Counter.open(broker.port, allSensors(bases.bridge)),
    bare: await Counter.open(broker.port, allSensors(bases.bare)),
  };
  const expected = controllers * messagesPerController;
  const once = (who, child) => sweepOnce(who, child, counters[who], expected);
  const [ours, theirs] = [[], []];
  const warmUp = 3;
  for (let round = -warmUp; round < rounds; round += 1) {
    const pair = [await once("bridge", bridge), await once("bare", bare)];
    if (round < 0) continue;
    ours.push(pair[0]);
    theirs.push(pair[1]);
    say(
      `sweep ${round + 1}/${rounds}: ${pair.map((one) => `${Math.round(one.messages / one.seconds)}/s`).join(", bare ")}`,
    );
  }
  await Promise.all([stop(bridge), stop(bare), platform.stop(), broker.stop()]);
  return figures(controllers, ours, theirs);
}

function figures(controllers, ours, theirs) {
  const rate = (sweeps) => spread(sweeps.map(({ messages, seconds }) => messages / seconds));
  const cpu = (sweeps) => spread(sweeps.map((sweep) => (sweep.cpu / sweep.messages) * 1e6));
  const size = (sweeps) => sweeps[0].bytes / sweeps[0].messages;
  const count = (sweeps) => spread(sweeps.map(({ messages }) => messages)).median;
  const ratios = spread(
    ours.map((one, n) => one.messages / one.seconds / (theirs[n].messages / theirs[n].seconds)),
  );
  const [bridge, bare] = [rate(ours), rate(theirs)];
  const name = (what) => `sweep of ${controllers}, ${what}`;
  return [
    figure("a", name("messages"), "1/s", bridge.median, {
      bare: bare.median,
      ratio: ratios.median,
      target: { of: "ratio", atLeast: 0.75 },
      range: bridge,
    }),
    figure("a", name("CPU for a message"), "us", cpu(ours).median, {
      bare: cpu(theirs).median,
      range: cpu(ours),
    }),
    figure("a", name("count"), "messages", count(ours), { bare: count(theirs) }),
    figure("a", name("size of a message"), "bytes", size(ours), { bare: size(theirs) }),
  ];
}
