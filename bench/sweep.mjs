// (a) A sweep of the whole account with changed values, bridge and baseline in turn on the same platform and broker.
import { messagesPerController, sensors } from "./account.mjs";
import { setTimeout as wait } from "node:timers/promises";
import { figure, spread } from "./figures.mjs";
import { cpuSeconds, mustLive, stop } from "./processes.mjs";
import {
  allSensors,
  bases,
  freePort,
  startBare,
  startBroker,
  startPlatform,
  startSettledBridge,
} from "./setup.mjs";
import { watchPage } from "./viewers.mjs";
import { Counter } from "./wire.mjs";

const answerMs = 120_000;

/** Requests sweeps from bridge or baseline. */
export class Sweeper {
  #ear;
  #asked = 0;
  #answered = new Map();

  static async open({ port }) {
    const sweeper = new Sweeper();
    const ear = await Counter.open(port, [`${bases.bridge}/bridge/response/refresh`]);
    ear.onMessage = (_, payload) => sweeper.#answered.get(JSON.parse(payload).transaction)?.();
    sweeper.#ear = ear;
    return sweeper;
  }

  /**
   * Waits until `expected` messages have come or none for `quietMs`: {messages, bytes, seconds, cpu}. Resolves when the
   * whole sweep is over, including the part that brings no news.
   */
  async sweep(who, child, counter, expected, quietMs = 3_000) {
    counter.reset();
    const cpuBefore = cpuSeconds(child);
    const began = performance.now();
    const over = this.#ask(who, child);
    await counter.until(expected, quietMs);
    const seconds = (counter.lastAt - began) / 1000;
    const { messages, bytes } = counter;
    await over;
    await counter.quiet(500);
    return { messages, bytes, seconds, cpu: cpuSeconds(child) - cpuBefore };
  }

  /** Publishes a message that is not answered. */
  tell(topic) {
    this.#ear.publish(topic, "{}");
  }

  close() {
    this.#ear.close();
  }

  /** Only the bridge reports the end of a sweep. */
  async #ask(who, child) {
    if (who === "bare") return this.tell(`${bases.bare}/sweep`);
    const transaction = `sweep ${(this.#asked += 1)}`;
    const answer = new Promise((resolve) => this.#answered.set(transaction, () => resolve(true)));
    this.#ear.publish(`${bases.bridge}/bridge/request/refresh`, JSON.stringify({ transaction }));
    const isOver = await Promise.race([answer, wait(answerMs, false, { ref: false })]);
    this.#answered.delete(transaction);
    mustLive(child);
    if (!isOver)
      throw new Error(`the bridge's sweep was not over within ${answerMs / 1000} s:\n${child.tail}`);
  }
}

/** `viewers`: how many look at the page meanwhile; `part` is the letter of the figures. */
export async function measureSweep({ controllers, warmUp, rounds, say, viewers = 0, part = "a" }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const http = viewers > 0 ? { port: await freePort() } : false;
  const bridge = await startSettledBridge(platform, broker, controllers, { resting: true, http });
  const watching = await watchPage(http, viewers);
  const bare = await startBare(platform, broker, { controllers });
  const counters = {
    bridge: await Counter.open(broker.port, allSensors(bases.bridge)),
    bare: await Counter.open(broker.port, allSensors(bases.bare)),
  };
  // Everything that a subscriber to all topics receives.
  const everything = {
    bridge: await Counter.open(broker.port, [`${bases.bridge}/#`]),
    bare: await Counter.open(broker.port, [`${bases.bare}/#`]),
  };
  const expected = controllers * messagesPerController;
  const sweeper = await Sweeper.open(broker);
  const once = async (who, child) => {
    everything[who].reset();
    const sweep = await sweeper.sweep(who, child, counters[who], expected);
    const { messages, bytes } = everything[who];
    return { ...sweep, all: { messages, bytes } };
  };
  const [ours, theirs] = [[], []];
  for (let round = -warmUp; round < rounds; round += 1) {
    const pair = [await once("bridge", bridge), await once("bare", bare)];
    for (const { messages } of pair)
      if (messages < expected) throw new Error(`${messages} of ${expected} messages in a sweep`);
    if (round < 0) continue;
    ours.push(pair[0]);
    theirs.push(pair[1]);
    say(
      `sweep ${round + 1}/${rounds}: ${pair.map((one) => `${Math.round(one.messages / one.seconds)}/s`).join(", bare ")}`,
    );
  }
  for (const one of [sweeper, watching, ...Object.values(counters), ...Object.values(everything)])
    one.close();
  await Promise.all([stop(bridge), stop(bare), platform.stop(), broker.stop()]);
  const what = `sweep of ${controllers}${viewers > 0 ? ` with ${viewers} viewers` : ""}`;
  return [...figures(part, what, ours, theirs), ...perReading(part, what, ours, theirs, controllers)];
}

/** The figures that `npm run bench` compares with those of the previous landing (kept.mjs). */
function perReading(part, what, ours, theirs, controllers) {
  const readings = controllers * sensors.length;
  // The least values, as other load on the computer only adds to them.
  const of = (name, unit, value) => {
    const [bridge, bare] = [ours, theirs].map((sweeps) => spread(sweeps.map(value)).least / readings);
    return figure(part, `${what}, ${name} for a reading`, unit, bridge, { bare, isKept: true });
  };
  return [
    of("messages", "messages", ({ all }) => all.messages),
    of("bytes", "bytes", ({ all }) => all.bytes),
    of("CPU", "us", ({ cpu }) => cpu * 1e6),
  ];
}

function figures(part, what, ours, theirs) {
  const rate = (sweeps) => spread(sweeps.map(({ messages, seconds }) => messages / seconds));
  const cpu = (sweeps) => spread(sweeps.map((sweep) => (sweep.cpu / sweep.messages) * 1e6));
  const size = (sweeps) => sweeps[0].bytes / sweeps[0].messages;
  const count = (sweeps) => spread(sweeps.map(({ messages }) => messages)).median;
  const ratios = spread(
    ours.map((one, n) => one.messages / one.seconds / (theirs[n].messages / theirs[n].seconds)),
  );
  const [bridge, bare] = [rate(ours), rate(theirs)];
  const name = (of) => `${what}, ${of}`;
  return [
    figure(part, name("messages"), "1/s", bridge.median, {
      bare: bare.median,
      ratio: ratios.median,
      target: { of: "ratio", atLeast: 0.75 },
      range: bridge,
    }),
    figure(part, name("CPU for a message"), "us", cpu(ours).median, {
      bare: cpu(theirs).median,
      range: cpu(ours),
    }),
    figure(part, name("count"), "messages", count(ours), { bare: count(theirs) }),
    figure(part, name("size of a message"), "bytes", size(ours), { bare: size(theirs) }),
  ];
}
